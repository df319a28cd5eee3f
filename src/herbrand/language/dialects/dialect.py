"""What a dialect is: a format of theories or facts that others use, and how it is read and written.

>>> plain = Dialect("plain", endings=(".txt",))
>>> plain.reads_theories, plain.writes
(False, False)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from herbrand.errors import Source
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, Theory, TypeDeclaration


@dataclass(frozen=True)
class Dialect:
    """One format. What it cannot do is ``None``.

    ``endings`` are those of its files; a file may also be known by its whole name. ``read`` takes a source
    and the folder it came from, ``read_folder`` a whole folder. ``read_facts`` takes a source and the names
    of the many-valued predicates, whose last column is a value. ``facts`` names the dialect that goes with
    this one for ground facts, which ``write`` then leaves out. ``tells_world`` says whether a declared
    predicate is known to be open or closed; where it does not, facts decide. ``computes``: ``write`` says
    arithmetic, and refuses itself what it cannot say of it.
    """

    name: str
    endings: tuple[str, ...] = ()
    read: Callable[[Source, Path | None], Theory] | None = None
    read_folder: Callable[[Path], Theory] | None = None
    read_facts: Callable[[Source, Collection[str]], tuple[FactRows | TypeDeclaration, ...]] | None = None
    write: Callable[[Theory, Signature], str] | None = None
    write_facts: Callable[[Theory, Signature], str] | None = None
    facts: str | None = None
    tells_world: bool = False
    computes: bool = False

    @property
    def reads_theories(self) -> bool:
        return self.read is not None or self.read_folder is not None

    @property
    def writes(self) -> bool:
        return self.write is not None or self.write_facts is not None
