"""Files that are written whole or not at all: under another name first, then moved into place.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp()) / "answer.txt"
>>> with written_whole(path) as file:
...     _ = file.write(b"42")
>>> path.read_text()
'42'
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from herbrand.errors import HerbrandError

ANYBODY = 0o666


def refuse_unwritable(path: str | Path, folders: bool = False) -> None:
    """Raise where no file can be written under a name, before work that would be lost.

    ``folders``: those it needs will be made.
    """
    place = Path(path)
    try:
        if place.is_dir():
            raise HerbrandError(f"cannot write '{path}': it is a folder", hint="name a file in it")
        if not folders and not place.resolve().parent.exists():
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
        place = Path(path).resolve()
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
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, ANYBODY & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
