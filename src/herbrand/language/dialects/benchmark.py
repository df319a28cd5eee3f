"""Reader of published benchmarks: a folder with files ``predicates``, ``rules``, ``facts``, ``queries``.

Takes the folder; returns a theory and the queries with their labels. The domain of a type consists of the
constants at its positions in facts, rules and queries, so types are closed. In this format a term of a rule
is a constant only if it begins with a capital and is longer than one character.

>>> is_benchmark_constant("Level_500"), is_benchmark_constant("X"), is_benchmark_constant("p")
(True, False, False)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from herbrand.errors import LanguageError, Mistakes, Source, Span, counted, nearest
from herbrand.language.dialects.alchemy.facts import facts_of
from herbrand.language.dialects.alchemy.formulas import Names
from herbrand.language.dialects.alchemy.theory import MlnReader
from herbrand.language.formulas import Atom, Constant, Value, walk
from herbrand.language.parse import read_source
from herbrand.language.syntax import FactRows, PredicateDeclaration, TypeDeclaration, WeightedFormula
from herbrand.language.theory import Theory

FILES = ("predicates", "rules", "facts", "queries")


@dataclass(frozen=True)
class Benchmark:
    """A theory, and the query atoms to score it on, labelled by their kind ``true`` or ``false``."""

    theory: Theory
    queries: tuple[FactRows, ...]


def read_benchmark(folder: str | Path) -> Benchmark:
    """Read a benchmark's folder; all mistakes of its four files are raised together."""
    if not any((Path(folder) / name).is_file() for name in FILES):
        theory = min(map(str, Path(folder).glob("*.hb")), default="smokers.hb")
        raise LanguageError(
            f"'{folder}' is a folder, and no theory file",
            hint=f"name a theory file, such as {theory}; a folder of tables is named by --facts, and a "
            f"published benchmark's holds {', '.join(FILES)}",
        )
    mistakes = Mistakes()
    sources: dict[str, Source] = {}
    for name in FILES:
        with mistakes.collecting():
            sources[name] = read_source(Path(folder) / name)
    mistakes.raise_any()
    predicates = _predicates(sources["predicates"], mistakes)
    mistakes.raise_any()
    formulas = _formulas(sources["rules"], predicates, mistakes)
    facts = _facts(sources["facts"], predicates, mistakes)
    queries = _facts(sources["queries"], predicates, mistakes)
    mistakes.raise_any()
    types = _types(predicates, facts, formulas, queries)
    return Benchmark(Theory((*types, *predicates.values(), *facts, *formulas)), tuple(queries))


def is_benchmark_constant(name: str) -> bool:
    return name[0].isupper() and len(name) > 1


def _predicates(source: Source, mistakes: Mistakes) -> dict[str, PredicateDeclaration]:
    reader = MlnReader(Names(), mistakes)
    reader.read(source)
    declared: dict[str, PredicateDeclaration] = {}
    for statement in reader.statements():
        if isinstance(statement, PredicateDeclaration) and statement.values is None:
            declared[statement.name] = statement
        else:
            mistakes.note("expected a predicate such as friend(person, person)", statement.span)
    return declared


def _formulas(
    source: Source, predicates: dict[str, PredicateDeclaration], mistakes: Mistakes
) -> list[WeightedFormula]:
    names = Names(is_benchmark_constant)
    names.seen.update((name, p.span) for name, p in predicates.items() if p.span is not None)
    reader = MlnReader(names, mistakes)
    reader.read(source)
    formulas: list[WeightedFormula] = []
    for statement in reader.statements():
        if isinstance(statement, WeightedFormula):
            formulas.append(statement)
            _check_formula(statement, predicates, mistakes)
        else:
            mistakes.note("expected a rule such as 1.0 !friend(a, b) v friend(b, a)", statement.span)
    return formulas


def _check_formula(
    formula: WeightedFormula, predicates: dict[str, PredicateDeclaration], mistakes: Mistakes
) -> None:
    for part in walk(formula.formula):
        if isinstance(part, Atom):
            with mistakes.collecting():
                _check_use(part.predicate, len(part.arguments), part.span, predicates)
            for term in part.arguments:
                if isinstance(term, Constant) and term.span and not is_benchmark_constant(term.span.text):
                    mistakes.note(
                        f"'{term.span.text}' would be a variable in a rule of this format",
                        term.span,
                        "constants of rules begin with a capital and have more than one character",
                    )


def _check_use(name: str, arity: int, span: Span | None, predicates: dict[str, PredicateDeclaration]) -> None:
    declaration = predicates.get(name)
    if declaration is None:
        raise LanguageError(f"predicate '{name}' is not declared", span=span, hint=nearest(name, predicates))
    if len(declaration.types) != arity:
        message = f"'{name}' takes {counted(len(declaration.types), 'argument')}, not {arity}"
        raise LanguageError(message, span=span, related=[("declared here", declaration.span)])


def _facts(source: Source, predicates: dict[str, PredicateDeclaration], mistakes: Mistakes) -> list[FactRows]:
    facts: list[FactRows] = []
    with mistakes.collecting():
        for rows in facts_of(source):
            with mistakes.collecting():
                _check_use(rows.predicate, len(rows.columns), rows.row_span(0), predicates)
                facts.append(rows)
    return facts


def _types(
    predicates: dict[str, PredicateDeclaration],
    facts: Iterable[FactRows],
    formulas: Iterable[WeightedFormula],
    queries: Iterable[FactRows],
) -> list[TypeDeclaration]:
    """Every type with the constants at its positions, in order of occurrence; open if there is none."""
    met: dict[str, dict[Value, None]] = {name: {} for p in predicates.values() for name in p.types}

    def meet(all_rows: Iterable[FactRows]) -> None:
        for rows in all_rows:
            for name, column in zip(predicates[rows.predicate].types, rows.columns, strict=True):
                met[name].update(dict.fromkeys(column))

    meet(facts)
    for formula in formulas:
        for part in walk(formula.formula):
            if isinstance(part, Atom):
                for name, term in zip(predicates[part.predicate].types, part.arguments, strict=True):
                    if isinstance(term, Constant):
                        met[name].setdefault(term.value)
    meet(queries)
    return [
        TypeDeclaration(name, tuple(map(Constant, values)) if values else None)
        for name, values in met.items()
    ]
