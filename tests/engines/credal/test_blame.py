"""A contradiction that the Markov condition makes says so, and the ways out that it names lead out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language import syntax as s
from tests.oracles.credal import Network

GATE = "P(a) in [0.3, 0.4]\nP(b) in [0.5, 0.6]\nP(g <=> a and b) = 1"
MARKOV = "it is the Markov condition that they contradict"


def complaint(text: str, engine: str) -> str | None:
    try:
        hb.Model(hb.parse(text)).bound(engine=engine)
    except ContradictionError as error:
        return str(error)
    return None


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_gate_is_told_that_independence_contradicts_it(engine: str) -> None:
    pytest.importorskip("pyscipopt")
    message = complaint(GATE, engine)
    assert message is not None and MARKOV in message and "(--independence none)" in message
    assert "it takes g to be independent of a and b: no condition leads there from it" in message
    # without the condition they hold together, as the message says
    found = hb.Model(hb.parse(GATE)).bound(engine=engine, independence="none")
    assert (found["g"].lower, found["g"].upper) == pytest.approx((0.0, 0.4), abs=1e-6)
    # and so do the statements that it gives
    linking = re.search(r"also a sure one: (P\(.*\) = 1.0) \(then", message)
    cases = re.search(r"case by case: (P\(.*\) = 1) and (P\(.*\) = 0)", message)
    assert linking is not None and cases is not None
    above = GATE.rsplit("\n", 1)[0]
    found = hb.Model(hb.parse(f"{above}\n{linking[1]}")).bound(engine=engine)
    assert (found["g"].lower, found["g"].upper) == pytest.approx((0.0, 0.4), abs=1e-6)
    found = hb.Model(hb.parse(f"{above}\n{cases[1]}\n{cases[2]}")).bound(engine=engine)
    assert (found["g"].lower, found["g"].upper) == pytest.approx((0.15, 0.24), abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_other_contradictions_blame_no_independence(engine: str) -> None:
    pytest.importorskip("pyscipopt")
    for text in ("P(a) <= 0.2\nP(a) >= 0.3", "P(a) = 0.3\nP(b | a) = 1\nP(b) <= 0.2"):
        message = complaint(text, engine)
        assert message is not None and MARKOV not in message, text
    # three statements contradict each other by the condition alone, and all of them without it
    message = complaint(f"{GATE}\nP(g) >= 0.5", engine)
    assert message is not None and MARKOV in message
    assert "but others contradict each other all the same" in message and "--independence" not in message
    with pytest.raises(ContradictionError) as caught:
        hb.Model(hb.parse("P(a) = 0.3\nP(a <=> b) = 1\nP(b) = 0.4")).bound(engine=engine, independence="none")
    assert MARKOV not in str(caught.value)


def check_blame(seeds: Iterable[int]) -> tuple[int, int]:
    """The message blames the condition just where the statements that it names agree without it."""
    blamed = contradictions = 0
    for seed in seeds:
        rng = random.Random(seed)
        events = ["a", "b", "c", "a <=> b", "a and c", "b or not c", "a | b", "c | a and b", "b xor c"]
        lines = []
        for number, event in enumerate(rng.sample(events, 4)):
            low = rng.choice([0.0, 0.1, 0.4, 0.9, 1.0])
            lines.append(f"[n{number}] P({event}) in [{low}, {min(1.0, low + rng.choice([0.0, 0.05]))}]")
        message = complaint("\n".join(lines), "exact")
        if message is None:
            continue
        named = [line for number, line in enumerate(lines) if f"[n{number}]" in message]
        stated = [one for one in hb.parse("\n".join(named)).statements if isinstance(one, s.Bound)]
        apart = Network(tuple(stated)).interval(s.Truth(True), markov=False)
        assert (MARKOV in message) == (apart is not None), "\n".join(lines)
        contradictions += 1
        blamed += MARKOV in message
    return contradictions, blamed


def test_the_condition_is_blamed_where_it_is_to_blame() -> None:
    pytest.importorskip("pyscipopt")
    contradictions, blamed = check_blame(range(12, 20))
    assert contradictions > 5 and 0 < blamed < contradictions


@pytest.mark.slow
def test_the_condition_is_blamed_where_it_is_to_blame_in_many_theories() -> None:
    pytest.importorskip("pyscipopt")
    check_blame([*range(12), *range(20, 300)])


def test_hints_for_what_bound_does_not_take_lead_to_no_contradiction() -> None:
    pytest.importorskip("pyscipopt")
    with pytest.raises(UnsupportedError) as caught:
        hb.Model(hb.parse("P(a) = 0.3\nhard: a => b")).bound()
    (bound,) = re.findall(r"as a bound what is certain: (P\(.*\) = 1.0)", str(caught.value))
    found = hb.Model(hb.parse(f"P(a) = 0.3\n{bound}")).bound(engine="exact")
    assert (found["b"].lower, found["b"].upper) == pytest.approx((0.3, 1.0), abs=1e-6)
    types = 'type p = {"x", "y"}\npredicate s(p)\n'
    with pytest.raises(UnsupportedError) as caught:
        hb.Model(hb.parse(f'{types}P(s("x")) = 0.3\nhard: s(v) or s(w) where v != w')).bound()
    (bound,) = re.findall(r"as a bound what is certain: (P\(.*\) = 1.0)", str(caught.value))
    found = hb.Model(hb.parse(f'{types}P(s("x")) = 0.3\n{bound}')).bound(engine="exact")
    assert (found['s("y")'].lower, found['s("y")'].upper) == pytest.approx((0.7, 1.0), abs=1e-6)
    valued = 'type p = {"x"}\npredicate area(p) in {"ai", "db"}\nP(area("x") = "ai") = 0.3'
    with pytest.raises(UnsupportedError) as caught:
        hb.Model(hb.parse(valued)).bound()
    (bound,) = re.findall(r"depend on each other: (P\(.*\) = 1)", str(caught.value))
    found = hb.Model(hb.parse(f"P(one) = 0.3\n{bound}")).bound(engine="exact")
    assert (found["other"].lower, found["other"].upper) == pytest.approx((0.7, 0.7), abs=1e-6)
