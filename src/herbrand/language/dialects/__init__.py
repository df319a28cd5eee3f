"""Readers and writers of the field's own formats.

:data:`DIALECTS` is the table of formats. A file's ending, or the name that the user gives, chooses the row,
and only then its reader or writer is imported.

>>> DIALECTS["mln"].endings
('.mln',)
>>> from herbrand.language.check import check
>>> theory = read_theory_text("1.5 Smokes(x) => Cancer(x)", "mln")
>>> print(write(theory, check(theory), "mln"), end="")
Smokes(thing)
Cancer(thing)
<BLANKLINE>
1.5 Smokes(x) => Cancer(x)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import isdir
from pathlib import Path
from typing import Any

from herbrand.deep_calls import room_for
from herbrand.errors import LanguageError, Mistake, Source, UnsupportedError, nearest
from herbrand.extras import later
from herbrand.language.collection import collector_paused
from herbrand.language.computed import separated
from herbrand.language.dialects.beside import DeclaredColumns
from herbrand.language.formulas import DEEPEST_NESTING
from herbrand.language.parse import plain_source, read_source
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, PredicateDeclaration, TypeDeclaration
from herbrand.language.theory import Theory

__all__ = [
    "DIALECTS",
    "Dialect",
    "dialect_of",
    "dialects_of",
    "fact_endings",
    "read_benchmark",
    "read_example",
    "read_facts_file",
    "read_theory_file",
    "read_theory_text",
    "register",
    "theory_endings",
    "write",
    "write_facts",
]


@dataclass(frozen=True)
class Dialect:
    """One format; functions that it does not have are ``None``.

    ``endings``: endings of its files, or whole names. ``read`` takes a source and the folder of its file,
    ``read_folder`` a whole folder. ``read_facts`` takes a source and the names of the many-valued predicates,
    whose last column is a value; ``read_columns``, which replaces it where widths matter, a source and
    the number of columns of each known predicate. ``facts``: name of the dialect in which the ground facts
    beside this one are written; ``write`` leaves them out. ``tells_world``: whether declarations decide
    between open and closed world; if not, facts decide. ``computes``: ``write`` can write arithmetic, and
    itself refuses the rest.
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
    read_columns: Callable[[Source, Mapping[str, int]], tuple[FactRows | TypeDeclaration, ...]] | None = None

    @property
    def reads_theories(self) -> bool:
        return any((self.read, self.read_folder, self.read_facts))

    def theory(
        self,
        source: Source,
        folder: Path | None,
        beside: Iterable[PredicateDeclaration | TypeDeclaration] = (),
    ) -> Theory:
        """Read a source of the format; ``beside``: declarations of its facts' predicates and types."""
        if self.read is not None:
            return self.read(source, folder)
        declared = DeclaredColumns(beside)
        read = self.facts_in(source, declared.many_valued, declared.widths)
        return Theory(tuple(map(declared.typed, read)))

    def facts_in(
        self, source: Source, many_valued: Collection[str], widths: Mapping[str, int]
    ) -> tuple[FactRows | TypeDeclaration, ...]:
        """Read a source of facts; ``many_valued`` and ``widths``: those of known predicates."""
        if self.read_columns is not None:
            return self.read_columns(source, widths)
        assert self.read_facts is not None
        return self.read_facts(source, many_valued)


def _only_source(read: Callable[[Source], Any]) -> Callable[[Source, Any], Any]:
    """Adapt a reader that needs neither the folder nor the names of many-valued predicates."""
    return lambda source, _: read(source)


def _own(place: str) -> Callable[..., Any]:
    """A reader or writer of this package, imported when it is first called."""
    return later(f"{__name__}.{place}")


read_benchmark = _own("benchmark:read_benchmark")
"""Read a folder in the layout of published benchmarks, including its labelled queries."""

_read_example = _own("problog.theory:read_example")

DIALECTS: dict[str, Dialect] = {}
"""Every dialect by its name; :func:`register` adds one."""


def register(dialect: Dialect) -> None:
    """Add a dialect, to be chosen by its name and by the endings of its files."""
    DIALECTS[dialect.name] = dialect


for _dialect in (
    Dialect(
        "mln",
        (".mln",),
        read=_own("alchemy.theory:read_mln"),
        write=_own("alchemy.writer:write_mln"),
        facts="db",
        tells_world=True,
        computes=True,
    ),
    Dialect(
        "db",
        (".db",),
        read_facts=_own("alchemy.facts:read_db"),
        write_facts=_own("alchemy.writer:write_db"),
    ),
    Dialect(
        "ppr",
        (".ppr",),
        read=_only_source(_own("tensorlog.rules:read_ppr")),
        write=_own("tensorlog.writer:write_ppr"),
        facts="cfacts",
    ),
    Dialect("tlog", (".tlog",), read=_only_source(_own("tensorlog.rules:read_tlog"))),
    Dialect(
        "cfacts",
        (".cfacts",),
        read_facts=_only_source(_own("tensorlog.facts:read_cfacts")),
        read_columns=_own("tensorlog.facts:read_cfacts"),
        write_facts=_own("tensorlog.writer:write_cfacts"),
    ),
    Dialect(
        "lcn",
        (".lcn",),
        read=_only_source(_own("lcn.theory:read_lcn")),
        write=_own("lcn.writer:write_lcn"),
        tells_world=True,
    ),
    Dialect(
        "pl",
        (".pl",),
        read=_only_source(_own("problog.theory:read_pl")),
        write=_own("problog.writer:write_pl"),
        computes=True,
    ),
    Dialect(
        "bif",
        (".bif",),
        read=_only_source(_own("networks.bif:read_bif")),
        write=_own("networks.writer:write_bif"),
        tells_world=True,
    ),
    Dialect("uai", (".uai",), read=_only_source(_own("networks.uai:read_uai")), tells_world=True),
    Dialect(
        "evid",
        (".evid",),
        read_facts=_own("networks.uai:read_evidence"),
    ),
    Dialect(
        "benchmark",
        ("facts",),
        read_folder=lambda folder: read_benchmark(folder).theory,
        read_facts=_only_source(_own("alchemy.facts:facts_of")),
        tells_world=True,
    ),
):
    register(_dialect)


def theory_endings() -> list[str]:
    """Endings of files that hold theories, in the language itself or in a dialect."""
    return [".hb", *_endings(lambda row: row.reads_theories and row.read_facts is None)]


def fact_endings() -> list[str]:
    """Endings of files that hold the facts of a dialect."""
    return _endings(lambda row: row.read_facts is not None)


def _endings(can: Callable[[Dialect], bool]) -> list[str]:
    """Endings of the dialects for which ``can`` is true, without whole names of files."""
    return [e for row in DIALECTS.values() if can(row) for e in row.endings if e.startswith(".")]


_FRAMES = 10 * DEEPEST_NESTING
"""Stack frames for readers of formulas, which recurse through up to seven functions for each level of
nesting."""


@collector_paused()
def read_theory_file(
    path: str | Path,
    dialect: str | None = None,
    beside: Iterable[PredicateDeclaration | TypeDeclaration] = (),
) -> Theory:
    """Read the theory of a file in a dialect, or of a folder in the benchmark layout.

    ``beside``: declarations for a file of facts; they decide which predicates are many-valued and which
    constants are numbers.
    """
    path = Path(path)
    chosen = dialect_of(path, dialect, lambda row: row.reads_theories)
    if chosen.read_folder is not None:
        return _with_world(chosen, chosen.read_folder(path))
    with room_for(_FRAMES):
        return _with_world(chosen, chosen.theory(read_source(path), path.parent, beside))


@collector_paused()
def read_theory_text(text: str, dialect: str, name: str = "<text>", folder: Path | None = None) -> Theory:
    """Read the theory of a text in a dialect; what it includes lies in the ``folder``, if there is one."""
    chosen = _named(dialect, lambda row: row.read_folder is None and row.reads_theories)
    with room_for(_FRAMES):
        return _with_world(chosen, chosen.theory(plain_source(text, name), folder))


@collector_paused()
def read_example(text: str, name: str) -> Theory:
    """Read the observations of one example in an ``.ev`` file."""
    with room_for(_FRAMES):
        return _read_example(plain_source(text, name))


def _with_world(dialect: Dialect, theory: Theory) -> Theory:
    """The theory with ``tells_world=False`` on its declarations if the facts decide open and closed worlds.

    In a dialect without ``tells_world``, they do so unless the text declares some predicate as observed: then
    all others are open.
    """
    declared = theory.predicates
    if dialect.tells_world or not declared or any(d.role == "observed" for d in declared):
        return theory
    statements = (
        replace(s, tells_world=False) if isinstance(s, PredicateDeclaration) else s for s in theory.statements
    )
    return replace(theory, statements=tuple(statements))


@collector_paused()
def read_facts_file(
    path: str | Path,
    dialect: str | None = None,
    many_valued: Collection[str] = (),
    widths: Mapping[str, int] | None = None,
) -> tuple[FactRows | TypeDeclaration, ...]:
    """Read the facts of a ``.db``, ``.cfacts`` or benchmark ``facts`` file, and the types that it lists.

    The last column of a ``many_valued`` predicate is its value. ``widths``: numbers of columns of known
    predicates, without weights.
    """
    path = Path(path)
    chosen = dialect_of(path, dialect, lambda row: row.read_facts is not None)
    return chosen.facts_in(read_source(path), many_valued, widths or {})


def write(theory: Theory, signature: Signature, dialect: str, beside: Sequence[str] = ()) -> str:
    """Write a theory in a dialect, without its facts if the dialect keeps those in another file.

    Raises UnsupportedError with every statement that the dialect cannot express. ``beside``: further names
    that the caller accepts, for the message about an unknown dialect.
    """
    chosen = _named(dialect, lambda row: row.write is not None, beside)
    assert chosen.write is not None
    if not chosen.computes:
        _refuse_computing(theory, dialect)
    return chosen.write(theory, signature)


def _refuse_computing(theory: Theory, dialect: str) -> None:
    """Refuse arithmetic, aggregates and weights times numbers, which most writers cannot write."""
    spans = [definition.span for definition in separated(theory).definitions]
    spans += [formula.span for formula in theory.formulas if formula.times is not None]
    if spans:
        message = f"{dialect} is not written with computed values"
        raise UnsupportedError([Mistake(message, span) for span in spans])


def write_facts(theory: Theory, signature: Signature, dialect: str) -> str:
    """Write a theory's facts in a dialect of facts; ``mln`` means ``db``, ``ppr`` means ``cfacts``."""
    name = DIALECTS[dialect].facts if dialect in DIALECTS and DIALECTS[dialect].facts else dialect
    chosen = _named(name or dialect, lambda row: row.write_facts is not None)
    assert chosen.write_facts is not None
    return chosen.write_facts(theory, signature)


def dialect_of(path: Path, name: str | None, can: Callable[[Dialect], bool] = lambda row: True) -> Dialect:
    """The dialect of this name, or the one that the file's ending or name gives if it is ``None``."""
    if name is not None:
        return _named(name, can)
    if isdir(path):
        return DIALECTS["benchmark"]
    for row in dialects_of(path):
        if can(row):
            return row
    known = ", ".join(ending for row in DIALECTS.values() if can(row) for ending in row.endings)
    raise LanguageError(f"it is not known which dialect '{path}' is in", hint=f"known endings: {known}")


def dialects_of(path: Path) -> list[Dialect]:
    """The dialects whose files have this ending or name."""
    names = {path.suffix.lower(), path.name}
    return [row for row in DIALECTS.values() if not names.isdisjoint(row.endings)]


def _named(name: str, can: Callable[[Dialect], bool], beside: Sequence[str] = ()) -> Dialect:
    dialect = DIALECTS.get(name)
    if dialect is not None and can(dialect):
        return dialect
    able = [*beside, *(row.name for row in DIALECTS.values() if can(row))]
    raise UnsupportedError(
        f"there is no dialect '{name}' for this", hint=nearest(name, able) or f"one of {', '.join(able)}"
    )
