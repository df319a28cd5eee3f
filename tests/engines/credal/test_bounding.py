"""What users of ``bound`` meet at its edges: the engine that is chosen, what is refused, what reasons say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.ariel import engine
from herbrand.engines.credal.written_links import patterns_of
from herbrand.errors import BudgetError, HerbrandError
from tests.laws import tries

LINKED = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]"


def test_the_exact_engine_is_chosen_while_it_is_affordable() -> None:
    told: list[str] = []
    found = hb.Model(hb.parse(LINKED)).bound(note=told.append)
    assert found.engine == "exact" and found.guarantee == "exact"
    assert len(told) == 1 and told[0].startswith("engine exact: about ")


def test_messages_are_chosen_where_it_is_not() -> None:
    cycle = "\n".join(f"P(x{i} | x{(i + 1) % 12} and x{(i + 5) % 12}) in [0.2, 0.7]" for i in range(12))
    told: list[str] = []
    found = hb.Model(hb.parse(cycle)).bound(note=told.append)
    assert (found.engine, found.guarantee) == ("ariel", "bound")
    assert told == [
        "engine ariel, as exact is too dear or cannot: up to 12 atoms lie on or above cycles, 10 can"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "simplex"}, "there is no engine 'simplex' for bound"),
        ({"mode": "quick"}, "there is no mode 'quick'\n  one of sound, paper"),
        ({"independence": "all"}, "there is no independence 'all'\n  one of markov, none"),
        ({"sound": True}, "bound has no option 'sound'\n  "),
        ({"tolerence": 1e-3}, "bound has no option 'tolerence'\n  did you mean 'tolerance'?"),
        ({"time_limit": -1}, "--time-limit is a number from 0 on, not -1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(HerbrandError) as refused:
        hb.Model(hb.parse(LINKED)).bound("a", **options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_what_needs_more_memory_is_refused_with_what_it_needs(engine: str) -> None:
    wide = "type t = 1..3000\npredicate f(t, t)\nP(f(x, y)) <= 0.5\nP(f(1, 2) or f(2, 1)) >= 0.2"
    with pytest.raises(BudgetError) as refused:
        hb.Model(hb.parse(wide)).bound("f(1, 2)", engine=engine, memory="1MB")
    assert "there are 9,000,000 open ground atoms, 9,000,000 of them of f" in str(refused.value)
    assert "declare f as observed if what is not listed is false, or allow more by --memory" in str(
        refused.value
    )
    observed = "type t = 1..300\npredicate s(t)\npredicate q(t)\nP(s(x) or q(y)) <= 0.5"
    with pytest.raises(BudgetError, match="this statement has 90,000 groundings of 2 atoms each") as refused:
        hb.Model(hb.parse(observed)).bound("s(1)", engine=engine, memory="6MB")
    assert "allow more by --memory, or state it of fewer constants" in str(refused.value)


def test_messages_that_need_more_memory_are_refused() -> None:
    many = "\n".join(f"P(x{i} | x{i + 1}) <= 0.5" for i in range(600))
    with pytest.raises(
        BudgetError, match="messages over 601 atoms and 600 ground sentences need about"
    ) as told:
        hb.Model(hb.parse(many)).bound("x0", engine="ariel", memory="100kB")
    assert "allow more by --memory" in str(told.value)


def test_progress_of_messages_and_of_their_reasons_is_told() -> None:
    model = hb.Model(hb.parse(f"{LINKED}\nP(b) >= 0.25"))
    told: list[tuple[str, float]] = []
    model.bound(engine="ariel", progress=lambda what, share: told.append((what, share)))
    assert told[0][0].startswith("pass 1: intervals move by ")
    assert all(0 < share <= 1 for _, share in told)


def test_reasons_of_messages_are_of_what_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long chain the statements next to the query are tried, and that is said."""
    monkeypatch.setattr(engine, "MOST_RELAXED", 4)
    chain = ["P(x0) in [0.2, 0.3]"]
    for i in range(1, 9):
        chain += [f"P(x{i} | x{i - 1}) in [0.6, 0.7]", f"P(x{i} | not x{i - 1}) in [0.1, 0.2]"]
    why = hb.Model(hb.parse("\n".join(chain))).explain("P(x8)", engine="ariel")
    told = {reason.statement for end in why.ends for reason in end.reasons}
    assert told == set(chain[-4:])
    for end in why.ends:
        assert "Only the" in end.note and "nearest to the query were tried" in end.note
        total = end.base + end.remainder + sum(reason.contribution for reason in end.reasons)
        assert total == pytest.approx(end.value)


def test_an_observed_value_selects_groundings() -> None:
    """Many-valued facts in conditions: only what they allow is a sentence; constants may be compared."""
    theory = (
        'predicate area(p) in {"ai", "db"}: observed\npredicate s(p)\narea("x1") = "ai"\narea("x2") = "db"\n'
        'P(s(x) | area(x) = "ai") <= 0.2\nP(s(x) | area(x) in {"db", "ai"} and x != "x1") >= 0.6\n'
        'P(s(x) or "x1" = x) >= 0.1'
    )
    found = hb.Model(hb.parse(theory)).bound(engine="exact")
    assert (found['s("x1")'].lower, found['s("x1")'].upper) == pytest.approx((0.0, 0.2))
    assert (found['s("x2")'].lower, found['s("x2")'].upper) == pytest.approx((0.6, 1.0))


@settings(deadline=None, max_examples=tries(60))
@given(
    st.sampled_from([1, 3, 64, 65]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 8),
)
def test_groundings_alike_have_one_pattern(leaves: int, seed: int, rows: int) -> None:
    """Few leaves are compared pair by pair, many by sorting: each row says of each leaf whether it is known,
    else the first that is the same atom."""
    values = np.random.default_rng(seed).integers(-2, 4, (rows, leaves))
    seen = []
    patterns = list(patterns_of(values))
    for pattern, members in patterns:
        for row in members.tolist():
            told = values[row].tolist()
            assert pattern.tolist() == [v if v < 0 else told.index(v) for v in told]
            seen.append(row)
    assert sorted(seen) == list(range(rows))
    assert len({tuple(pattern.tolist()) for pattern, _ in patterns}) == len(patterns)


def test_a_statement_of_very_many_leaves_is_grounded_all_the_same() -> None:
    """More than are compared pair by pair, most of them settled by facts."""
    names = [f'"k{i}"' for i in range(70)]
    some = " or ".join(f"f(x, {name})" for name in names)
    theory = (
        f"type t = {{{', '.join(names)}}}\npredicate f(t, t): observed\npredicate s(t)\n"
        f'f("k1", "k2")\nP(s(x) | s("k0") and ({some})) <= 0.3'
    )
    found = hb.Model(hb.parse(theory)).bound('P(s("k1") | s("k0"))', engine="exact")
    assert found.upper[0] == pytest.approx(0.3)
    assert hb.Model(hb.parse(theory)).bound('P(s("k2") | s("k0"))', engine="exact").upper[0] == 1.0
