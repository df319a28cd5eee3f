"""How much memory there is, and how an amount of it is written.

>>> readable(3 * 2**20)
'3.0 MB'
>>> allowed_bytes(10_000)
10000
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from herbrand.options.kinds import amount as parsed_amount

SHARE = 0.7
"""The part of the machine's memory that a plan may use unless it is set otherwise."""

SHARE_FOR_DATABASE = 0.8
"""Of the memory allowed; the rest is this process's own."""
LEAST_FOR_DATABASE = 64 << 20

ANY_MACHINE = 2**50
"""No machine has so many bytes. Plans are made for whatever one might have; engines have their own limits."""

CGROUPS = Path("/sys/fs/cgroup")


def allowed_bytes(memory: int | None = None) -> int:
    """The bytes that a call may use: those given, else 70 % of the machine's memory."""
    return int(memory) if memory is not None else int(SHARE * machine_memory())


def holds_database(memory: int) -> bool:
    """Whether a database can be opened within so many bytes.

    >>> holds_database(1 << 30), holds_database(1 << 20)
    (True, False)
    """
    return memory * SHARE_FOR_DATABASE >= LEAST_FOR_DATABASE


@lru_cache(maxsize=1)
def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less where a control group says so."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_cgroup_limits(CGROUPS, Path("/proc/self/cgroup"))])


def resident_bytes() -> int:
    """Bytes of memory that this process holds of its own; files that it maps do not count.

    0 where the system does not say.
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            _, resident, shared, *_ = file.read(128).split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def lacks_memory(error: Exception) -> bool:
    """Whether it is Python's way to say that no memory is left, or torch's or DuckDB's (not loaded here)."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "allocate memory" in said or "out of memory" in said


def readable(amount: float) -> str:
    """Bytes as people write them."""
    amount = min(amount, 1e300)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB" if amount < 1e4 else f"{amount:.1e} TB"


def _cgroup_limits(root: Path, membership: Path) -> list[int]:
    """The limits of the process's own group and those around it, in either version of the interface."""
    folders = [root / group for group in _own_groups(membership)]
    folders += [root / "memory" / group for group in _own_groups(membership)]
    around = {path for folder in folders for path in (folder, *folder.parents) if path.is_relative_to(root)}
    files = [path / name for path in around for name in ("memory.max", "memory.limit_in_bytes")]
    return [limit for file in files if (limit := _limit(file)) is not None]


def _own_groups(membership: Path) -> list[str]:
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    fields = [line.split(":", 2) for line in lines]
    return [field[2].lstrip("/") for field in fields if len(field) == 3 and field[1] in ("", "memory")]


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def bytes_of(amount: int | str) -> int:
    """An amount of memory as people write it: bytes, ``"500MB"``, ``"2 GB"``, or a share such as ``"50%"``.

    >>> bytes_of("1.5kB")
    1536
    """
    number, unit = parsed_amount(amount)
    if unit == "%":
        return int(machine_memory() * number / 100)
    return int(number * 1024 ** "BKMGT".index(unit))
