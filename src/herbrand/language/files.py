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
from pathlib import Path

from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_file
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import Theory

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
OWN = "hb"


def read(paths: Paths, dialect: str | None = None) -> Theory:
    """The theory that one or several files state together; the dialect is told by a file's ending."""
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    return reduce(Theory.__add__, (_read_one(Path(path), dialect) for path in several), Theory())


def _read_one(path: Path, dialect: str | None) -> Theory:
    own = dialect == OWN if dialect else path.suffix.lower() in (".hb", "") and not path.is_dir()
    return parse_theory(read_text(path), str(path)) if own else read_theory_file(path, dialect)


def read_text(path: Path) -> str:
    """The text of a file, or a plain message why there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LanguageError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise LanguageError(f"{path}: {error.strerror or error}") from None
