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

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import ChoiceConstraints, Drawn
from herbrand.engines.circuit.compile import compiled
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.engines.circuit.forms import ONE, ZERO, Form, Nodes
from herbrand.engines.circuit.reduction import used
from herbrand.engines.proof.chances import ROUNDING
from herbrand.engines.proof.sources import Row
from herbrand.graphs import reached


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """The answers that are possible, a root of the form each: their ``places`` among all there could be, in
    order. Behind them are the ``observed`` roots of the evidence, if there is any: what answers are
    conditioned on, and each factor that it shares with all of them. A leaf is a source's number, or 1
    ``less`` it."""

    form: Form
    places: np.ndarray
    observed: int
    sources: np.ndarray
    less: np.ndarray

    @classmethod
    def of(
        cls, form: Form, places: Sequence[int], sources: Mapping[int, int], observed: int = 0
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


class FoundOnce(ABC):
    """A road on which a question's answers do not depend on numbers, and are found once."""

    needs_numbers = False

    def __init__(self) -> None:
        self._known: dict[Row, ScoredAnswers] = {}

    def prepare(self, inputs: Row) -> None:
        if inputs not in self._known:
            self._known[inputs] = self._found(inputs)

    def answers(self, inputs: Row, numbers: Sequence[float] | None) -> ScoredAnswers:
        return self._known[inputs]

    @abstractmethod
    def _found(self, inputs: Row) -> ScoredAnswers: ...


def place_of(indices: Sequence[int], sizes: Sequence[int]) -> int:
    """Where an answer stands among all choices of the constants that are asked for."""
    place = 0
    for index, size in zip(indices, sizes, strict=True):
        place = place * size + index
    return place


class SeparateChoices(ChoiceConstraints):
    """Choices whose numbers come later. ``grouped``: variables of outcomes that exclude each other, which
    weigh their probability where they hold and 1 where they do not; ``numbers``: the probability of variables
    that stand for no outcome."""

    def __init__(self) -> None:
        super().__init__()
        self.grouped: set[int] = set()
        self.numbers: dict[int, float] = {}

    def choice(self, chances: Sequence[float]) -> Drawn:
        """One variable for one outcome, which may come to nothing; one for each of several, of which one
        holds."""
        variables = tuple(self.net.variable() for _ in chances)
        outcomes = tuple(2 * variable for variable in variables)
        if len(chances) == 1:
            self.normal.update(variables)
        else:
            rest = 1 - math.fsum(chances)
            more = [self.net.variable()] if rest > ROUNDING else []
            self.numbers |= dict.fromkeys(more, rest)
            self.grouped.update(variables, more)
            self.net.exactly_one((*outcomes, *(2 * variable for variable in more)))
        return Drawn(tuple(chances), variables, outcomes)

    def weigh(self, literal: int, log_weight: float) -> None:
        """Leave out worlds in which the literal holds unless a choice spares them, of the weight as its
        probability: the circuit's leaves are probabilities, so weights of literals have no place in it."""
        assert log_weight <= 0, "a weight that is no probability"
        spared = self.net.variable()
        self.normal.add(spared)
        self.numbers[spared] = math.exp(log_weight)
        self.stipulate(self.net.either([negated(literal), 2 * spared]), "an opinion")


class Forms:
    """Forms of literals, compiled once: questions that differ in their constants alone have one."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[Hashable, Form] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, made: SeparateChoices, roots: Sequence[int]) -> Form:
        """What literals weigh together with the evidence, a root each. Where there is evidence, the last one
        stands for it alone: factors that all share are gone from these roots, and are roots behind them."""
        key = tuple(roots), tuple(made.net.restrictions), frozenset(made.grouped)
        if key not in self._known:
            self._known[key] = form_of(made, roots, self._budget)
        return self._known[key]


def form_of(made: SeparateChoices, roots: Sequence[int], budget: Budget) -> Form:
    """The same, compiled."""
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
        net, met = _connected(used(made.net, own), own)
        normal = made.normal | (made.grouped - met)
        return nodes.circuit(compiled(net, budget, normal=normal, assumed=held), leaf)

    divided, common = [root(literal) for literal in roots], list[int]()
    if made.evidence:
        divided, common = nodes.without_common(divided)
    return nodes.form([*divided, *common])


def _connected(net: Constraints, variables: Iterable[int]) -> tuple[Constraints, set[int]]:
    """The constraints that hang together with variables, and the variables of these; of all others the
    choices add up to 1."""
    around: dict[int, list[int]] = {}
    for number, restriction in enumerate(net.restrictions):
        for literal in restriction.literals:
            around.setdefault(literal >> 1, []).append(number)

    def others(variable: int) -> Iterator[int]:
        for number in around.get(variable, ()):
            yield from (literal >> 1 for literal in net.restrictions[number].literals)

    kept = set(reached(variables, others))
    smaller = net.keeping(one for one in net.restrictions if not one.literals or one.literals[0] >> 1 in kept)
    return smaller, kept
