"""Clusters over large counts, whose tables are never made, against the same clusters with their tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.engine import first_state
from herbrand.engines.fallback import HandOverError
from herbrand.engines.lifted import cumulants
from herbrand.engines.regions.counts import count_graph
from herbrand.engines.regions.engine import Regions
from herbrand.engines.regions.expected import Beliefs
from herbrand.engines.regions.graph import region_graph
from herbrand.engines.regions.messages import Propagation
from herbrand.engines.regions.parts import RegionPart
from herbrand.errors import ContradictionError
from herbrand.program.question import Question
from tests.engines.estimates import cost_of
from tests.engines.regions.monadic import theories
from tests.laws import tries
from tests.oracles.worlds import Universe

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(6, 3),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def with_tables(part: RegionPart) -> Propagation:
    """The same regions, each with its table."""
    wide = part.propagation
    graph = count_graph(part.summation)
    assert not graph.wide
    inner = {child for _, child in wide.graph.edges}
    clusters = [region for i, region in enumerate(wide.graph.regions) if i not in inner]
    regions, elements = wide.graph.regions, wide.graph.elements
    singles = [regions[i].scope[0] for i in inner if any(n < elements[v] for v, n in regions[i].taken)]
    return Propagation(graph, region_graph(clusters, graph.elements, graph.parts, singles, deep=False))


@generated
@given(theories(facts=True, predicates=3, constants=4, bent=True), st.booleans(), st.booleans())
def test_every_round_is_that_of_clusters_with_tables(
    model: tuple[str, Universe], joint: bool, at_once: bool
) -> None:
    engine = Regions(cost=25.0, merge=False, joint=joint, starts=1)
    try:
        state = first_state(engine, hb.Model(hb.parse(model[0])).program, Question())
    except ContradictionError:
        return
    except HandOverError:
        reject()
    (part,) = state.parts
    assume(part.propagation.wide)
    wide, tables = part.propagation, with_tables(part)
    assert [str(r) for r in wide.graph.regions] == [str(r) for r in tables.graph.regions]
    messages = wide.no_messages
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cumulants, "FEW", 0)
        for _ in range(3):
            ours = (wide.round if at_once else wide.sweep)(messages, 0.4)
            theirs = (tables.round if at_once else tables.sweep)(messages, 0.4)
            assert ours[1] == pytest.approx(theirs[1], abs=1e-12)
            for one, other in zip(ours[0], theirs[0], strict=True):
                np.testing.assert_allclose(np.exp(one), np.exp(other), atol=1e-11)
            messages = ours[0]
        assert wide.free_energy(messages) == pytest.approx(tables.free_energy(messages), abs=1e-9)
        for variable in range(len(wide.counts.variables)):
            one, other = (Beliefs(p, messages).of((variable,)) for p in (wide, tables))
            assert one is not None and other is not None
            np.testing.assert_allclose(np.exp(one), np.exp(other), atol=1e-11)


def chain(size: int) -> hb.Model:
    """Two clauses over three kinds each, which share one kind: a tree of counts."""
    constants = ", ".join(f'"{i}"' for i in range(size))
    kinds = "".join(f"type {t} = {{{constants}}}\npredicate p{t}({t})\n0.3: p{t}(x)\n" for t in "abcde")
    weight = 25 / size**2
    clauses = f"{weight}: pa(x) or pb(y) or pc(z)\n-{weight}: (pc(x) => pd(y)) and pe(z)\n"
    return hb.Model(hb.parse(kinds + clauses + 'pa("1")\npc("0") ~ 0.9\n'))


def test_a_tree_of_large_counts_is_exact() -> None:
    model = chain(80)
    answer, exact = model.infer(engine="regions"), model.infer(engine="lifted")
    assert answer.guarantee is Guarantee.EXACT and answer.status.converged
    assert answer.log_partition == pytest.approx(exact.log_partition, rel=1e-12)
    for ours, theirs in zip(answer.rows(), exact.rows(), strict=True):
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-9), ours.atom


def test_the_cost_bounds_what_is_made() -> None:
    assert "the largest of 6,561 entries" in cost_of(Regions(), chain(80).program).detail


def test_what_is_not_shared_out_is_said() -> None:
    why = chain(60).explain('pa("3")', engine="regions")
    assert isinstance(why, Explanation)
    assert why.value == why.base and "interpolation" in (why.note or "")


def test_a_formula_that_is_no_line_needs_its_table() -> None:
    """Of two things of one kind at once: quadratic in the count."""
    constants = ", ".join(f'"{i}"' for i in range(60))
    text = "".join(f"type {t} = {{{constants}}}\npredicate p{t}({t})\n" for t in "ab")
    model = hb.Model(hb.parse(text + "0.001: pa(x) or pa(y) or pb(z)\n"))
    with pytest.raises(HandOverError, match="would have 3,721 entries"):
        first_state(Regions(cost=100.0), model.program, Question())
    (part,) = first_state(Regions(cost=100.0, partial=True), model.program, Question()).parts
    assert part.propagation.counts.layout is None
    answer, exact = model.infer(engine="regions"), model.infer(engine="lifted")
    assert answer.guarantee is Guarantee.EXACT
    assert answer.log_partition == pytest.approx(exact.log_partition, rel=1e-12)
