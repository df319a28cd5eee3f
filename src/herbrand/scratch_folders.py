"""Folders for temporary files, removed by the process that made them or, if it was killed, by the next one.

A folder holds a file that its process has locked; the lock ends with the process, however it ends.

>>> with ScratchFolder() as folder:
...     (Path(folder) / "spill").touch()
>>> Path(folder).exists()
False
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path

from herbrand.errors import HerbrandError

try:
    import fcntl
except ImportError:  # no such locks on Windows: there, what a killed process leaves stays
    fcntl = None

PREFIX = "herbrand-"
ALIVE = "alive"


class ScratchFolder:
    """A new folder among the temporary ones; ``name`` is its path."""

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        remove_abandoned(parent)
        self.name = os.path.join(parent, f"{PREFIX}{secrets.token_hex(8)}")
        self._removal = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
        try:
            self._make()
        except OSError as error:
            self.cleanup()
            raise HerbrandError(
                f"no temporary folder can be made in '{parent}': {error.strerror}",
                hint="free some room there, or name another folder by TMPDIR",
            ) from None
        except BaseException:
            self.cleanup()
            raise

    def _make(self) -> None:
        """The folder with its lock, which has its name only once it is locked."""
        os.mkdir(self.name, 0o700)
        unlocked = os.path.join(self.name, "unlocked")
        lock = os.open(unlocked, os.O_CREAT | os.O_RDWR, 0o600)
        weakref.finalize(self, os.close, lock)
        take(lock)
        os.rename(unlocked, os.path.join(self.name, ALIVE))

    def cleanup(self) -> None:
        try:
            shutil.rmtree(self.name, ignore_errors=True)
        finally:  # where that was interrupted, once more
            self._removal()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *error: object) -> None:
        self.cleanup()


def take(handle: int) -> bool:
    """Lock an open file until it is closed; False where another process has, or files cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_abandoned(path: str | Path) -> bool:
    """Whether a file was locked by a process that is no more."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return take(handle)
    finally:
        os.close(handle)


def remove_abandoned(parent: str) -> None:
    """Remove scratch folders whose processes were killed."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and is_abandoned(os.path.join(entry.path, ALIVE)):
                shutil.rmtree(entry.path, ignore_errors=True)
