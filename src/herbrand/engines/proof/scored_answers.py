"""The weights of answers as forms over sources, and the choices that such forms are compiled from.

The numbers are given with each call (:mod:`herbrand.engines.proof.sources`), so every choice has separate
variables, and a leaf of a form is the probability of one of its outcomes, or 1 minus that.

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
    """The possible answers to a question, each a root of a form; ``places`` numbers them among all choices.

    After these roots there are ``observed`` roots of the evidence, if there is any: that of the evidence
    itself, and each factor that it shares with all answers. A leaf is a source's number, or 1 minus it where
    ``less``.
    """

    form: Form
    places: np.ndarray
    observed: int
    sources: np.ndarray
    less: np.ndarray

    @classmethod
    def of(
        cls, form: Form, places: Sequence[int], sources: Mapping[int, int], observed: int = 0
    ) -> ScoredAnswers:
        """Build the answers of a form; ``sources``: the source of each variable."""
        return cls(
            form,
            np.array(places, np.int64),
            observed,
            np.array([sources[literal >> 1] for literal in form.literals], np.int64),
            np.array([literal & 1 for literal in form.literals], bool),
        )


class Answering(Protocol):
    """A way to answer questions by forms.

    ``needs_numbers``: whether the proofs in a form depend on the sources' numbers.
    """

    needs_numbers: bool

    def prepare(self, inputs: Row) -> None:
        """Register the sources of all facts and rules that a question's answers may use."""

    def answers(self, inputs: Row, numbers: Sequence[float] | None) -> ScoredAnswers:
        """The answers of the goal for these constants."""
        ...


class CachedAnswers(ABC):
    """A way whose forms do not depend on numbers, so that each question's is computed once and cached."""

    needs_numbers = False

    def __init__(self) -> None:
        self._known: dict[Row, ScoredAnswers] = {}

    def prepare(self, inputs: Row) -> None:
        if inputs not in self._known:
            self._known[inputs] = self._computed_answers(inputs)

    def answers(self, inputs: Row, numbers: Sequence[float] | None) -> ScoredAnswers:
        return self._known[inputs]

    @abstractmethod
    def _computed_answers(self, inputs: Row) -> ScoredAnswers: ...


def place_of(indices: Sequence[int], sizes: Sequence[int]) -> int:
    """Number of an answer among all choices of the outputs' constants, in mixed radix ``sizes``."""
    place = 0
    for index, size in zip(indices, sizes, strict=True):
        place = place * size + index
    return place


class SeparateChoices(ChoiceConstraints):
    """Choices whose probabilities are given later.

    ``grouped``: variables of outcomes that exclude each other, whose weight is their probability if true and
    1 if false. ``numbers``: the probability of variables that are no outcome.
    """

    def __init__(self) -> None:
        super().__init__()
        self.grouped: set[int] = set()
        self.numbers: dict[int, float] = {}

    def choice(self, chances: Sequence[float]) -> Drawn:
        """Add a choice: one variable if it has one outcome, which may fail; else one for each outcome.

        Of several outcomes exactly one holds; a further one gets the rest of the probability, if any.
        """
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
        """Weigh a literal by a constraint: the literal is false, or a new choice of that probability holds.

        The leaves of the circuit are probabilities, so that it cannot have weights of literals.
        ``log_weight`` is at most 0.
        """
        assert log_weight <= 0, "a weight that is no probability"
        spared = self.net.variable()
        self.normal.add(spared)
        self.numbers[spared] = math.exp(log_weight)
        self.stipulate(self.net.either([negated(literal), 2 * spared]), "an opinion")


class Forms:
    """A cache of compiled forms: questions that differ only in their constants share one."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[Hashable, Form] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, choices: SeparateChoices, roots: Sequence[int]) -> Form:
        """The form with a root for each literal: its weight together with the evidence.

        With evidence, the last of ``roots`` must be that of the evidence alone. Factors that all roots share
        are divided out, and appended as further roots.
        """
        key = tuple(roots), tuple(choices.net.restrictions), frozenset(choices.grouped)
        if key not in self._known:
            self._known[key] = form_of(choices, roots, self._budget)
        return self._known[key]


def form_of(choices: SeparateChoices, roots: Sequence[int], budget: Budget) -> Form:
    """Compile the form of :meth:`Forms.of`."""
    nodes = Nodes()

    def leaf(literal: int) -> int:
        variable = literal >> 1
        if variable in choices.normal or (variable in choices.grouped and literal == 2 * variable):
            return nodes.leaf(literal)
        return ONE

    def root(literal: int) -> int:
        if literal == FALSE or not choices.net.consistent:
            return ZERO
        held = () if literal == TRUE else (literal,)
        if not held and not choices.evidence:
            return ONE
        own = {x >> 1 for x in (*held, *(one.literal for one in choices.evidence)) if x >= 0}
        net, met = _connected(used(choices.net, own), own)
        normal = choices.normal | (choices.grouped - met)
        return nodes.circuit(compiled(net, budget, normal=normal, assumed=held), leaf)

    divided, common = [root(literal) for literal in roots], list[int]()
    if choices.evidence:
        divided, common = nodes.without_common(divided)
    return nodes.form([*divided, *common])


def _connected(net: Constraints, variables: Iterable[int]) -> tuple[Constraints, set[int]]:
    """The constraints connected with variables, and the variables of these.

    The choices of all other constraints sum to 1.
    """
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
