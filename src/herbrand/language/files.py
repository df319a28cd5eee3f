"""Theory files on disk, in the language itself or in one of the field's dialects.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "rain.hb"
>>> _ = path.write_text("0.5: rain")
>>> len(read(path).formulas)
1
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from os import PathLike
from os.path import isdir
from pathlib import Path

from herbrand.errors import LanguageError
from herbrand.language.check import check, check_all
from herbrand.language.dialects import DIALECTS, read_source, read_theory_file, write, write_facts
from herbrand.language.parse import Reading, read_theory
from herbrand.language.show import show
from herbrand.language.syntax import Theory

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
OWN = "hb"


def read(paths: Paths, dialect: str | None = None) -> Theory:
    """The theory that one or several files state together; the dialect is told by a file's ending.

    Where one of them cannot be read, everything wrong with all of them is told in one ``LanguageError``.
    """
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    readings = [_read_one(Path(path), dialect) for path in several]
    if any(reading.mistakes for reading in readings):
        check_all(readings)
    return reduce(Theory.__add__, (reading.theory for reading in readings), Theory())


def written(theory: Theory, dialect: str = OWN) -> str:
    """The theory's text, in the language itself or in a dialect that can say it."""
    return show(theory) if dialect == OWN else write(theory, check(theory), dialect)


def written_facts(theory: Theory, dialect: str) -> tuple[str, str] | None:
    """The ending and text of the second file, where a dialect keeps facts in one of its own."""
    name = DIALECTS[dialect].facts if dialect in DIALECTS else None
    if name is None or not theory.facts:
        return None
    return DIALECTS[name].endings[0], write_facts(theory, check(theory), dialect)


def _read_one(path: Path, dialect: str | None) -> Reading:
    own = dialect == OWN if dialect else path.suffix.lower() in (".hb", "") and not isdir(path)
    try:
        if not own:
            return Reading(read_theory_file(path, dialect))
        source = read_source(path)
    except LanguageError as error:
        return Reading.failed(error)
    return read_theory(source.text, source.name)
