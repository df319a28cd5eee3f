"""Why the sampler gives an atom its probability: the averages over worlds drawn, and who said what."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Status
from herbrand.engines.engine import first_state
from herbrand.engines.gibbs import explanation
from herbrand.engines.gibbs.engine import Gibbs
from herbrand.engines.gibbs.explanation import ROUNDING, _finite, _slope
from herbrand.program.question import Question, read_explained
from tests.oracles.worlds import Universe

AGREED = "every world that was drawn agrees on it"


def explained(text: str, atom: str, **options: int) -> Explanation:
    why = hb.Model(hb.parse(text)).explain(atom, engine="gibbs", **{"samples": 200, **options})
    assert isinstance(why, Explanation)
    return why


def told(why: Explanation) -> dict[str, float]:
    return {reason.statement: reason.contribution for reason in why.reasons}


def test_statements_and_evidence_on_one_atom_are_told_apart() -> None:
    """They are one weight to the sampler."""
    why = explained("p ~ 0.3\n0.5: p\n-0.25: not p\n0.9: q", "p")
    assert told(why) == pytest.approx(
        {"soft evidence on p": math.log(3 / 7), "0.5: p": 0.5, "-0.25: not p": 0.25}
    )
    assert why.note == "contributions are averages over worlds drawn"


def test_what_is_alone_on_an_atom_is_exact() -> None:
    """No other atom is around, so that no draw makes a difference; values are against all others."""
    text = 'predicate a in {"x", "y", "z"}\n0.5: a = "x"\na = "y" ~ 0.6\n-0.4: a in {"x", "z"}'
    why = explained(text, 'a = "z"')
    weights = [0.1, math.log(0.6) - math.log(0.2), -0.4]
    shares = np.exp(weights[:2]) / np.exp(weights[:2]).sum()
    expected = {
        '0.5: a = "x"': -0.5 * shares[0],
        "soft evidence on a": -weights[1] * shares[1],
        '-0.4: a in {"x", "z"}': -0.4 + 0.4 * shares[0],
    }
    assert told(why) == pytest.approx(expected)
    assert why.base == pytest.approx(-math.log(2))
    assert math.fsum([*told(why).values(), why.base, why.remainder]) == pytest.approx(why.value)


def test_soft_evidence_is_told_of_the_atom_that_it_is_on() -> None:
    """Hard statements tie the atoms, so each moves the other."""
    why = explained("hard: p <=> q\nq ~ 0.8\n0.3: p", "p")
    assert told(why) == pytest.approx({"soft evidence on q": math.log(4), "0.3: p": 0.3})
    other = explained("hard: p <=> not q\nq ~ 0.8\n0.3: p", "p")
    assert told(other) == pytest.approx({"soft evidence on q": -math.log(4), "0.3: p": 0.3})


def test_evidence_that_is_not_there_is_not_told() -> None:
    """Sums of weights leave a last digit behind when they are taken apart again."""
    why = explained("0.1: p\n0.2: p or p\n0.7: not p\n0.3: p and p", "p")
    assert not any(statement.startswith("soft") for statement in told(why))
    assert all(abs(share) > ROUNDING for share in told(why).values())


def test_hard_statements_are_no_reason_where_they_leave_a_choice() -> None:
    why = explained("hard: p or q\n1: p\n0.5: q", "p")
    assert told(why).keys() <= {"hard: p or q", "1.0: p", "0.5: q"}
    assert all(map(math.isfinite, told(why).values()))


@pytest.mark.parametrize(
    ("text", "atom", "value"),
    [
        ("hard: p <=> q\nhard: q\n1: r", "p", math.inf),
        ("hard: not p\n1: r", "p", -math.inf),
        ('predicate a in {"x", "y", "z"}\nnot a = "x"\nnot a = "z"\n0.1: a = "y"', 'a = "y"', math.inf),
        ('predicate a in {"x", "y", "z"}\nnot a = "x"\n0.1: a = "y"', 'a = "x"', -math.inf),
    ],
)
def test_where_all_draws_agree_that_is_the_reason(text: str, atom: str, value: float) -> None:
    why = explained(text, atom)
    assert (why.value, told(why)) == (value, {AGREED: value})


def test_a_quantifier_is_named_by_its_statement() -> None:
    text = 'type t = {"a", "b", "c"}\npredicate p(t)\npredicate q(t)\n'
    stated = ["0.7: exists x: p(x) and q(x)", "-0.9: forall x: exists y: p(x) or p(y) and q(y)"]
    why = explained("\n".join([text, *stated]), 'p("a")')
    assert set(told(why)) == set(stated)
    assert told(why)[stated[0]] > 0 > told(why)[stated[1]]


def test_a_wide_conjunction_is_named() -> None:
    """It is a helper with a weight of its own."""
    atoms = [f"p{i}" for i in range(12)]
    text = "\n".join(f"2: {atom}" for atom in atoms) + "\n1.5: " + " and ".join(atoms)
    why = explained(text, "p3")
    wide = [worth for statement, worth in told(why).items() if statement.startswith("1.5: ")]
    assert len(wide) == 1 and 0 < wide[0] < 1.5


def test_averages_are_those_over_worlds() -> None:
    """A chain in three atoms: each factor's share of the conditional log-odds, world by world."""
    text = "0.8: p <=> q\n-0.6: q <=> r\n0.5: p\n0.3: r"
    why = explained(text, "q", samples=20_000)
    universe = Universe({}, dict.fromkeys("pqr", ((), None)))
    theory = hb.parse(text)
    weights, shares = [], []
    for p, r in itertools.product([False, True], repeat=2):
        both = [{("p", ()): p, ("q", ()): q, ("r", ()): r} for q in (True, False)]
        weights.append(sum(math.exp(universe.log_weight(world, theory.formulas)) for world in both))
        shares.append((0.8 if p else -0.8, -0.6 if r else 0.6))
    expected = np.average(np.array(shares), axis=0, weights=weights)
    assert told(why)["0.8: p <=> q"] == pytest.approx(expected[0], abs=0.1)
    assert told(why)["-0.6: q <=> r"] == pytest.approx(expected[1], abs=0.1)
    assert set(told(why)) == {"0.8: p <=> q", "-0.6: q <=> r"}


def test_the_slope_of_the_log_odds() -> None:
    """By small steps of each state's weight."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.normal(size=5)
        weights[rng.random(5) < 0.2] = -math.inf
        holds = np.array([True, True, False, True, False])
        if not (np.isfinite(weights[holds]).any() and np.isfinite(weights[~holds]).any()):
            continue

        def log_odds(w: np.ndarray, holds: np.ndarray = holds) -> float:
            return float(np.logaddexp.reduce(w[holds]) - np.logaddexp.reduce(w[~holds]))

        for state, slope in enumerate(_slope(weights, holds)):
            step = np.where(np.arange(5) == state, 1e-6, 0.0)
            found = (log_odds(weights + step) - log_odds(weights - step)) / 2e-6
            assert slope == pytest.approx(found, abs=1e-8)
    assert _finite(np.array([0.5, -math.inf])).tolist() == [0.5, 0.0]


def test_explaining_leaves_the_chains_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the same state explains the same again, and the run could go on."""
    monkeypatch.setattr(explanation, "WORLDS", 5)
    program = hb.Model(hb.parse("0.4: p <=> q\n0.2: p\n0.7: q or r")).program
    engine = Gibbs(samples=40)
    state = first_state(engine, program, Question())
    for _ in range(14):
        state = engine.step(state)
    before = state.values.copy(), state.holding.copy()
    asked = replace(state, question=read_explained("q", program.signature, program.facts))
    first, again = (engine.explain(asked, Status(False, 14)) for _ in range(2))
    assert first.to_dict() == again.to_dict()
    assert (before[0] == state.values).all() and (before[1] == state.holding).all()


@pytest.mark.parametrize("weight", [12.0, 40.0, 700.0])
def test_an_atom_that_was_never_drawn_has_finite_log_odds(weight: float) -> None:
    """Its draws all agree, but nothing excludes it."""
    why = hb.Model(hb.parse(f"predicate a\npredicate b\n-{weight}: a\n0.5: b")).explain(
        "a", engine="gibbs", seed=1
    )
    assert why.value == pytest.approx(-weight)
    assert why.value == pytest.approx(why.base + why.remainder + sum(r.contribution for r in why.reasons))
