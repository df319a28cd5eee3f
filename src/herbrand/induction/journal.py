"""Results of a search, piece by piece, in a file: an interrupted run resumes without repeating the work.

Equal inputs lead a search the same way, so its n-th piece of work has the same result in every run. Each
piece is appended once it is done; one that a killed process left unfinished is dropped. What the clock cut
short is never appended, so a run that ran out of time can resume as well.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "run"
>>> journal = Journal.opened(path, {"seed": 0})
>>> journal.taken([1]), journal.add([1], "found"), journal.close()
(None, None, None)
>>> Journal.opened(path, {"seed": 0}).taken([1])
'found'
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from herbrand.errors import HerbrandError
from herbrand.files import irregular, is_taken, refuse_unwritable

BEGINS = b"herbrand induce 1\n"
"""First bytes of a file; the number is raised when records change."""

_LENGTH = struct.Struct(">I")


@dataclass
class Journal:
    """A file of results. ``known``: records that are still to be replayed."""

    path: Path
    file: IO[bytes]
    known: deque[Any] = field(default_factory=deque)

    @classmethod
    def opened(cls, path: str | Path, about: Mapping[str, Any]) -> Journal:
        """Open the file, a new one if there is none; raise HerbrandError if it is of another run, or of
        another kind."""
        refuse_unwritable(path, folders=True)
        kind = irregular(path)
        if kind is not None:
            raise HerbrandError(f"'{path}' is {kind}, not a file that a run is kept in")
        place = Path(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            journal = cls(place, place.open("ab"))
            try:
                journal._begin(about)
            except BaseException:  # else the error's traceback keeps the file open
                journal.close()
                raise
        except OSError as error:
            raise HerbrandError(f"{path}: {error.strerror or error}") from None
        return journal

    def _begin(self, about: Mapping[str, Any]) -> None:
        """Read the records of the file, or begin it."""
        if is_taken(self.file.fileno()):
            raise HerbrandError(
                f"'{self.path}' is in use by another run", hint="wait for it, or name another file"
            )
        data = self.path.read_bytes()
        if not BEGINS.startswith(data[: len(BEGINS)]):
            raise HerbrandError(
                f"'{self.path}' keeps no run of induce, or one of another version",
                hint="name another file, or delete this one to begin anew",
            )
        records = list(_records(data))
        self.file.truncate(records[-1][1] if records else 0)
        self.known = deque(record for record, _ in records)
        if self.known:
            refuse_another(self.path, self.known.popleft(), json.loads(json.dumps(about)))
        else:
            self.file.write(BEGINS)
            self._append(dict(about))

    def taken(self, at: Any) -> Any | None:
        """Result at the next place, ``None`` if it is not recorded; raise HerbrandError if the record is of
        another place."""
        if not self.known:
            return None
        place, value = self.known.popleft()
        if place != at:
            raise HerbrandError(
                f"'{self.path}' was kept by another version of the search",
                hint="delete it to begin anew",
            )
        return value

    def add(self, at: Any, value: Any) -> None:
        """Append the result at a place."""
        self._append([at, value])

    def close(self) -> None:
        with suppress(OSError):  # on a full disk, closing tries again to write the last piece
            self.file.close()

    def _append(self, record: Any) -> None:
        data = zlib.compress(json.dumps(record, separators=(",", ":"), default=_plain).encode(), 1)
        try:
            self.file.write(_LENGTH.pack(len(data)) + data)
            self.file.flush()
        except OSError as error:
            raise HerbrandError(f"{self.path}: {error.strerror or error}") from None


def _plain(number: Any) -> Any:
    """Convert a number of NumPy to one of Python."""
    return number.item()


def _records(data: bytes) -> Iterator[tuple[Any, int]]:
    """Yield the complete records, each with its end; stop at the first that is not complete."""
    start = len(BEGINS)
    while start + _LENGTH.size <= len(data):
        begins = start + _LENGTH.size
        start = begins + _LENGTH.unpack_from(data, start)[0]
        if start > len(data):
            return
        try:
            yield json.loads(zlib.decompress(data[begins:start])), start
        except (zlib.error, ValueError):
            return


@contextmanager
def journal_at(path: str | Path | None, about: Callable[[], Mapping[str, Any]]) -> Iterator[Journal | None]:
    """Journal of a run while it goes on; ``None`` if no file is named."""
    if path is None:
        yield None
        return
    with closing(Journal.opened(path, about())) as journal:
        yield journal


def refuse_another(path: str | Path, about: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise HerbrandError unless the run saved in a file is described as ours is."""
    for name, value in ours.items():
        if about.get(name) != value:
            raise HerbrandError(
                f"'{path}' was saved with another {name}: {about.get(name)}",
                hint=f"this run has {value}; to begin anew, delete the file",
            )
