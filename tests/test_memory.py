"""Amounts of memory as people write them, and what a machine says it has."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand import budget
from herbrand.budget import allowed_bytes, bytes_of, lacks_memory, machine_memory, readable
from herbrand.errors import UnsupportedError

UNITS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("123", 123),
        ("123B", 123),
        ("1k", 1024),
        ("1K", 1024),
        ("1KiB", 1024),
        ("1.5 MB", 3 << 19),
        (" 2 GB ", 2 << 30),
        ("4G", 4 << 30),
        ("1TB", 1 << 40),
        (0, 0),
        (10**18, 10**18),
    ],
)
def test_amounts(text: str | int, amount: int) -> None:
    assert bytes_of(text) == amount


def test_shares_of_the_machine() -> None:
    assert bytes_of("100%") == machine_memory()
    assert bytes_of("12.5 %") == int(machine_memory() * 0.125)
    assert allowed_bytes() == int(0.7 * machine_memory())
    assert allowed_bytes(5) == 5 and allowed_bytes(0) == 0


@pytest.mark.parametrize(
    "wrong", ["", "much", "-1", -1, "1e9", "GB", "1 2", "5 PB", ".5GB", "1,5GB", 1.5, None]
)
def test_what_is_no_amount_is_refused(wrong: object) -> None:
    with pytest.raises(UnsupportedError) as refusal:
        bytes_of(wrong)  # type: ignore[arg-type]
    assert str(refusal.value) == f"'{wrong}' is not an amount of memory\n  such as 500MB, 4GB or 50%"


@given(st.integers(0, 2**60))
def test_what_is_shown_reads_back_to_the_digits_shown(amount: int) -> None:
    text = readable(amount)
    if "e" in text:
        assert amount >= 9999 * UNITS["TB"]
        return
    number, unit = text.split()
    assert abs(bytes_of(text) - amount) <= 0.0501 * UNITS[unit]
    assert float(number) < 1024 or unit == "TB"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 kB"),
        (1_099_457_940_685, "1.0 TB"),
        (2**50, "1024.0 TB"),
        (2.0**70, "1.1e+09 TB"),
        (10**400, "9.1e+287 TB"),
    ],
)
def test_amounts_from_nothing_to_beyond_floats(amount: float, text: str) -> None:
    assert readable(amount) == text


class TestControlGroups:
    """Either version of the interface; a limit of any group around the process counts."""

    def limits(self, tmp_path: Path, membership: str, files: dict[str, str]) -> list[int]:
        for name, text in files.items():
            (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "root" / name).write_text(text)
        (tmp_path / "cgroup").write_text(membership)
        return sorted(budget._cgroup_limits(tmp_path / "root", tmp_path / "cgroup"))

    def test_the_second_version(self, tmp_path: Path) -> None:
        files = {
            "memory.max": "99\n",
            "a/memory.max": "50\n",
            "a/b/memory.max": "max\n",
            "c/memory.max": "1\n",
        }
        assert self.limits(tmp_path, "0::/a/b\n", files) == [50, 99]

    def test_the_first_version(self, tmp_path: Path) -> None:
        files = {
            "memory/job/memory.limit_in_bytes": "77\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        }
        found = self.limits(tmp_path, "5:cpu,cpuacct:/other\n4:memory:/job\n", files)
        assert found == [77, 9223372036854771712]

    def test_a_container_sees_its_limit_at_the_root(self, tmp_path: Path) -> None:
        assert self.limits(tmp_path, "0::/\n", {"memory.max": "42"}) == [42]

    def test_where_there_is_nothing_to_read(self, tmp_path: Path) -> None:
        assert budget._cgroup_limits(tmp_path, tmp_path / "none") == []
        assert self.limits(tmp_path, "nonsense\n0::/gone\n", {}) == []


def test_libraries_that_find_no_memory_are_understood() -> None:
    connection = duckdb.connect(config={"memory_limit": "1MB", "temp_directory": ""})
    with pytest.raises(duckdb.Error) as found:
        connection.execute("CREATE TABLE t AS SELECT range x, random() y FROM range(1_000_000)")
    assert lacks_memory(found.value)
    torch = pytest.importorskip("torch")
    with pytest.raises((RuntimeError, MemoryError)) as met:
        torch.empty(2**60)
    assert lacks_memory(met.value) and lacks_memory(MemoryError())
    assert lacks_memory(RuntimeError("Failed to create checkpoint because of error: Allocation failure"))
    assert not lacks_memory(ValueError("no memory of this"))
