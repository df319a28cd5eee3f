"""Independent choices and evidence as weighted constraints, compiled to a circuit that sums over worlds.

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
from herbrand.engines.circuit.reduction import Independent, log_less, reduced, used
from herbrand.errors import ContradictionError
from herbrand.factors.graph import FactorGraph
from herbrand.language.collection import collector_paused
from herbrand.quick_values import quickly_made

CERTAIN = 1e-12
"""Where several probabilities leave less than this to 1, the rest is rounding and counts as 0."""
FEW_STATEMENTS = 64
"""Most pieces of evidence among which a smallest contradictory set is searched for."""


def probability_left(chances: Sequence[float]) -> list[float]:
    """Probability that each outcome, a later one or none holds; the last entry is that of none.

    Summed from the end, since 1 less the earlier outcomes would round rare ones off.

    >>> probability_left([0.5, 0.25]), probability_left([1 - 1e-13, 1e-13])[1:]
    ([1.0, 0.5, 0.25], [1e-13, 0.0])
    >>> probability_left([1 - 2**-53, 0.0])[-1] == 2**-53
    True
    """
    none = 1 - math.fsum(chances)
    if none <= CERTAIN and (none < 0 or sum(chance > 0 for chance in chances) != 1):
        none = 0.0
    left = [none]
    for chance in reversed(chances):
        left.append(left[-1] + chance)
    return left[::-1]


@quickly_made
@dataclass(frozen=True, slots=True)
class Stipulation:
    """A piece of evidence: the literal that must hold, its text, and whether the text states that an atom is
    true."""

    literal: int
    text: str
    holds: bool = True


@quickly_made
@dataclass(frozen=True, slots=True)
class Drawn:
    """One choice: the probability and the literal of each outcome, and the variable that decides on it, -1
    where none is needed."""

    chances: tuple[float, ...]
    variables: tuple[int, ...]
    outcomes: tuple[int, ...]

    @property
    def decisions(self) -> Iterator[tuple[int, float, float]]:
        """Each deciding variable, the probability of its outcome, and that of all later outcomes or none."""
        behind = probability_left(self.chances)[1:]
        every = zip(self.variables, self.chances, behind, strict=True)
        return (decision for decision in every if decision[0] >= 0)


@dataclass(frozen=True, eq=False)
class Task:
    """Constraints and log-weights to be summed. ``written``: variables whose literals the circuit has;
    ``normal``: variables whose two weights add up to 1."""

    net: Constraints
    log_weights: np.ndarray
    written: set[int]
    normal: set[int]

    @property
    def weighted(self) -> list[int]:
        """Gates that have weights."""
        return np.flatnonzero(self.log_weights.any(axis=1) & np.array(self.net.gates, bool)).tolist()

    def by_products(self) -> tuple[float, np.ndarray] | None:
        """The log-sum over all assignments and the share of each literal, where the inputs of each gate are
        independent; ``None`` elsewhere.

        As in a circuit, gates that are not written and normal variables add nothing to the sum.
        """
        found = Independent.of(self.net)
        if found is None or not found.inputs.keys().isdisjoint(self.weighted):
            return None
        inputs, fixed = found.inputs, sorted(found.fixed)
        sums = np.logaddexp(self.log_weights[:, 0], self.log_weights[:, 1])
        with np.errstate(invalid="ignore"):  # by differences, since a large sum would round a rare share off
            apart = self.log_weights - self.log_weights[:, ::-1]
        logs = -np.logaddexp(0.0, apart).reshape(-1)  # a literal comes before its negation
        known = self.log_weights[:, ::-1].reshape(-1)[fixed]
        logs[fixed], logs[[negated(literal) for literal in fixed]] = 0.0, -math.inf
        for gate, literals in inputs.items():  # a gate comes after its inputs
            holds = float(logs[literals].sum())
            logs[2 * gate], logs[2 * gate + 1] = holds, log_less(holds)
        unwritten = {variable for variable, gate in enumerate(self.net.gates) if gate} - self.written
        silent = unwritten | self.normal | inputs.keys() | {literal >> 1 for literal in fixed}
        return sum([x for v, x in enumerate(sums.tolist()) if v not in silent], known.sum()), np.exp(logs)


class ChoiceConstraints(WeightedConstraints):
    """Constraints with choices and evidence. ``normal``: variables whose two weights add up to 1;
    ``evidence``: the literals that were required.

    ``whole``: single worlds are wanted, so choices are weighed by ``weigh_made`` only where they are made;
    sums over worlds do not depend on that, and are cheaper without. ``scaled``: probabilities will be made
    smaller, so every choice may have no outcome. ``unweighed``: weights come later, and until then it is
    unknown which probabilities lie strictly between 0 and 1. ``has_laws``: whether factors weigh worlds
    beside choices.
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
        """The restrictions that a draw of all choices has to meet, without those that fix choices not
        made."""
        restrictions = enumerate(self.net.restrictions)
        return [one for place, one in restrictions if one.owner == NO_OWNER and place not in self._unmade]

    def choice(self, chances: Sequence[float]) -> Drawn:
        """Add a choice with these probabilities; at most one outcome holds, decided one after the other."""
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
            outcomes.append(self.net.both(later, taken))
            later = self.net.both(later, negated(taken))
        return Drawn(tuple(chances), tuple(variables), tuple(outcomes))

    def _drawn_once(self, chance: float, behind: float) -> int:
        """The literal of a new variable that decides between an outcome and all ``behind`` it."""
        variable = self.net.variable()
        yes, no = 2 * variable, 2 * variable + 1
        if not (self.unweighed or self.whole):  # else the weights come later
            self.weights[yes], self.weights[no] = _log_shares(chance, behind)
        if not self.whole:
            self.normal.add(variable)
        return yes

    def weigh_made(self, drawn: Drawn, later: int) -> None:
        """Weigh a choice where its body holds (``later``), and each outcome where none before it was taken.

        Where the body fails nothing is chosen: the variable is fixed to one value, which has no weight, so
        that a world's weight is the product of the probabilities chosen in it.
        """
        for variable, chance, behind in drawn.decisions:
            yes = 2 * variable
            before = len(self.net.restrictions)
            self.net.require([later, yes])
            self._unmade.update(range(before, len(self.net.restrictions)))
            taken = self.net.both(later, yes)
            later = self.net.both(later, negated(yes))
            for literal, log_weight in zip((taken, later), _log_shares(chance, behind), strict=True):
                self.weigh(literal, log_weight)

    def weigh(self, literal: int, log_weight: float) -> None:
        """Weigh a literal; a choice that a formula weighs too has weights that no longer add up to 1."""
        super().weigh(literal, log_weight)
        self.normal.discard(literal >> 1)

    def stipulate(self, literal: int, text: str, holds: bool = True) -> None:
        """Require the literal as evidence. ``holds``: whether ``text`` states that an atom is true."""
        self.evidence.append(Stipulation(literal, text, holds))
        self.net.require([literal])

    @collector_paused()
    def task(self, literals: Collection[int]) -> Task:
        """The constraints and weights from which a circuit with these literals is compiled."""
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
        """The circuit with these literals, and the log-weights of its variables.

        Without ``sums`` it has the literals of every choice too. ``maximized``: the best values of these
        literals are wanted, and the rest is summed out.
        """
        variables = {literal >> 1 for literal in literals if literal >= 0} if maximized else ()
        if not sums:
            return self.telling(literals, budget, variables), self.log_weights()
        task = self.task(literals)
        return compiled(task.net, budget, task.written, task.normal, variables), task.log_weights

    def telling(
        self,
        literals: Collection[int],
        budget: Budget,
        maximized: Collection[int] = (),
        most_work: float = math.inf,
    ) -> Circuit:
        """The circuit with these literals and those of every choice, for :meth:`log_weights`."""
        written = self._written(literals)
        return compiled(used(self.net, written), budget, written, maximized=maximized, most_work=most_work)

    def smallest_evidence(self, budget: Budget) -> list[Stipulation]:
        """A minimal set of evidence that holds in no world; not minimised beyond ``FEW_STATEMENTS`` pieces,
        and empty where no world is left even without evidence."""
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


def _log_shares(chance: float, behind: float) -> tuple[float, float]:
    """The logarithms of the shares that an outcome and all behind it have of the sum of both."""
    # The smaller share is computed and log1p gives the other: 1 less a rare share would round it off.
    smaller = min(chance, behind) / (chance + behind)
    less, more = math.log(smaller), math.log1p(-smaller)
    return (less, more) if chance <= behind else (more, less)


def share_of(shares: np.ndarray, literal: int) -> float:
    """The probability of a literal from the shares of all, normalised, as a variable's two may miss 1 by
    rounding."""
    if literal in (TRUE, FALSE):
        return float(literal == TRUE)
    holds, fails = float(shares[literal]), float(shares[negated(literal)])
    return holds / (holds + fails) if holds else 0.0


def impossible_evidence(needed: Sequence[Stipulation], of: str = "") -> ContradictionError:
    """The error that names evidence holding in no world. ``of``: whose evidence it is, if there is other
    too."""
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
