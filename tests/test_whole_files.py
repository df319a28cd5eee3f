"""What is written to a file is there whole, or the file is as it was: whatever goes wrong on the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from herbrand.errors import HerbrandError
from herbrand.files import refuse_unwritable, written_whole
from herbrand.visible import visible
from tests.conftest import Outcome

NAMES = ["plain", "with space", "ünïcödé-東京", ".hidden", "a" * 200, "%s{}", "-o"]


def write(path: str | Path, data: bytes, folders: bool = False) -> None:
    with written_whole(path, folders) as file:
        file.write(data)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_and_nothing_beside_it(tmp_path: Path, name: str) -> None:
    for data in (b"first", b"", b"second \0\xff"):
        write(tmp_path / name, data)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(2), MemoryError()])
@pytest.mark.parametrize("before", [None, b"the last one"])
def test_what_raises_on_the_way_leaves_what_was(
    tmp_path: Path, error: BaseException, before: bytes | None
) -> None:
    path = tmp_path / "answer"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises((type(error), HerbrandError)), written_whole(path) as file:
        file.write(b"half")
        file.flush()
        assert (path.read_bytes() if path.exists() else None) == before
        raise error
    assert (path.read_bytes() if path.exists() else None) == before
    assert len(list(tmp_path.iterdir())) == (before is not None)


def test_a_full_disk_is_said_and_leaves_what_was(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_bytes(b"before")
    with pytest.raises(HerbrandError) as caught, written_whole(path):
        raise OSError(28, os.strerror(28))
    assert str(caught.value) == f"{path}: No space left on device"
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write(tmp_path / "ours", b"")
        (tmp_path / "any").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_of_a_file_that_is_replaced_stay(tmp_path: Path, mode: int) -> None:
    """A private one would be open to all."""
    (tmp_path / "private").touch()
    (tmp_path / "private").chmod(mode)
    write(tmp_path / "private", b"new")
    assert (tmp_path / "private").stat().st_mode & 0o777 == mode


def test_a_link_goes_on_leading_where_it_led(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "latest").symlink_to(tmp_path / "store" / "run-7")
    for data in (b"made", b"made again"):
        write(tmp_path / "latest", data)
        assert (tmp_path / "latest").is_symlink()
        assert (tmp_path / "store" / "run-7").read_bytes() == data


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe, b"through")
    reader.join(timeout=120)
    assert heard == [b"through"] and pipe.is_fifo()


def test_a_device_is_written_to_and_not_replaced() -> None:
    write("/dev/null", b"gone")
    assert Path("/dev/null").is_char_device()


def test_folders_are_made_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "c", b"1", folders=True)
    write(tmp_path / "a" / "b" / "d", b"2", folders=True)
    assert (tmp_path / "a" / "b" / "c").read_bytes() + (tmp_path / "a" / "b" / "d").read_bytes() == b"12"


@pytest.mark.parametrize(
    ("name", "folders", "reason"),
    [
        ("file/answer", False, "Not a directory"),
        ("file/answer", True, "File exists"),
        ("nul\0byte", False, "embedded null"),
        ("n" * 300, False, "File name too long"),
    ],
)
def test_where_nothing_can_be_written(tmp_path: Path, name: str, folders: bool, reason: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}/{name}"
    with pytest.raises(HerbrandError) as caught:
        write(path, b"new", folders)
    told = str(caught.value)
    assert told.startswith(visible(f"{path}: ")) and reason in told
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("format", ["table", "json", "csv", "parquet"])
def test_commands_write_whole_files(
    tmp_path: Path, herbrand: Callable[..., Outcome], format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("1.5: rain => wet\n")
    output = tmp_path / "ünder" / "answer"
    command = ("infer", theory, "--format", format, "-o", output)
    refused = herbrand(*command)
    assert refused.status == 1 and f"cannot write '{output}': there is no folder" in refused.err
    output.parent.mkdir()
    assert herbrand(*command).status == 0
    first = output.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    stopped = herbrand(*command, "--given", "rain")
    assert stopped.status == 130 and stopped.err.endswith("interrupted; no file is left half-written\n")
    assert output.read_bytes() == first and list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize(
    ("name", "folders", "said"),
    [
        ("nowhere/answer", False, "there is no folder '{folder}/nowhere'\n  make it, or name"),
        ("nowhere/deep/answer", False, "there is no folder '{folder}/nowhere/deep'"),
        ("folder", False, "it is a folder\n  name a file in it"),
        ("folder", True, "it is a folder\n  name a file in it"),
        ("folder/..", False, "it is a folder"),
    ],
)
def test_places_that_hold_no_file(tmp_path: Path, name: str, folders: bool, said: str) -> None:
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}/{name}"
    for attempt in (lambda: refuse_unwritable(path, folders), lambda: write(path, b"new", folders)):
        with pytest.raises(HerbrandError) as caught:
            attempt()
        assert str(caught.value).startswith(
            f"cannot write '{path}': " + said.replace("{folder}", str(tmp_path))
        )
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_places_where_a_file_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "not there yet")
    for name in ("new", "old", "link"):
        refuse_unwritable(tmp_path / name)
    refuse_unwritable(tmp_path / "a" / "b" / "c", folders=True)
    refuse_unwritable(os.devnull)
    assert (tmp_path / "old").read_bytes() == b"old" and not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("infer", "-o"),
        ("bound", "-o"),
        ("learn", "-o"),
        ("convert", "-o"),
        ("check", "-o"),
        ("compare", "-o"),
        ("induce", "-o", "--target", "p", "--worlds", "w"),
        ("induce", "--save", "--target", "p", "--worlds", "w"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_commands_say_so_before_they_work(
    tmp_path: Path, herbrand: Callable[..., Outcome], command: tuple[str, ...]
) -> None:
    """Nothing is read: the theory is not there either."""
    name, option, *more = command
    outcome = herbrand(name, tmp_path / "gone.hb", option, tmp_path, *more)
    assert outcome.status == 1 and not outcome.out
    assert outcome.err == f"cannot write '{tmp_path}': it is a folder\n  name a file in it\n"
