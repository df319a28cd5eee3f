"""Files on disk: the test for regular files, scratch folders, and files written whole or not at all.

Reading a pipe, a device or a socket may wait for ever. A scratch folder is removed by the process that made
it or, if that was killed, by the next one: the folder holds a file that its process has locked, and the lock
ends with the process. A file is written as ``.NAME.*.herbrand`` in the same folder first and then renamed;
the leftover of a killed process is removed when a file of that name is written next.

>>> irregular(tempfile.gettempdir()), irregular("/dev/null"), irregular("no such file")
('a folder', 'a device', None)
>>> with ScratchFolder() as folder:
...     (Path(folder) / "spill").touch()
>>> Path(folder).exists()
False
>>> path = Path(tempfile.mkdtemp()) / "answer.txt"
>>> with written_whole(path) as file:
...     _ = file.write(b"42")
>>> path.read_text()
'42'
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from herbrand.errors import HerbrandError, closest
from herbrand.visible import shortened

# Files that can be read to their end


PIPE = "a named pipe"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: PIPE,
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_OPEN_ALREADY = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def irregular(path: str | Path) -> str | None:
    """Kind of a path that is no regular file, such as ``a folder``; None for a regular or missing file."""
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except OSError as error:
        return "a circle of links" if error.errno == errno.ELOOP else None
    except ValueError:
        return None


def no_file_name(error: Exception) -> str | None:
    """Message for a file name that the system refused as too long; None for other errors.

    >>> no_file_name(OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300))[:25]
    "'xxxxxxxxxxxxxxxxxxxxxxxx"
    """
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG:
        return None
    return f"'{shortened(str(error.filename), 60)}' cannot be a file: {error.strerror}"


def is_open_pipe(path: str | Path) -> bool:
    """Whether a path is a pipe that this process was started with: standard input, or the shell's <(...)."""
    return irregular(path) == PIPE and os.path.abspath(path).startswith(_OPEN_ALREADY)


# Scratch folders


try:
    import fcntl
except ImportError:  # no such locks on Windows: there, what a killed process leaves stays
    fcntl = None

PREFIX = "herbrand-"
ALIVE = "alive"


class ScratchFolder:
    """A new temporary folder; ``name`` is its path."""

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
        """Make the folder and its lock file, which gets its final name only once it is locked."""
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
    """Lock an open file until it is closed; False if another process has, or files cannot be locked."""
    return _locked(handle) is True


def is_taken(handle: int) -> bool:
    """Whether another process has locked an open file; if not, this process locks it."""
    return _locked(handle) is False


def _locked(handle: int) -> bool | None:
    """Try to lock a file. True: locked now, False: locked by another process, None: files cannot be
    locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_abandoned(path: str | Path) -> bool:
    """Whether a file was locked by a process that has ended."""
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


# Files written whole


UNFINISHED = ".herbrand"
LONGEST_HEADER = 100_000_000
"""Largest header of safetensors in bytes; the first 8 bytes of a text, read as its length, exceed it."""


def refuse_unwritable(path: str | Path, folders: bool = False) -> None:
    """Raise an error, before work that would be lost, if no file can be written at a path.

    ``folders``: missing folders will be made.
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


def similar_file(path: Path) -> str:
    """Hint with the path of the most similar file of the folder, for a path that does not exist; or ''."""
    try:
        if path.is_symlink() and not path.exists():
            return f"it is a link to '{os.readlink(path)}', which is not there"
        names = [] if path.exists() else os.listdir(path.parent)
        alike = path.name.casefold()
        whole = min((name for name in names if alike in (Path(name).stem, name.casefold())), default="")
        alike = whole or closest(path.name, names)
        return f"did you mean '{path.with_name(alike)}'?" if alike else ""
    except (OSError, ValueError):
        return ""


def refuse_losing(path: str | Path) -> None:
    """Raise an error if saved tensors would replace a file that is not of the format safetensors."""
    length = begins = b""
    with contextlib.suppress(OSError, ValueError):  # writing says what is wrong with the name
        if os.path.isfile(path):
            with open(path, "rb") as file:
                length, begins = file.read(8), file.read(1)
    if length and (begins != b"{" or int.from_bytes(length, "little") > LONGEST_HEADER):
        raise HerbrandError(
            f"'{path}' is no file that herbrand saved, and would be overwritten",
            hint="name another file, or delete this one",
        )


@contextmanager
def written_whole(path: str | Path, folders: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces ``path`` when the block ends; if the block raises, the old file
    stays. A link keeps its target; a device or a pipe is written to directly.

    ``folders``: missing folders are made.
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
            with contextlib.suppress(FileNotFoundError):  # a file that is private stays so
                os.fchmod(file.fileno(), stat.S_IMODE(place.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash could leave the new name and none of the data
            os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):  # the first error says more
            temporary.unlink()
        raise


def _remove_abandoned(folder: Path, begins: str) -> None:
    """Remove the unfinished files of this name that killed processes left; live processes hold theirs
    locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = entry.name.startswith(begins) and entry.name.endswith(UNFINISHED)
            if named and is_abandoned(entry.path):
                os.unlink(entry.path)
