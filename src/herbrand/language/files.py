"""Theory files on disk, in the language itself or in one of the field's dialects.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "rain.hb"
>>> _ = path.write_text("0.5: rain")
>>> len(read(path).formulas)
1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from os import PathLike
from os.path import exists, isdir
from pathlib import Path
from typing import Any

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.check import check, check_all
from herbrand.language.dialects import (
    DIALECTS,
    dialects_of,
    read_theory_file,
    theory_endings,
    write,
    write_facts,
)
from herbrand.language.formatting import spaced
from herbrand.language.parse import Reading, parse_theory, read_source, read_theory, refuse_no_text
from herbrand.language.syntax import FactRows, PredicateDeclaration, TypeDeclaration, predicates_of
from herbrand.language.theory import Theory, refuse_no_theory, show
from herbrand.options.kinds import Text
from herbrand.visible import shortened

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
OWN = "hb"
_OWN_ENDINGS = (".hb", ".txt", "")


def read(paths: Paths, dialect: str | None = None, budget: Budget = UNLIMITED) -> Theory:
    """Read one theory from one or several files; a file's ending names its dialect.

    ``paths``: one path or several. ``dialect``: name of the dialect of all files. ``budget``: limits for
    reading. If a file cannot be read, the mistakes of all files are raised in one ``LanguageError``.
    """
    several = _several(paths)
    if dialect is not None:
        Text().check("--dialect", dialect)
    first = sorted(several, key=_holds_facts)  # files of facts last: declarations in the others type them
    read: dict[Path, Reading] = {}
    for path in first:
        declared = [
            statement for one in read.values() for statement in (*one.theory.types, *one.theory.predicates)
        ]
        read[path] = _read_one(path, dialect, budget, declared)
    readings = [read[path] for path in several]
    if any(reading.mistakes for reading in readings):
        check_all(readings)
    theories = [reading.theory for reading in readings]
    _refuse_uncalled(theories)
    return reduce(Theory.__add__, theories, Theory())


def _refuse_uncalled(theories: Sequence[Theory]) -> None:
    """Raise LanguageError if a file names a predicate that another derives only where its own queries call
    it."""
    for one in theories:
        others = (other for other in theories if other is not one) if one.calls else ()
        for statement in chain.from_iterable(other.singly() for other in others):
            fact = (statement.predicate,) if isinstance(statement, FactRows) else ()
            for name in sorted(one.calls.keys() & {*fact, *predicates_of(statement)}):
                raise LanguageError(
                    f"another file derives {name} only where its own queries call it",
                    span=statement.span,
                    hint="put the statement into that file",
                )


def _several(paths: Any) -> list[Path]:
    """One path or several as a list; refuse other values, empty paths and a path given twice."""
    several: list[Any] = [paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else [*paths]
    hint = "hb.parse(text) reads a text"
    wrong = [type(path).__name__ for path in several if not isinstance(path, str | PathLike)]
    if wrong:
        raise UnsupportedError(f"expected paths of theory files, not {wrong[0]}", hint=hint)
    for path in several:
        if isinstance(path, str) and _is_text(path) and not exists(path):
            raise UnsupportedError(
                f"expected paths of theory files, not the text '{_short(path)}'", hint=hint
            )
    if "" in several:
        raise UnsupportedError("an empty name is no theory file", hint="name one, such as smokers.hb")
    by_place: dict[Path, Path] = {}
    for path in map(Path, several):
        if path.absolute() in by_place:
            raise LanguageError(f"'{path}' is named twice", hint="its statements would count twice")
        by_place[path.absolute()] = path
    return list(by_place.values())


def theory_of(theory: Theory | Paths) -> Theory:
    """The theory itself, or the one read from theory files; refuse any other value."""
    if isinstance(theory, Theory):
        return theory
    several: list[Any] = [*theory] if isinstance(theory, list | tuple) else [theory]
    if not several or not all(isinstance(path, str | PathLike) for path in several):
        raise UnsupportedError(
            f"a model is made of a theory or of theory files, not of {type(theory).__name__}",
            hint="hb.parse(text) and hb.read(file) give theories",
        )
    for path in several:
        if isinstance(path, str) and _is_text(path):
            raise UnsupportedError(
                f"a model is made of a theory or of theory files, not of the text '{_short(path)}'",
                hint="hb.Model(hb.parse(text))",
            )
    return read(several)


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), 60)


def _is_text(path: str) -> bool:
    """Whether ``path`` looks like the text of a theory and not like a path."""
    return "\n" in path or ((": " in path or ":-" in path) and not exists(path))


def written(theory: Theory, dialect: str = OWN) -> str:
    """Text of a theory, in the language itself or in a dialect that can express it."""
    refuse_no_theory("written", theory)
    Text().check("--dialect", dialect)
    return show(theory) if dialect == OWN else write(theory, check(theory), dialect, beside=(OWN,))


def written_by_ending(path: str | PathLike[str]) -> str:
    """Name of the language or dialect in which a file with this ending is written.

    It is ``hb`` for .hb, .txt and no ending; endings that no dialect writes are refused.

    >>> written_by_ending("a.mln"), written_by_ending("a.txt")
    ('mln', 'hb')
    """
    ending = Path(path).suffix.lower()
    if ending in _OWN_ENDINGS:
        return OWN
    able = {e: row.name for row in DIALECTS.values() if row.write for e in row.endings}
    if ending not in able:
        raise UnsupportedError(
            f"a theory is not written as {ending}",
            hint=f"endings that can be: .hb, {', '.join(sorted(able))}; other files by convert --to",
        )
    return able[ending]


def written_facts(theory: Theory, dialect: str) -> tuple[str, str] | None:
    """Ending and text of a theory's file of facts, if the ``dialect`` keeps facts in a separate file."""
    refuse_no_theory("written_facts", theory)
    Text().check("--dialect", dialect)
    name = DIALECTS[dialect].facts if dialect in DIALECTS else None
    if name is None or not theory.facts:
        return None
    return DIALECTS[name].endings[0], write_facts(theory, check(theory), dialect)


def formatted(text: str, name: str = "theory") -> str:
    """Format the text of a theory: blanks, indents and empty lines change, words and comments do not.

    Raises LanguageError if the ``text`` has mistakes; ``name`` stands before their lines.

    >>> formatted("1.5:smokes( x )=>cancer(x)# why")
    '1.5: smokes(x) => cancer(x)  # why\\n'
    """
    refuse_no_text(text)
    after = spaced(text)
    if parse_theory(text, name) != parse_theory(after, name):
        raise LanguageError(f"{name} would mean something else once formatted, so it is left as it is")
    return after


def formatted_file(path: str | PathLike[str]) -> str | None:
    """Formatted text of the theory file at a ``path``, or ``None`` if the file is already formatted."""
    Text().check("the path of a theory file", path)
    place = Path(path)
    if place.suffix.lower() not in (".hb", ""):
        raise UnsupportedError(
            f"only .hb files are formatted, and '{path}' is another",
            hint=f"herbrand convert {path} -o {place.with_suffix('.hb')}" if _is_known(place) else "",
        )
    before = read_source(place).text
    after = formatted(before, place.name)
    return after if after != before else None


def _holds_facts(path: Path) -> bool:
    return any(row.read_facts is not None for row in dialects_of(path))


def _is_known(path: Path) -> bool:
    """Whether a dialect reads files of this ending or name."""
    return any(row.reads_theories for row in dialects_of(path))


def _read_one(
    path: Path,
    dialect: str | None,
    budget: Budget,
    beside: Iterable[PredicateDeclaration | TypeDeclaration],
) -> Reading:
    """Read one file; ``beside``: declarations in other files, which its facts may need."""
    own = dialect == OWN if dialect else path.suffix.lower() in (".hb", "") and not isdir(path)
    try:
        if not own and dialect is None and not _is_known(path) and not isdir(path):
            raise LanguageError(
                f"it is not known which dialect '{path}' is in",
                hint=f"theories end in {', '.join(theory_endings())}; tables of facts are named by --facts",
            )
        if not own:
            return Reading(read_theory_file(path, dialect, beside))
        source = read_source(path)
    except LanguageError as error:
        return Reading.failed(error)
    return read_theory(source.text, source.name, budget)
