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


@contextmanager
def written_whole(path: str | Path, folders: bool = False) -> Iterator[IO[bytes]]:
    """The file to write to. It stands under its name once the block is done; if the block raises, whatever
    stood there stays. A link goes on leading where it led; a device or a pipe is written to as it is.

    ``folders``: those it needs are made.
    """
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
