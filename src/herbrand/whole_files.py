"""Files that are written whole or not at all: under another name first, then moved into place.

Until then it is ``.NAME.*.herbrand`` in the same folder; what a killed process left there is removed when a
file of that name is written next.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp()) / "answer.txt"
>>> with written_whole(path) as file:
...     _ = file.write(b"42")
>>> path.read_text()
'42'
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from herbrand.errors import HerbrandError
from herbrand.scratch_folders import is_abandoned, take

UNFINISHED = ".herbrand"


def refuse_unwritable(path: str | Path, folders: bool = False) -> None:
    """Raise where no file can be written under a name, before work that would be lost.

    ``folders``: those it needs will be made.
    """
    place = Path(path)
    try:
        if place.is_dir():
            raise HerbrandError(f"cannot write '{path}': it is a folder", hint="name a file in it")
        if not folders and not Path(os.path.realpath(place)).parent.exists():
            raise HerbrandError(
                f"cannot write '{path}': there is no folder '{place.parent}'",
                hint="make it, or name a file in another folder",
            )
    except (OSError, ValueError):
        return  # writing says what is wrong with the name


@contextmanager
def written_whole(path: str | Path, folders: bool = False) -> Iterator[IO[bytes]]:
    """The file to write to. It stands under its name once the block is done; if the block raises, whatever
    stood there stays. A link goes on leading where it led; a device or a pipe is written to as it is.

    ``folders``: those it needs are made.
    """
    refuse_unwritable(path, folders)
    try:
        place = Path(os.path.realpath(path))
        if folders:
            place.parent.mkdir(parents=True, exist_ok=True)
        with _opened(place) as file:
            yield file
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise HerbrandError(f"{path}: {reason}") from None


@contextmanager
def _opened(place: Path) -> Iterator[IO[bytes]]:
    if place.exists() and not place.is_file() and not place.is_dir():
        with place.open("wb") as file:
            yield file
        return
    begins = f".{place.name[:100]}."
    _remove_abandoned(place.parent, begins)
    temporary = place.parent / f"{begins}{secrets.token_hex(8)}{UNFINISHED}"
    try:  # begun before the file is there, so that no interruption can leave it
        with temporary.open("xb") as file:
            take(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash could leave the new name and none of the data
            os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):  # the first error says more
            temporary.unlink()
        raise


def _remove_abandoned(folder: Path, begins: str) -> None:
    """Remove what killed processes have left of files of this name; a process holds its own locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = entry.name.startswith(begins) and entry.name.endswith(UNFINISHED)
            if named and is_abandoned(entry.path):
                os.unlink(entry.path)
