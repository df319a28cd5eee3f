"""Explanation of an atom's probability from one region: its statements, and the messages from other regions.

Let the tables of a cluster that counts the atom, and the messages that enter it, be scaled by s. At s = 0
only the priors of single elements count; at s = 1 the log-odds are the answer's, up to disagreement among
regions. The rate at which they change is a sum over tables and messages, so its integral from 0 to 1 shares
the log-odds out, as in exact inference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.attribution import scales
from herbrand.engines.lifted.atom_probabilities import AtomProbabilities
from herbrand.engines.lifted.attribution import stated
from herbrand.engines.lifted.count_axes import Clamp
from herbrand.engines.lifted.problem import Solution
from herbrand.engines.lifted.terms import PROPOSITIONS, Own
from herbrand.engines.reading import ExplainedAtom, forced
from herbrand.engines.regions.counts import ascending, settled_left_out
from herbrand.engines.regions.expected import Beliefs, Believed
from herbrand.engines.regions.graph import Scope
from herbrand.engines.regions.tables import along

POINTS = 64
ROUNDING = 1e-12
NOTE = "the base holds the facts and statements about the constant alone"
WHOLE = "statements about pairs are summed within regions and have no shares: ask lifted, exact or bp"
WIDE = "statements about counts this large are summed by interpolation and have no shares: ask lifted or bp"
HARD = "hard statements"


def explained(
    queried: ExplainedAtom, solution: Solution, believed: Sequence[Beliefs], guarantee: Guarantee, engine: str
) -> Explanation:
    """Explain the log-odds of a latent atom's value, with reasons if the counts of one element decide it."""
    chances = solution.of(queried.predicate, queried.codes)[0]
    value = _log_odds(float(chances[queried.value]), float(np.delete(chances, queried.value).sum()))
    if not math.isfinite(value):
        return queried.explained(value, engine, guarantee, (forced(value),))
    around = _around(queried, solution, believed)
    if around is None or around.is_wide:
        note = WHOLE if around is None else WIDE
        return queried.explained(value, engine, guarantee, (), value, note)
    base, reasons = around.shared_out()
    return queried.explained(value, engine, guarantee, reasons, base, NOTE)


def _around(queried: ExplainedAtom, solution: Solution, believed: Sequence[Beliefs]) -> _Around | None:
    """The cluster that counts the atom; None for an atom of two elements, or if propositions that pairs
    depend on were conditioned on."""
    if any(beliefs.propagation.counts.layout is None for beliefs in believed):
        return None
    arity = queried.evidence.program.signature.predicates[queried.predicate].arity
    shares = solution.weighted[0][1]
    if arity > 1 or len(solution.weighted) > 1 or not isinstance(shares, AtomProbabilities):
        return None
    return _Around(queried, shares, believed[0])


@dataclass(frozen=True, eq=False)
class _Around:
    """An atom of one element, and the first cluster that contains the counts of its axis."""

    queried: ExplainedAtom
    shares: AtomProbabilities
    beliefs: Beliefs

    @property
    def is_wide(self) -> bool:
        """Whether the cluster has no table to share out."""
        return self._region in self.beliefs.propagation.wide

    def shared_out(self) -> tuple[float, tuple[Reason, ...]]:
        """Base, and a reason for each statement and one for all messages."""
        holds = along(self._holding, (self._variable,), self._scope)
        tables, forbidden = self._tables()
        start = sum((self._prior(v) for v in self._scope), start=forbidden)
        totals = dict.fromkeys(tables, 0.0)
        for scale, share in scales(POINTS):
            belief = start + scale * sum(tables.values())
            apart = _shares(belief, holds) - _shares(belief, 1 - holds)
            for text, table in tables.items():
                totals[text] += share * float((apart * table).sum())
        yes = float((_shares(start, np.ones_like(start)) * holds).sum())
        reasons = (Reason(text, {}, total) for text, total in totals.items() if abs(total) > ROUNDING)
        return _log_odds(yes, 1 - yes), tuple(reasons)

    @cached_property
    def _place(self) -> tuple[int, int, Own]:
        """Family, bunch and own atom of the explained atom."""
        summation = self.shares.summation
        types = self.queried.evidence.program.signature.predicates[self.queried.predicate].types
        own = Own(self.queried.predicate)
        family = summation.model.family_with(types[0] if types else PROPOSITIONS, own)
        return family, int(self.shares.group_of_element[family][int(self.queried.codes[0])]), own

    @cached_property
    def _variable(self) -> int:
        """Axis that counts the element."""
        pool = self.shares.summation.element_groups.all[self._place[1]].pool
        return self.beliefs.propagation.counts.counted.axis_of(pool)

    @cached_property
    def _region(self) -> int:
        graph = self.beliefs.propagation.graph
        return next(i for i, region in enumerate(graph.regions) if self._variable in region.scope)

    @property
    def _scope(self) -> Scope:
        return self.beliefs.propagation.graph.regions[self._region].scope

    def _prior(self, variable: int) -> np.ndarray:
        return along(self.beliefs.propagation.counts.variables[variable].all_ways, (variable,), self._scope)

    @cached_property
    def _holding(self) -> np.ndarray:
        """Probability that the atom has the value, for each row of the axis's counts."""
        family, number, own = self._place
        tabulated = self.shares.summation.tabulated
        element_group = self.shares.summation.element_groups.all[number]
        cells = tabulated.cells[element_group.pool]
        weights = tabulated.own_weights(element_group.pool, element_group.klass).detach().numpy()
        valued = tabulated.model.families[family].values(own) == self.queried.value
        total = np.zeros(len(self.beliefs.propagation.counts.variables[self._variable]))
        assert isinstance(self.shares.summation, Believed)
        for profile in range(cells.profiles):
            inside = np.where(cells.profile == profile, weights, -np.inf)
            if np.isneginf(inside).all():
                continue
            share = np.exp(inside - inside.max())
            has = float(share[valued].sum() / share.sum())
            total += has * np.exp(self.shares.summation.likely(Clamp(number, profile)))
        return np.clip(total, 0.0, 1.0)

    def _tables(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Finite part of the table of each statement, and of all messages together; and
        the forbidden entries."""
        tables: dict[str, np.ndarray] = {}
        propagation = self.beliefs.propagation
        forbidden = np.zeros(propagation.counts.shape(propagation.graph.regions[self._region]))
        for text, table in (*self._stated(), *self._incoming()):
            forbidden = forbidden + np.where(np.isneginf(table), -np.inf, 0.0)
            finite = np.where(np.isneginf(table), 0.0, table)
            tables[text] = tables[text] + finite if text in tables else finite
        return tables, forbidden

    def _stated(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the tables of the cluster's own statements."""
        propagation = self.beliefs.propagation
        layout = propagation.counts.counted
        here = {part.scope for part, _ in propagation.owned(self._region)}
        counted = ((names, layout.factors.of_counts(term)) for names, term in layout.terms)
        for text, (names, tensor) in zip(self._texts(), (*layout.pair_tables, *counted), strict=True):
            table = ascending(names, tensor.detach().numpy())
            scope, table = settled_left_out(*table, propagation.counts.variables)
            if scope in here:
                yield text, along(table, scope, self._scope)

    def _texts(self) -> Iterator[str]:
        """Yield the statement of each factor; the pairs of two pools may have several."""
        model, texts = self.shares.summation.model, stated(self.queried.evidence.program)
        for one, other in self.beliefs.propagation.counts.counted.pairs:
            families = {model.pools[one].family, model.pools[other].family}
            groups = [group for group in model.groups if set(group.families) == families]
            weights = sorted({t.weight for group in groups for t in group.terms if t.weight is not None})
            yield "; ".join(dict.fromkeys(texts[weight] for weight in weights)) or HARD
        for _, term in self.beliefs.propagation.counts.counted.terms:
            yield HARD if term.weight is None else texts[term.weight]

    def _incoming(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the messages that enter the cluster, as one table."""
        propagation = self.beliefs.propagation
        if propagation.graph.entering[self._region]:
            yield "messages from other regions", propagation.incoming(self._region, self.beliefs.messages)


def _shares(belief: np.ndarray, holds: np.ndarray) -> np.ndarray:
    """Probabilities of counts given an event that has the probabilities ``holds``."""
    weights = np.exp(belief - belief.max()) * holds
    total = weights.sum()
    return weights / total if total > 0 else weights


def _log_odds(yes: float, no: float) -> float:
    if min(yes, no) <= 0:
        return math.inf if yes > 0 else -math.inf
    return math.log(yes) - math.log(no)
