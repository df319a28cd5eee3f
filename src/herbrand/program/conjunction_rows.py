"""The assignments of a conjunction's variables that nothing known rules out, over relations anywhere.

What is known of a literal is a list of rows: of the atoms that make it true, where no other atom may, or of
those that make it false. :class:`~herbrand.program.body_rows.Body` joins the former and leaves out the
latter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from herbrand.program.body_rows import Body, BodyRelation, Condition, fitting
from herbrand.program.template import Conjunction, Literal
from herbrand.relations.expression import Expression, column, literal
from herbrand.relations.relation import Relation


@dataclass(frozen=True)
class Listed:
    """Atoms of a literal's predicate: ``rows`` has a column ``a0``, ``a1``, ... for each argument.
    ``needed``: the literal holds of these alone; else of none of them."""

    rows: Relation
    count: int
    needed: bool


@dataclass(frozen=True)
class Variables:
    """``columns``: the column of each variable; ``sizes``: how many values a column may have, and ``numbers``
    the relation of all of them."""

    columns: Mapping[str, str]
    sizes: Mapping[str, int]
    numbers: Callable[[str, int], Relation]

    def all_values(self, name: str) -> Relation:
        return self.numbers(name, self.sizes[name])


def possible_rows(
    conjunction: Conjunction,
    known: Callable[[Literal], Listed | None],
    variables: Variables,
    begun: BodyRelation,
) -> Relation:
    """The distinct assignments, a column for each variable and for each of what is ``begun``, which is one
    row where it has no columns; ``known`` gives ``None`` where nothing is."""
    conditions = [_apart(pair, variables.columns) for pair in sorted(conjunction.distinct, key=repr)]
    parts: list[BodyRelation] = []
    for one in conjunction.literals:
        listed = known(one)
        if listed is None:
            continue
        rows, first = fitting(listed.rows, one.arguments)
        rows = rows.select(**{variables.columns[name]: column(place) for name, place in first.items()})
        if listed.needed:
            parts.append(BodyRelation(rows, max(1, listed.count)))
        else:
            conditions.append(Condition(frozenset(rows.columns), partial(_without, rows, rows.columns)))
    if begun.variables or not parts:
        parts.insert(0, begun)
    outputs = dict.fromkeys(
        [*(variables.columns[name] for name, _ in conjunction.variables), *begun.variables]
    )
    return Body(parts, conditions, variables.all_values, variables.sizes.__getitem__, list(outputs)).rows()


def _apart(pair: Sequence[str | int], columns: Mapping[str, str]) -> Condition:
    """That two arguments differ."""
    left, right = (column(columns[x]) if isinstance(x, str) else literal(x) for x in pair)
    needed = frozenset(columns[x] for x in pair if isinstance(x, str))
    return Condition(needed, partial(_where, left != right))


def _where(condition: Expression, rows: Relation) -> Relation:
    return rows.where(condition)


def _without(listed: Relation, on: Sequence[str], rows: Relation) -> Relation:
    return rows.without(listed, on)
