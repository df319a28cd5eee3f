"""What answers weigh as forms over sources, and the choices that such forms are compiled from.

The numbers come with each call (:mod:`herbrand.engines.proof.sources`), so every choice has variables of its
own, and a leaf of a form is the probability of one of its outcomes or 1 less it.

>>> from herbrand.budget import UNLIMITED
>>> made = SeparateChoices()
>>> (a,), (b,), (red, green) = (made.choice(chances).outcomes for chances in ([0.5], [0.5], [0.5, 0.5]))
>>> form = form_of(made, [made.net.every([a, red]), green], UNLIMITED)
>>> form.literals == (a, red, green), form.is_product.tolist(), form.roots
(True, [True], (4, 3))
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import ChoiceConstraints, Drawn
from herbrand.engines.circuit.compile import compiled
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints
from herbrand.engines.circuit.forms import ONE, ZERO, Form, Nodes
from herbrand.engines.circuit.reduction import used
from herbrand.engines.proof.sources import Row
from herbrand.graphs import reached


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """The answers that are possible, a root of the form each: their ``places`` among all there could be, in
    order. The last root is the evidence where something is ``observed``. A leaf is a source's number, or 1
    ``less`` it."""

    form: Form
    places: np.ndarray
    observed: bool
    sources: np.ndarray
    less: np.ndarray

    @classmethod
    def of(
        cls, form: Form, places: Sequence[int], sources: Mapping[int, int], observed: bool = False
    ) -> ScoredAnswers:
        """``sources``: of each variable."""
        return cls(
            form,
            np.array(places, np.int64),
            observed,
            np.array([sources[literal >> 1] for literal in form.literals], np.int64),
            np.array([literal & 1 for literal in form.literals], bool),
        )


class Answering(Protocol):
    """A road from questions to forms. ``needs_numbers``: which proofs count depends on sources' numbers."""

    needs_numbers: bool

    def prepare(self, inputs: Row) -> None:
        """Find all that a question's answers may use, so that it has sources."""

    def answers(self, inputs: Row, numbers: Sequence[float] | None) -> ScoredAnswers:
        """The answers of the goal for these constants."""
        ...


def place_of(found: Sequence[int], sizes: Sequence[int]) -> int:
    """Where an answer stands among all choices of the constants that are asked for."""
    place = 0
    for index, size in zip(found, sizes, strict=True):
        place = place * size + index
    return place


class SeparateChoices(ChoiceConstraints):
    """Choices whose numbers come later. ``grouped``: variables of outcomes that exclude each other, which
    weigh their probability where they hold and 1 where they do not."""

    def __init__(self) -> None:
        super().__init__()
        self.grouped: set[int] = set()

    def choice(self, chances: Sequence[float]) -> Drawn:
        """One variable for one outcome, which may come to nothing; one for each of several, of which one
        holds."""
        variables = tuple(self.net.variable() for _ in chances)
        outcomes = tuple(2 * variable for variable in variables)
        if len(chances) == 1:
            self.normal.update(variables)
        else:
            self.grouped.update(variables)
            self.net.exactly_one(outcomes)
        return Drawn(tuple(chances), variables, outcomes)


def key_of(made: SeparateChoices, roots: Sequence[int]) -> Hashable:
    """What a form depends on: questions that differ in their constants alone have one."""
    net = made.net
    return tuple(roots), tuple(net.clauses), tuple(net.owners), tuple(net.groups), frozenset(made.grouped)


def form_of(made: SeparateChoices, roots: Sequence[int], budget: Budget) -> Form:
    """What literals weigh together with the evidence, a root each."""
    nodes = Nodes()

    def leaf(literal: int) -> int:
        variable = literal >> 1
        if variable in made.normal or (variable in made.grouped and literal == 2 * variable):
            return nodes.leaf(literal)
        return ONE

    def root(literal: int) -> int:
        if literal == FALSE or not made.net.consistent:
            return ZERO
        held = () if literal == TRUE else (literal,)
        if not held and not made.evidence:
            return ONE
        own = {x >> 1 for x in (*held, *(one.literal for one in made.evidence)) if x >= 0}
        net = _connected(used(made.net, own), own)
        return nodes.circuit(compiled(net, budget, normal=made.normal, assumed=held), leaf)

    return nodes.form([root(literal) for literal in roots])


def _connected(net: Constraints, variables: Iterable[int]) -> Constraints:
    """The constraints that hang together with variables; of all others the choices add up to 1."""
    rows = [*net.clauses, *net.groups]
    around: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        for literal in row:
            around.setdefault(literal >> 1, []).append(number)

    def others(variable: int) -> Iterator[int]:
        for number in around.get(variable, ()):
            yield from (literal >> 1 for literal in rows[number])

    kept = set(reached(variables, others))
    smaller = Constraints()
    smaller.gates, smaller.consistent, smaller.counters = net.gates, net.consistent, net.counters
    smaller.groups = [group for group in net.groups if group[0] >> 1 in kept]
    for clause, owner in zip(net.clauses, net.owners, strict=True):
        if not clause or clause[0] >> 1 in kept:
            smaller.add(clause, owner)
    return smaller
