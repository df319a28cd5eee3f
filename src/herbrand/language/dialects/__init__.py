"""The field's own formats, read into our syntax and written from it.

:data:`DIALECTS` is the table of them, a row a format. Everything here goes by that table: a file's ending,
or the name the user gives, chooses the row.

>>> sorted(DIALECTS)
['benchmark', 'bif', 'cfacts', 'db', 'evid', 'lcn', 'mln', 'pl', 'ppr', 'tlog', 'uai']
>>> from herbrand.language.check import check
>>> theory = read_theory_text("1.5 Smokes(x) => Cancer(x)", "mln")
>>> print(write(theory, check(theory), "mln"), end="")
Smokes(thing)
Cancer(thing)
<BLANKLINE>
1.5 Smokes(x) => Cancer(x)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from herbrand.errors import LanguageError, Mistake, Source, UnsupportedError, nearest
from herbrand.language.collection import collector_paused
from herbrand.language.computed import separated
from herbrand.language.dialects.alchemy.facts import facts_of, read_db
from herbrand.language.dialects.alchemy.theory import read_mln
from herbrand.language.dialects.alchemy.writer import write_db, write_mln
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.language.dialects.dialect import Dialect
from herbrand.language.dialects.lcn.theory import read_lcn
from herbrand.language.dialects.lcn.writer import write_lcn
from herbrand.language.dialects.networks.bif import read_bif
from herbrand.language.dialects.networks.uai import read_evidence, read_uai
from herbrand.language.dialects.networks.writer import write_bif
from herbrand.language.dialects.problog.theory import read_pl
from herbrand.language.dialects.problog.writer import write_pl
from herbrand.language.dialects.sources import read_source
from herbrand.language.dialects.tensorlog.facts import read_cfacts
from herbrand.language.dialects.tensorlog.rules import read_ppr, read_tlog
from herbrand.language.dialects.tensorlog.writer import write_cfacts, write_ppr
from herbrand.language.parse import plain_source
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, PredicateDeclaration, Theory, TypeDeclaration

__all__ = [
    "DIALECTS",
    "Benchmark",
    "Dialect",
    "dialect_of",
    "read_benchmark",
    "read_facts_file",
    "read_source",
    "read_theory_file",
    "read_theory_text",
    "register",
    "write",
    "write_facts",
]


def _only_source(read: Callable[[Source], Theory]) -> Callable[[Source, Path | None], Theory]:
    return lambda source, folder: read(source)


def _facts_as_theory(
    read: Callable[[Source], tuple[FactRows | TypeDeclaration, ...]],
) -> Callable[[Source, Path | None], Theory]:
    return lambda source, folder: Theory(read(source))


DIALECTS: dict[str, Dialect] = {}
"""Every dialect by its name; :func:`register` adds one."""


def register(dialect: Dialect) -> None:
    """Make a dialect known by its name and by the endings of its files."""
    DIALECTS[dialect.name] = dialect


for _dialect in (
    Dialect("mln", (".mln",), read=read_mln, write=write_mln, facts="db", tells_world=True),
    Dialect("db", (".db",), read=_facts_as_theory(read_db), read_facts=read_db, write_facts=write_db),
    Dialect("ppr", (".ppr",), read=_only_source(read_ppr), write=write_ppr, facts="cfacts"),
    Dialect("tlog", (".tlog",), read=_only_source(read_tlog)),
    Dialect(
        "cfacts",
        (".cfacts",),
        read=_facts_as_theory(read_cfacts),
        read_facts=lambda source, many_valued: read_cfacts(source),
        write_facts=write_cfacts,
    ),
    Dialect("lcn", (".lcn",), read=_only_source(read_lcn), write=write_lcn, tells_world=True),
    Dialect("pl", (".pl",), read=_only_source(read_pl), write=write_pl, computes=True),
    Dialect("bif", (".bif",), read=_only_source(read_bif), write=write_bif, tells_world=True),
    Dialect("uai", (".uai",), read=_only_source(read_uai), tells_world=True),
    Dialect("evid", (".evid",), read=_facts_as_theory(read_evidence), read_facts=read_evidence),
    Dialect(
        "benchmark",
        ("facts",),
        read_folder=lambda folder: read_benchmark(folder).theory,
        read_facts=lambda source, many_valued: facts_of(source),
        tells_world=True,
    ),
):
    register(_dialect)


@collector_paused()
def read_theory_file(path: str | Path, dialect: str | None = None) -> Theory:
    """The theory of a file, or of a folder in the benchmark layout."""
    path = Path(path)
    chosen = dialect_of(path, dialect, lambda row: row.reads_theories)
    if chosen.read is not None:
        return _with_world(chosen, chosen.read(read_source(path), path.parent))
    assert chosen.read_folder is not None
    return _with_world(chosen, chosen.read_folder(path))


@collector_paused()
def read_theory_text(text: str, dialect: str, name: str = "<text>") -> Theory:
    """The theory of a text in a dialect; such a text has no folder to include files from."""
    chosen = _named(dialect, lambda row: row.read is not None)
    assert chosen.read is not None
    return _with_world(chosen, chosen.read(plain_source(text, name), None))


def _with_world(dialect: Dialect, theory: Theory) -> Theory:
    """The theory, its declarations marked where they leave open and closed to the facts.

    In a dialect whose declarations need not say which, those of a text that says so of some are open else.
    """
    if dialect.tells_world or any(d.role == "observed" for d in theory.predicates):
        return theory
    statements = (
        replace(s, tells_world=False) if isinstance(s, PredicateDeclaration) else s for s in theory.statements
    )
    return replace(theory, statements=tuple(statements))


@collector_paused()
def read_facts_file(
    path: str | Path, dialect: str | None = None, many_valued: Collection[str] = ()
) -> tuple[FactRows | TypeDeclaration, ...]:
    """The facts of a ``.db``, ``.cfacts`` or benchmark ``facts`` file, and constants of types that it lists.

    The last column of a ``many_valued`` predicate is its value.
    """
    path = Path(path)
    chosen = dialect_of(path, dialect, lambda row: row.read_facts is not None)
    assert chosen.read_facts is not None
    return chosen.read_facts(read_source(path), many_valued)


def write(theory: Theory, signature: Signature, dialect: str) -> str:
    """The theory in another dialect's words, without its facts where the dialect keeps those in another file.

    Raises UnsupportedError naming every statement that cannot be said there.
    """
    chosen = _named(dialect, lambda row: row.write is not None)
    assert chosen.write is not None
    if not chosen.computes:
        _refuse_computing(theory, dialect)
    return chosen.write(theory, signature)


def _refuse_computing(theory: Theory, dialect: str) -> None:
    """Most writers say no arithmetic, aggregates, or weights times numbers."""
    spans = [definition.span for definition in separated(theory).definitions]
    spans += [formula.span for formula in theory.formulas if formula.times is not None]
    if spans:
        message = f"{dialect} is not written with computed values"
        raise UnsupportedError([Mistake(message, span) for span in spans])


def write_facts(theory: Theory, signature: Signature, dialect: str) -> str:
    """The theory's facts for a dialect's file of facts; ``mln`` means ``db``, ``ppr`` means ``cfacts``."""
    name = DIALECTS[dialect].facts if dialect in DIALECTS and DIALECTS[dialect].facts else dialect
    chosen = _named(name or dialect, lambda row: row.write_facts is not None)
    assert chosen.write_facts is not None
    return chosen.write_facts(theory, signature)


def dialect_of(path: Path, name: str | None, can: Callable[[Dialect], bool] = lambda row: True) -> Dialect:
    """The dialect of this name, or else the one that the file's ending or name gives."""
    if name is not None:
        return _named(name, can)
    if path.is_dir():
        return DIALECTS["benchmark"]
    able = [row for row in DIALECTS.values() if can(row)]
    for row in able:
        if path.suffix.lower() in row.endings or path.name in row.endings:
            return row
    known = ", ".join(ending for row in able for ending in row.endings)
    raise LanguageError(f"nothing says which dialect '{path}' is in", hint=f"known endings: {known}")


def _named(name: str, can: Callable[[Dialect], bool]) -> Dialect:
    able = _names(row for row in DIALECTS.values() if can(row))
    if name not in able:
        raise UnsupportedError(
            f"there is no dialect '{name}' for this", hint=nearest(name, able) or f"one of {', '.join(able)}"
        )
    return DIALECTS[name]


def _names(rows: Iterable[Dialect]) -> list[str]:
    return [row.name for row in rows]
