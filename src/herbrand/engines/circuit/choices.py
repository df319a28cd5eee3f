"""Independent choices and evidence as constraints with weights, compiled and summed.

>>> from herbrand.budget import UNLIMITED
>>> made = ChoiceConstraints()
>>> red, blue = made.choice([0.2, 0.3]).outcomes
>>> made.stipulate(made.net.either([red, blue]), "red or blue")
>>> circuit, weights = made.circuit([red, blue], UNLIMITED)
>>> shares = circuit.shares(weights, circuit.values(weights))
>>> round(share_of(shares, red), 2), round(share_of(shares, blue), 2)
(0.4, 0.6)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.compile import compiled, is_possible
from herbrand.engines.circuit.constraints import FALSE, NO_OWNER, TRUE, Constraints, Restriction, negated
from herbrand.engines.circuit.factoring import factored
from herbrand.engines.circuit.network import LiteralsOf, WeightedConstraints
from herbrand.engines.circuit.reduction import reduced, used
from herbrand.errors import ContradictionError
from herbrand.factors.graph import FactorGraph
from herbrand.language.collection import collector_paused
from herbrand.quick_values import quickly_made

CERTAIN = 1e-12
"""Where several probabilities leave less than this to 1, it is rounding."""
FEW_STATEMENTS = 64
"""Up to so many pieces of evidence are searched for a smallest set that has probability 0."""


def probability_left(chances: Sequence[float]) -> list[float]:
    """The probability of each outcome and all behind it, none of them included; last that of none.

    Summed from the end, since 1 less the outcomes before would round rare ones off.

    >>> probability_left([0.5, 0.25]), probability_left([1 - 1e-13, 1e-13])[1:]
    ([1.0, 0.5, 0.25], [1e-13, 0.0])
    >>> probability_left([1 - 2**-53, 0.0])[-1] == 2**-53
    True
    """
    none = 1 - math.fsum(chances)
    alone = sum(chance > 0 for chance in chances) == 1
    left = [none if none > CERTAIN or (alone and none > 0) else 0.0]
    for chance in reversed(chances):
        left.append(left[-1] + chance)
    return left[::-1]


@quickly_made
@dataclass(frozen=True, slots=True)
class Stipulation:
    """A literal that evidence fixes, the text that names it, and whether that says that an atom holds."""

    literal: int
    text: str
    holds: bool = True


@quickly_made
@dataclass(frozen=True, slots=True)
class Drawn:
    """One choice: the probability and the literal of each outcome, and the variable that draws it, -1 where
    none is needed."""

    chances: tuple[float, ...]
    variables: tuple[int, ...]
    outcomes: tuple[int, ...]

    @property
    def decisions(self) -> Iterator[tuple[int, float, float]]:
        """Each variable that decides on an outcome, and the probabilities of this and of all behind it."""
        behind = probability_left(self.chances)[1:]
        every = zip(self.variables, self.chances, behind, strict=True)
        return (decision for decision in every if decision[0] >= 0)


@dataclass(frozen=True, eq=False)
class Task:
    """Constraints to be compiled for their sum; ``written``: variables whose literals the circuit has;
    ``normal`` ones weigh 1."""

    net: Constraints
    log_weights: np.ndarray
    written: set[int]
    normal: set[int]

    @property
    def weighted(self) -> list[int]:
        """The gates with weights of their own."""
        return np.flatnonzero(self.log_weights.any(axis=1) & np.array(self.net.gates, bool)).tolist()

    def unrestricted(self) -> tuple[float, np.ndarray]:
        """The logarithm of the sum over all assignments and the share of each literal, without constraints.

        As of a circuit, gates that nobody asks for and normal variables add nothing to the sum.
        """
        sums = np.logaddexp(self.log_weights[:, 0], self.log_weights[:, 1])
        with np.errstate(invalid="ignore"):
            shares = np.exp(self.log_weights[:, ::-1] - sums[:, None])  # a literal comes before its negation
        silent = {
            variable for variable, gate in enumerate(self.net.gates) if gate
        } - self.written | self.normal
        return sum(x for v, x in enumerate(sums.tolist()) if v not in silent), shares.reshape(-1)


class ChoiceConstraints(WeightedConstraints):
    """``normal``: variables whose two weights add up to 1; ``evidence``: literals that were required.

    ``whole``: single worlds are looked at, so that choices weigh by ``weigh_made`` only where they are made;
    sums over worlds need not care, and are cheaper without. ``scaled``: probabilities will be made smaller,
    so that every choice may come to nothing. ``unweighed``: which probabilities lie between 0 and 1 only
    weights that come later tell. ``has_laws``: more than choices weighs worlds.
    """

    def __init__(self, whole: bool = False, scaled: bool = False, unweighed: bool = False) -> None:
        super().__init__()
        self.whole, self.scaled, self.unweighed = whole, scaled, unweighed or scaled
        self.normal: set[int] = set()
        self.evidence: list[Stipulation] = []
        self.has_laws = False
        self._unmade = set[int]()

    def add(self, graph: FactorGraph, literals_of: LiteralsOf, budget: Budget = UNLIMITED) -> None:
        self.has_laws = True
        super().add(graph, literals_of, budget)

    @property
    def conditions(self) -> list[Restriction]:
        """What a draw of all choices has to meet, but for what settles a choice where nothing is chosen."""
        restrictions = enumerate(self.net.restrictions)
        return [one for place, one in restrictions if one.owner == NO_OWNER and place not in self._unmade]

    def choice(self, chances: Sequence[float]) -> Drawn:
        """Its outcomes, of which at most one holds: the first or a later one, and so on."""
        outcomes: list[int] = []
        variables: list[int] = []
        later = TRUE
        left = probability_left(chances)
        for chance, behind in zip(chances, left[1:], strict=True):
            if chance <= 0.0:
                outcomes.append(FALSE)
                variables.append(-1)
                continue
            taken = TRUE if not behind and not self.scaled else self._drawn_once(chance, behind)
            variables.append(-1 if taken == TRUE else taken >> 1)
            outcomes.append(self.net.every([later, taken]))
            later = self.net.every([later, negated(taken)])
        return Drawn(tuple(chances), tuple(variables), tuple(outcomes))

    def _drawn_once(self, chance: float, behind: float) -> int:
        """A two-way choice, of an outcome and what is left ``behind`` it."""
        variable = self.net.variable()
        yes, no = 2 * variable, 2 * variable + 1
        if not (self.unweighed or self.whole):  # else the weights come later
            self._weigh_shares(yes, no, chance, behind)
        if not self.whole:
            self.normal.add(variable)
        return yes

    def weigh_made(self, drawn: Drawn, later: int) -> None:
        """Weigh a choice where its body holds, ``later``, and each outcome where none before it was taken.

        Elsewhere nothing is chosen: one value stands for both, and has no weight, so that a world's weight is
        the product of what was chosen in it.
        """
        for variable, chance, behind in drawn.decisions:
            yes = 2 * variable
            before = len(self.net.restrictions)
            self.net.require([later, yes])
            self._unmade.update(range(before, len(self.net.restrictions)))
            taken = self.net.every([later, yes])
            later = self.net.every([later, negated(yes)])
            self._weigh_shares(taken, later, chance, behind)

    def _weigh_shares(self, taken: int, later: int, chance: float, behind: float) -> None:
        """Weigh an outcome and what comes behind it by their shares of both."""
        if chance <= behind:
            share = chance / (chance + behind)
            self.weigh(taken, math.log(share))
            self.weigh(later, math.log1p(-share))
        else:
            share = behind / (chance + behind)
            self.weigh(taken, math.log1p(-share))
            self.weigh(later, math.log(share))

    def weigh(self, literal: int, log_weight: float) -> None:
        """A choice that a formula weighs as well has weights that no longer add up to 1."""
        super().weigh(literal, log_weight)
        self.normal.discard(literal >> 1)

    def stipulate(self, literal: int, text: str, holds: bool = True) -> None:
        """Keep only worlds in which the literal holds. ``holds``: whether ``text`` says that an atom does."""
        self.evidence.append(Stipulation(literal, text, holds))
        self.net.require([literal])

    @collector_paused()
    def task(self, literals: Collection[int]) -> Task:
        """What a circuit that tells of these literals is compiled from."""
        written = self._written(literals)
        net = factored(used(self.net, written), written)
        reduction = reduced(net, self.log_weights(), self.normal, written)
        return Task(reduction.net, reduction.log_weights, written, reduction.normal - written)

    def _written(self, literals: Collection[int]) -> set[int]:
        written = {literal >> 1 for literal in literals if literal >= 0}
        return written | ({literal >> 1 for literal in self.weights} - self.normal)

    def circuit(
        self, literals: Collection[int], budget: Budget, sums: bool = True, maximized: bool = False
    ) -> tuple[Circuit, np.ndarray]:
        """The circuit that tells of these literals, and the log-weights of its variables.

        Without ``sums`` it tells of every choice too. ``maximized``: the best values of these literals are
        wanted, and the rest is summed out.
        """
        wanted = {literal >> 1 for literal in literals if literal >= 0} if maximized else ()
        if not sums:
            written = self._written(literals)
            return compiled(used(self.net, written), budget, written, (), wanted), self.log_weights()
        task = self.task(literals)
        return compiled(task.net, budget, task.written, task.normal, wanted), task.log_weights

    def smallest_evidence(self, budget: Budget) -> list[Stipulation]:
        """Evidence that holds together in no world, while it may without any one of them; empty where no
        world is left without any evidence."""
        stated = self.evidence
        if not _possible(self.net, budget, {s.literal for s in stated}):
            return []
        needed = list(stated)
        if len(stated) <= FEW_STATEMENTS:
            for one in stated:
                rest = [other for other in needed if other is not one]
                dropped = {s.literal for s in stated} - {s.literal for s in rest}
                if not _possible(self.net, budget, dropped):
                    needed = rest
        return needed


def share_of(shares: np.ndarray, literal: int) -> float:
    """The probability of a literal by the shares of all, of which a variable's two may miss 1 by rounding."""
    if literal in (TRUE, FALSE):
        return float(literal == TRUE)
    holds, fails = float(shares[literal]), float(shares[negated(literal)])
    return holds / (holds + fails) if holds else 0.0


def impossible_evidence(needed: Sequence[Stipulation], of: str = "") -> ContradictionError:
    """Names the evidence that holds in no world. ``of``: whose it is, where there is other evidence too."""
    shown = " and ".join(s.text for s in needed)
    hint = "give other evidence"
    if len(needed) == 1 and not needed[0].holds:
        hint = "every world makes this atom true: leave this evidence out, or change what derives it"
    elif len(needed) == 1:
        hint = (
            "a fact of what rules derive is evidence, so some proof must be possible; what needs none is a "
            "fact of a predicate of its own, from which a rule derives"
        )
    return ContradictionError(f"the evidence{of} has probability 0: {shown}", hint=hint)


def _possible(net: Constraints, budget: Budget, dropped: set[int]) -> bool:
    """Whether some world is left when these literals need not hold."""
    required = {(literal,) if literal != FALSE else () for literal in dropped}
    return is_possible(net.keeping(one for one in net.restrictions if one.literals not in required), budget)
