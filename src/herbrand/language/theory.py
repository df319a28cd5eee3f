"""A whole theory: its statements in order, what it declares and derives, and its text.

>>> from herbrand.language.formulas import Atom, Variable
>>> smokes = Atom("smokes", (Variable("x"),))
>>> print(Theory((PredicateDeclaration("smokes", ("person",)), WeightedFormula(1.5, smokes))))
predicate smokes(person)
1.5: smokes(x)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from herbrand.errors import UnsupportedError
from herbrand.language.formulas import with_valued_names
from herbrand.language.network_tables import NetworkTable
from herbrand.language.show import show_statement
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Calls,
    Choice,
    FactRows,
    PredicateDeclaration,
    Query,
    Rule,
    Single,
    Statement,
    TypeDeclaration,
    WeightedFormula,
    heads_of,
    merged,
)


@dataclass(frozen=True)
class Theory:
    """Statements in the order they were written. ``a + b`` is the theory with the statements of both.

    Equality ignores how facts and bounds are split into runs. A comparison whose left side names a
    many-valued predicate without arguments becomes an atom when the theory is built, wherever the predicate
    is declared.

    ``queries``: queries in the theory's file. ``spelled``: name in the file of each predicate that has
    another one here. ``made_for``: predicate that messages name in place of each one that a reader made.
    ``calls``: those of predicates of which the file derives only what is called. These four describe the file
    and not its meaning, so they take no part in equality.

    ``str`` gives the text that :func:`show` gives, without its last line end.
    """

    statements: tuple[Statement, ...] = ()
    queries: tuple[Query, ...] = field(default=(), compare=False)
    spelled: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    made_for: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    calls: Mapping[str, Calls] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        declared = (s for s in self.statements if isinstance(s, PredicateDeclaration))
        valued = frozenset(s.name for s in declared if s.values is not None and not s.types)
        if valued:
            known = tuple(_with_valued_names(statement, valued) for statement in self.statements)
            object.__setattr__(self, "statements", known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Theory) and self._canonical() == other._canonical()

    def __hash__(self) -> int:
        return hash(self._canonical())

    def _canonical(self) -> tuple[Statement, ...]:
        unlocated = (replace(s, span=None) if isinstance(s, FactRows) else s for s in self.singly())
        return tuple(merged(unlocated))

    def __add__(self, other: Theory) -> Theory:
        queries, made_for = self.queries + other.queries, {**self.made_for, **other.made_for}
        spelled, calls = {**self.spelled, **other.spelled}, {**self.calls, **other.calls}
        return Theory(self.statements + other.statements, queries, spelled, made_for, calls)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the theory's text, with neighbouring facts of one predicate together."""
        return chain.from_iterable(map(show_statement, merged(self.statements)))

    def singly(self) -> Iterator[Single]:
        """Yield the statements, each run of bounds as single bounds."""
        for statement in self.statements:
            if isinstance(statement, BoundRows):
                yield from statement.bounds()
            else:
                yield statement

    @cached_property
    def _of_kind(self) -> dict[type, tuple[Any, ...]]:
        """Statements by kind; cached, as every command asks for them repeatedly."""
        by_kind: dict[type, list[Any]] = {}
        for statement in self.statements:
            by_kind.setdefault(type(statement), []).append(statement)
        return {kind: tuple(own) for kind, own in by_kind.items()}

    @property
    def types(self) -> tuple[TypeDeclaration, ...]:
        return self._of_kind.get(TypeDeclaration, ())

    @property
    def predicates(self) -> tuple[PredicateDeclaration, ...]:
        return self._of_kind.get(PredicateDeclaration, ())

    @property
    def facts(self) -> tuple[FactRows, ...]:
        return self._of_kind.get(FactRows, ())

    @property
    def formulas(self) -> tuple[WeightedFormula, ...]:
        return self._of_kind.get(WeightedFormula, ())

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return tuple(s for s in self.singly() if isinstance(s, Bound))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._of_kind.get(Rule, ())

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self._of_kind.get(Choice, ())

    @property
    def tables(self) -> tuple[NetworkTable, ...]:
        return self._of_kind.get(NetworkTable, ())

    @cached_property
    def derived(self) -> dict[str, None]:
        """The predicates that rules and choices derive, in order."""
        deriving = (statement for statement in self.statements if isinstance(statement, Rule | Choice))
        return dict.fromkeys(chain.from_iterable(map(heads_of, deriving)))


def show(theory: Theory) -> str:
    """Text of a theory, one statement a line, with neighbouring facts of one predicate together."""
    refuse_no_theory("show", theory)
    return "".join(f"{line}\n" for line in theory.lines())


def refuse_no_theory(call: str, given: object) -> None:
    """Raise UnsupportedError if ``given`` is not a theory; ``call`` names the function in the message."""
    if not isinstance(given, Theory):
        hint = "hb.parse(text) and hb.read(file) give theories"
        raise UnsupportedError(f"{call} takes a theory, not {type(given).__name__}", hint=hint)


def _with_valued_names(statement: Statement, names: Collection[str]) -> Statement:
    match statement:
        case WeightedFormula(formula=formula):
            return replace(statement, formula=with_valued_names(formula, names))
        case Bound(event=event, given=given):
            known = None if given is None else with_valued_names(given, names)
            return replace(statement, event=with_valued_names(event, names), given=known)
        case Rule(body=body) | Choice(body=body):
            return replace(statement, body=tuple(with_valued_names(literal, names) for literal in body))
    return statement
