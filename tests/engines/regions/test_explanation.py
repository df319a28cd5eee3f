"""Explanations by regions: one region beside the integral over all worlds, and what is said where none is."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.regions.explanation import HARD, NOTE, WHOLE
from herbrand.language.scope import free_variables
from herbrand.language.show import show_atom
from tests.engines.regions.monadic import theories
from tests.engines.regions.test_engine import friends, loop
from tests.laws import tries
from tests.oracles.attribution import attributions
from tests.oracles.worlds import Universe, exact_answers

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def explained(model: hb.Model, atom: str, **options: object) -> Explanation:
    why = model.explain(atom, engine="regions", **options)
    assert isinstance(why, Explanation)
    return why


def log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def of_different_kinds(text: str) -> str:
    """Without statements that speak of one kind twice, and each of the others once."""
    kinds = {line: re.findall(r"r\d", line) for line in text.splitlines()}
    kept = [line for line, named in kinds.items() if ":" not in line or len(set(named)) == len(named)]
    return "\n".join(kept) + "\n"


@generated
@given(theories(facts=True, predicates=3), st.data())
def test_one_region_is_the_integral_over_all_worlds(model: tuple[str, Universe], data: st.DataObject) -> None:
    """What is said of one element counts whole at every scale; each other statement has its own part."""
    text, universe = of_different_kinds(model[0]), model[1]
    theory = hb.parse(text)
    latent = [atom for atom in universe.atoms() if atom not in universe.known]
    assume(latent)
    atom = data.draw(st.sampled_from(latent))
    why = explained(hb.Model(theory), show_atom(*atom))
    assume(why.guarantee is Guarantee.EXACT)
    alone = [one for one in theory.formulas if len(free_variables(one.formula)) == 1]
    base, value, expected = attributions(universe, theory.formulas, atom, True, alone)
    assert why.value == pytest.approx(value, abs=1e-8)
    assert why.base == pytest.approx(base, abs=1e-6)
    assert abs(why.remainder) < 1e-6
    found = {reason.statement: reason.contribution for reason in why.reasons}
    assert set(found) <= set(expected)
    for statement, share in expected.items():
        assert found.get(statement, 0.0) == pytest.approx(share, abs=1e-6), statement


@pytest.mark.parametrize("cost", [None, 16.0])
@pytest.mark.parametrize(
    "more", ["", 's("b1")\n', 't("c0") ~ 0.9\nnot r("a0")\n', "hard: r(x) or not s(y)\n"]
)
def test_reasons_sum_to_the_answers_log_odds(cost: float | None, more: str) -> None:
    model = loop(3, more)
    answer = model.infer(engine="regions", cost=cost)
    for atom in ('r("a1")', 's("b2")', 't("c0")'):
        why = explained(model, atom, cost=cost)
        assert why.value == pytest.approx(log_odds(answer[atom]), abs=1e-8)
        assert why.note == NOTE and why.engine == "regions"
        told = why.base + why.remainder + math.fsum(reason.contribution for reason in why.reasons)
        assert told == pytest.approx(why.value, abs=1e-12)
        assert abs(why.remainder) < 1e-4
        assert all(reason.statement != HARD and not reason.grounding for reason in why.reasons)
        others = {reason.statement for reason in why.reasons} - {"messages from other regions"}
        assert others <= {"0.8: r(x) or s(y)", "-0.9: s(y) or t(z)", "0.5: r(x) or t(z)"}


def test_messages_are_a_reason_only_where_there_are_several_regions() -> None:
    for cost, told in ((None, False), (16.0, True)):
        why = explained(loop(3), 'r("a1")', cost=cost)
        assert ("messages from other regions" in {reason.statement for reason in why.reasons}) == told


def test_values_of_a_many_valued_atom() -> None:
    text = """\
type t = {"a", "b", "c"}
predicate m(t) in {"u", "v", "w"}
predicate s(t)
predicate q(t)
0.9: m(x) = "u" and s(y) where x != y
-0.4: m(x) = "v" and q(y) where x != y
0.3: s(x)
m("b") = "u" ~ 0.6
not m("a") = "w"
q("c")
"""
    model = hb.Model(hb.parse(text))
    answer = model.infer(engine="regions")
    exact = model.infer(engine="exact")
    for atom, value in (("a", "u"), ("a", "v"), ("b", "u"), ("b", "w"), ("c", "v")):
        why = explained(model, f'm("{atom}") = "{value}"')
        chance = next(r.probability for r in answer.rows() if r.atom == f'm("{atom}")' and r.value == value)
        right = next(r.probability for r in exact.rows() if r.atom == f'm("{atom}")' and r.value == value)
        assert chance == pytest.approx(right, abs=1e-9)
        assert why.subject == f'm("{atom}") = "{value}"'
        assert why.value == pytest.approx(log_odds(chance), abs=1e-9)
    assert explained(model, 'm("a") = "w"').value == -math.inf


def test_what_is_forced_has_one_reason() -> None:
    model = loop(2, 'hard: r(x) or s(y)\nnot r("a0")\n')
    why = explained(model, 's("b1")')
    assert why.value == math.inf and not why.base
    (reason,) = why.reasons
    assert (reason.statement, reason.contribution) == ("(facts and hard statements settle it)", math.inf)
    assert explained(model, 'r("a0")').value == 0.0, "a fact"


def test_what_is_said_of_pairs_is_not_shared_out() -> None:
    model = friends(2)
    answer = model.infer(engine="regions")
    for atom in ('f("p0", "p1")', 'f("p1", "p1")'):
        why = explained(model, atom)
        assert why.note == WHOLE and not why.reasons
        assert why.value == why.base == pytest.approx(log_odds(answer[atom]), abs=1e-9)
    some = explained(friends(4), 's("p0")', structure="partial", cost=60.0)
    assert some.note == WHOLE and some.value == some.base


def test_where_bp_does_the_work_it_is_said() -> None:
    model = hb.Model(
        hb.parse('type t = {"a", "b", "c"}\npredicate f(t, t)\n0.7: f(x, y) and f(y, z) => f(x, z)\n')
    )
    why, bp = explained(model, 'f("a", "b")'), model.explain('f("a", "b")', engine="bp")
    assert why.engine == "regions" and (why.note or "").startswith("messages are those of bp, since ")
    assert why.value == bp.value and why.reasons == bp.reasons


def test_a_theory_of_propositions_is_explained() -> None:
    text = "predicate a\npredicate b\npredicate c\n0.7: a => b\n-0.4: b and c\n0.3: a\nc ~ 0.8\n"
    universe = Universe({}, dict.fromkeys("abc", ((), None)), soft=[(("c", ()), True, math.log(4))])
    theory = hb.parse(text)
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    answer = hb.Model(theory).infer(engine="regions")
    assert answer.log_partition == pytest.approx(log_z, abs=1e-9)
    for name in "abc":
        why = explained(hb.Model(theory), name)
        assert why.value == pytest.approx(log_odds(marginals[(name, ()), True]), abs=1e-9)
        told = why.base + why.remainder + math.fsum(reason.contribution for reason in why.reasons)
        assert told == pytest.approx(why.value, abs=1e-12)
