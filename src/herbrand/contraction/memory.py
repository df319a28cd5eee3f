"""How much memory there is, and how an amount of it is written.

>>> readable(3 * 2**20)
'3.0 MB'
>>> budget(10_000)
10000
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

SHARE = 0.7
"""The part of the machine's memory that a plan may use unless it is told otherwise."""

CGROUPS = Path("/sys/fs/cgroup")


def budget(memory: int | None = None) -> int:
    """The bytes a plan may use: what was asked for, else 70 % of the machine's memory."""
    return int(memory) if memory is not None else int(SHARE * machine_memory())


@lru_cache(maxsize=1)
def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less where a control group says so."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_cgroup_limits(CGROUPS, Path("/proc/self/cgroup"))])


def readable(amount: float) -> str:
    """Bytes as people write them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1024 or unit == "TB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}" if amount < 1e6 else f"{amount:.1e} {unit}"


def _cgroup_limits(root: Path, membership: Path) -> list[int]:
    """The limits of the process's own group and of every group around it, in either version of the interface."""
    limits = []
    for group in _own_groups(membership):
        for folder, file in ((root, "memory.max"), (root / "memory", "memory.limit_in_bytes")):
            own = folder / group
            limits += [limit for path in (own, *own.parents) if path.is_relative_to(folder)
                       if (limit := _limit(path / file)) is not None]
    return limits


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
