"""Statements of a theory, over the terms and formulas of :mod:`herbrand.language.formulas`.

This module knows no data and no arrays. Spans do not take part in equality, so a theory that was printed and
read again equals the first one. Build theories with :func:`herbrand.language.parse.parse_theory` or directly:

>>> smokes = Atom("smokes", (Variable("x"),))
>>> WeightedFormula(1.5, smokes).weight
1.5

A statement with ``::`` is a :class:`Choice` among its :class:`Alternative` heads: each ground instance of the
body makes at most one of them true. A fact with a probability is a choice of one head without a body.

>>> rain = Choice((Alternative(0.3, Atom("rain")),))
>>> coin = Atom("coin", (Variable("c"),))
>>> toss = Choice((Alternative(0.4, Atom("heads", coin.arguments)), Alternative(0.6, Atom("tails"))), (coin,))
>>> [alternative.predicate for alternative in toss.alternatives]
['heads', 'tails']
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import fsum
from typing import Literal, NamedTuple

from herbrand.errors import LanguageError, Span
from herbrand.language.formulas import (
    Aggregate,
    And,
    AnyAtom,
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Leaf,
    Not,
    Operator,
    Or,
    Term,
    Truth,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    Xor,
    children,
    leaf_terms,
    predicates_in,
    refuse_deep,
    unvalued,
    walk,
    with_children,
)
from herbrand.language.network_tables import NetworkTable
from herbrand.quick_values import quickly_made

# What this module gives beside its own names: terms, formulas and tables, which statements are made of.
__all__ = [
    "Aggregate",
    "And",
    "AnyAtom",
    "Atom",
    "Comparison",
    "Computed",
    "Constant",
    "Exists",
    "Forall",
    "Formula",
    "Iff",
    "Implies",
    "Leaf",
    "NetworkTable",
    "Not",
    "Operator",
    "Or",
    "Term",
    "Truth",
    "Value",
    "ValueIn",
    "ValueIs",
    "Variable",
    "Xor",
    "children",
    "leaf_terms",
    "walk",
    "with_children",
]


Calendar = Literal["date", "time"]
"""Kind of a calendar type; its constants are texts in ISO 8601 form, so that text order is time order."""


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    """``type level = {"a", "b"}``, ``type year = 1990..2030``, ``type age = number``, ``type day = date``, or
    ``type word``."""

    name: str
    values: tuple[Constant, ...] | None = None
    bounds: tuple[int, int] | None = None
    numeric: bool = False
    calendar: Calendar | None = None
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


Role = Literal["observed", "learned"]


@dataclass(frozen=True, slots=True)
class PredicateDeclaration:
    """``predicate area(paper) in {"ai", "db"}``; ``values`` may also name a declared closed type.

    ``tells_world`` is false if the declaration comes from a dialect in which the facts decide between open
    and closed world. ``query``: SQL for a database of facts; its rows are the predicate's facts.
    ``function``: whether the last argument is the value of a function of the others.
    """

    name: str
    types: tuple[str, ...] = ()
    values: tuple[Constant, ...] | str | None = None
    role: Role | None = None
    query: str | None = None
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    tells_world: bool = field(default=True, compare=False, repr=False)
    function: bool = field(default=False, compare=False, repr=False)

    @property
    def named_types(self) -> tuple[str, ...]:
        """Names of the argument types, then of the value type if that has a name."""
        return (*self.types, self.values) if isinstance(self.values, str) else self.types


FactKind = Literal["true", "false", "soft", "weighted"]


@quickly_made
@dataclass(frozen=True, slots=True)
class FactRows:
    """A run of ground facts of one predicate and one kind, kept as columns.

    ``true``: ``friends("anna", "bob")``; ``false``: ``not smokes("carl")``; ``soft``: ``smokes("d") ~ 0.7``;
    ``weighted``: ``edge("a", "b") @ 2.5``. ``numbers`` holds the probabilities or weights of the last two.
    For a many-valued predicate (``valued``) the last column is the value. ``starts``: offset of each row in
    the source.
    """

    predicate: str
    columns: tuple[tuple[Value, ...], ...]
    row_count: int
    kind: FactKind = "true"
    numbers: tuple[float, ...] = ()
    valued: bool = False
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    starts: Sequence[int] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        assert all(len(column) == self.row_count for column in self.columns), "columns of one length"
        assert len(self.numbers) == (self.row_count if self.kind in ("soft", "weighted") else 0)
        assert self.label is None or self.row_count == 1, "a label names one fact"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FactRows) and self._shape() == other._shape() and self._rows() == other._rows()
        )

    def __hash__(self) -> int:
        return hash(self._shape())

    def _shape(self) -> tuple[object, ...]:
        return self.predicate, self.kind, self.valued, self.label, self.row_count, len(self.columns)

    def _rows(self) -> tuple[object, ...]:
        return (
            self.columns,
            self.numbers,
            [[isinstance(x, str) for x in column] for column in self.columns],
        )

    def row(self, index: int) -> tuple[Value, ...]:
        return tuple(column[index] for column in self.columns)

    def row_span(self, index: int) -> Span | None:
        """Source span of a row without a trailing comment; the span of the whole run where ``starts`` is
        empty, as in statements built in Python."""
        if self.span is None or not len(self.starts):
            return self.span
        start = self.starts[index]
        match = _SAID.match(self.span.source.text, start)
        return Span(self.span.source, start, start + len(match[0].rstrip() if match else ""))


_SAID = re.compile(r'(?:"(?:\\.|[^"\\\n])*"|(?!(?<=[\s)])(?:#|//))[^\n])*')
"""Matches a line up to its comment, in this language or a dialect. ``#`` and ``//`` begin a comment only
after a space or a closing bracket, since names in dialects may hold these signs."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Learned:
    """``?``: a weight to be learned; ``?[w]``: one for each value of ``w``. It starts at 0.

    ``start``: initial value of a learned probability, from ``t(0.3)::`` in a ``.pl`` file; it takes no part
    in equality, and an ``.hb`` file cannot state it.
    """

    by: tuple[Variable, ...] = ()
    start: float | None = field(default=None, compare=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Hard:
    """Weight of a formula that must always hold, written ``hard``."""


Weight = float | Learned | Hard


def learned_by(weight: object) -> tuple[Variable, ...]:
    """Variables in ``?[x, y]``: a weight is learned for each combination of their values."""
    return weight.by if isinstance(weight, Learned) else ()


@quickly_made
@dataclass(frozen=True, slots=True)
class WeightedFormula:
    """``1.5: formula where conditions``. ``times``: variable whose number multiplies the weight, as in
    ``1.5 * s: formula``."""

    weight: Weight
    formula: Formula
    where: tuple[Comparison, ...] = ()
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    times: Variable | None = None

    def __post_init__(self) -> None:
        refuse_deep(self.formula)


@dataclass(frozen=True, slots=True)
class Bound:
    """``P(event | given) in [lower, upper]``; ``independent``: the event's atoms are not linked in the graph
    of independences."""

    event: Formula
    given: Formula | None
    lower: float
    upper: float
    independent: bool = False
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        refuse_deep(self.event, self.given)


def one_sided(sign: str, number: float) -> tuple[float, float]:
    """Lower and upper probability that ``P(...) <= number`` states, or ``>=`` or ``=``."""
    return (0.0 if sign == "<=" else number), (1.0 if sign == ">=" else number)


@dataclass(frozen=True, slots=True)
class BoundRows:
    """A run of bounds on atoms without arguments, kept as columns: files have hundreds of thousands.

    Row i is the bound ``forms[form[i]]`` with the ends ``lower[i]`` and ``upper[i]``. The atoms of a form are
    called ``x0``, ``x1``, ... in order; ``atoms`` holds the indices in ``names`` of the atoms to put in their
    places, row after row. ``places``: offset of the first occurrence of each name; ``starts``: offset of each
    row. ``read`` parses one row of the source into a bound whose parts have spans.
    """

    forms: tuple[Bound, ...]
    form: Sequence[int]
    names: tuple[str, ...]
    atoms: Sequence[int]
    lower: Sequence[float]
    upper: Sequence[float]
    labels: tuple[str, ...]
    span: Span = field(repr=False)
    starts: Sequence[int] = field(repr=False)
    places: Sequence[int] = field(repr=False)
    read: Callable[[Span], Bound] = field(repr=False)

    def __post_init__(self) -> None:
        columns = (self.lower, self.upper, self.labels, self.starts)
        assert all(len(column) == len(self.form) for column in columns), "columns of one length"
        assert len(self.names) == len(self.places)

    def __len__(self) -> int:
        return len(self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundRows) and tuple(self.bounds()) == tuple(other.bounds())

    def __hash__(self) -> int:
        return hash(self.labels)

    @property
    def label(self) -> None:
        """Always ``None``: the rows of a run have labels, the run has none."""
        return None

    def row_span(self, index: int) -> Span:
        return self.span.source.rest_of_line(self.starts[index])

    def name_span(self, index: int) -> Span:
        """Source span of the first occurrence of a name."""
        place = self.places[index]
        return Span(self.span.source, place, place + len(self.names[index]))

    def bound(self, index: int) -> Bound:
        """Parse one row as a single bound."""
        return self.read(self.row_span(index))

    def bounds(self) -> Iterator[Bound]:
        return map(self.bound, range(len(self)))


BodyLiteral = Leaf | Not


@quickly_made
@dataclass(frozen=True, slots=True)
class Rule:
    """``head :- body @ weight``; a weight of ``None`` counts proofs."""

    head: Atom
    body: tuple[BodyLiteral, ...]
    weight: float | Learned | None = None
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        refuse_deep(*self.body)


Chance = float | Variable | Learned
"""The probability of an alternative: a number, a numeric variable of the body, or one to be learned."""

LARGEST_SUM = 1 + 1e-12
"""Probabilities of one statement may add up to this: thirds and tenths have rounding errors."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Alternative:
    """One head of a choice and its probability: ``0.4 :: heads(c)``, ``0.2 :: colour(b) = "red"``."""

    probability: Chance
    head: Atom | ValueIs
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        number = self.probability
        if isinstance(number, int | float) and not 0 <= number <= 1:
            hint = "expected a number from 0 to 1"
            raise LanguageError(f"{number:g} is not a probability", span=self.span, hint=hint)

    @property
    def atom(self) -> Atom:
        """The atom of the head, without its value if it is many-valued."""
        return unvalued(self.head)

    @property
    def predicate(self) -> str:
        return self.atom.predicate


@quickly_made
@dataclass(frozen=True, slots=True)
class Choice:
    """``p :: head; q :: head :- body``: an independent choice for each ground instance of the body.

    It makes at most one of the heads true; the probability left over to 1 is that of no head. The ground
    instances range over all variables of the statement that stand outside ``not``.
    """

    alternatives: tuple[Alternative, ...]
    body: tuple[BodyLiteral, ...] = ()
    label: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def learned(self) -> bool:
        """Whether the probability of some head is to be learned."""
        return any(isinstance(one.probability, Learned) for one in self.alternatives)

    def __post_init__(self) -> None:
        assert self.alternatives, "a choice has an alternative"
        refuse_deep(*self.body)
        if len(self.alternatives) == 1:
            return
        total = fsum(a.probability for a in self.alternatives if isinstance(a.probability, int | float))
        if total > LARGEST_SUM:
            message = f"the probabilities of this statement add up to {total:.12g}, more than 1"
            hint = "heads of one statement exclude each other; independent ones are statements of their own"
            raise LanguageError(message, span=self.span, hint=hint)


Single = (
    TypeDeclaration | PredicateDeclaration | FactRows | WeightedFormula | Bound | Rule | Choice | NetworkTable
)
"""Any statement except a run of bounds."""
Statement = Single | BoundRows


def merged(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield the statements, with facts of one shape joined into one run.

    Only a statement of another kind, or a fact with a label, ends a run. Files often list facts entity by
    entity, one predicate after the other; a run for each would cost as much as the facts themselves.
    """
    waiting: dict[object, list[FactRows]] = {}
    for statement in statements:
        if isinstance(statement, FactRows) and statement.label is None:
            waiting.setdefault(_run_key(statement), []).append(statement)
            continue
        yield from map(_joined, waiting.values())
        waiting.clear()
        yield statement
    yield from map(_joined, waiting.values())


def _run_key(rows: FactRows) -> object:
    source = rows.span.source.name if rows.span else None
    return rows.predicate, rows.kind, rows.valued, len(rows.columns), source


def _joined(runs: list[FactRows]) -> FactRows:
    if len(runs) == 1:
        return runs[0]
    first, last = runs[0].span, runs[-1].span
    columns = zip(*(run.columns for run in runs), strict=True)
    located = first is not None and last is not None and all(len(run.starts) for run in runs)
    return replace(
        runs[0],
        columns=tuple(tuple(chain.from_iterable(parts)) for parts in columns),
        row_count=sum(run.row_count for run in runs),
        numbers=tuple(chain.from_iterable(run.numbers for run in runs)),
        span=Span(first.source, first.start, last.end) if located and first and last else first,
        starts=array("q", chain.from_iterable(run.starts for run in runs)) if located else (),
    )


@quickly_made
@dataclass(frozen=True, slots=True)
class Query:
    """A query that a file itself holds, in some dialects, and its source ``text``."""

    formula: Formula
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


class Calls(NamedTuple):
    """The calls of a predicate in a file whose rules derive nothing else of it: the predicate that ``lists``
    them, the ``places`` of the arguments that they give, and the arguments in the file's own queries."""

    lists: str
    places: tuple[int, ...]
    asked: frozenset[tuple[Value, ...]]


def formulas_in(statement: Statement) -> tuple[Formula, ...]:
    """The formulas of a statement: its formula, its event and condition, or its heads and body."""
    match statement:
        case WeightedFormula(formula=formula):
            return (formula,)
        case Bound(event=event, given=given):
            return (event,) if given is None else (event, given)
        case Rule(head=head, body=body):
            return (head, *body)
        case Choice(alternatives=alternatives, body=body):
            return (*(alternative.head for alternative in alternatives), *body)
    return ()


def predicates_of(statement: Statement) -> Iterator[str]:
    """Yield the predicates that a statement names, with repetitions."""
    return chain.from_iterable(map(predicates_in, formulas_in(statement)))


def heads_of(statement: Rule | Choice) -> list[str]:
    """The predicates that a rule or a choice derives."""
    if isinstance(statement, Rule):
        return [statement.head.predicate]
    return [unvalued(alternative.head).predicate for alternative in statement.alternatives]
