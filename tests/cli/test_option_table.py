"""Every option with every engine of its command: it does what it says, or is refused in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from herbrand.engines.registry import BOUND, INFERENCE, QUERY
from tests.conftest import Outcome

WEIGHTS = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate mood(person) in {"good", "bad"}
0.8: smokes(x) and friends(x, y) => smokes(y)
-0.4: smokes(x)
0.5: smokes(x) => mood(x) = "good"
friends("anna", "bob")
friends("bob", "carl")
smokes("anna")
"""
BOUNDS = "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\nP(b | not a) in [0.1, 0.3]\nP(c | b) in [0.7, 0.9]\n"
RULES = """\
reach(x, y) :- link(x, y)
reach(x, y) :- link(x, z), reach(z, y)
link("a", "b")
link("b", "c")
link("a", "c")
"""
INFER_OPTIONS = [
    [],
    ["--query", "smokes"],
    ["--query", 'smokes("bob")'],
    ["--query", 'smokes("bob") and not smokes("carl")'],
    ["--query", "mood"],
    ["--given", 'smokes("carl")'],
    ["--given", 'mood("carl") = "bad"'],
    ["--top", "2"],
    ["--min", "0.5"],
    ["--log-partition"],
    ["--map"],
    ["--map", "--given", 'not smokes("carl")'],
    ["--memory", "1GB"],
    ["--time-limit", "60"],
    ["--seed", "5"],
    ["--tolerance", "1e-4"],
    ["--iterations", "400"],
    ["--schedule", "sequential"],
    ["--damping", "0.5"],
    ["--starts", "3"],
    ["--samples", "500"],
    ["--cost", "100000"],
    ["--structure", "counts"],
    ["--clip", "0.5"],
]
ANSWERED, REFUSED, NOT_CONVERGED = 0, 1, 3


@pytest.fixture
def theory(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "theory.hb"
        path.write_text(text)
        return str(path)

    return write


def answered(outcome: Outcome) -> dict | None:
    """The answer; ``None`` for a refusal, which must be in words and leave standard output empty."""
    assert "Traceback" not in outcome.err
    if outcome.status == REFUSED:
        assert outcome.out == "" and len(outcome.err) > 20
        return None
    assert outcome.status in (ANSWERED, NOT_CONVERGED), outcome.err
    return json.loads(outcome.out)


@pytest.mark.parametrize("options", INFER_OPTIONS, ids=" ".join)
@pytest.mark.parametrize("engine", [*INFERENCE, "auto"])
def test_infer(
    engine: str, options: list[str], herbrand: Callable[..., Outcome], theory: Callable[[str], str]
) -> None:
    outcome = herbrand("infer", theory(WEIGHTS), "--engine", engine, "--format", "json", *options)
    found = answered(outcome)
    if found is None:
        named = options[0] if options else engine
        assert named.strip("-") in outcome.err or engine in outcome.err
        assert engine not in ("exact", "auto") or options[0] not in ("--query", "--given", "--top", "--min")
        return
    rows = found["marginals"]
    assert rows and all(0 <= row["probability"] <= 1 for row in rows)
    match options:
        case ["--query", "smokes"]:
            assert [row["atom"] for row in rows] == ['smokes("bob")', 'smokes("carl")']
        case ["--query", "mood"]:
            assert len(rows) == 6 and all(row["value"] in ("good", "bad") for row in rows)
        case ["--query", formula]:
            assert [row["atom"] for row in rows] == [formula]
        case ["--given", 'smokes("carl")']:
            assert 'smokes("carl")' not in [row["atom"] for row in rows]
        case ["--top", count]:
            assert len(rows) == int(count)
            assert rows[0]["probability"] >= rows[1]["probability"]
        case ["--min", least]:
            assert all(row["probability"] >= float(least) for row in rows)
        case ["--map", *_]:
            assert found["map"] is True and {row["probability"] for row in rows} <= {0, 1}


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--query", "P(c)"],
        ["--query", "P(c | a or b)"],
        ["--given", "b"],
        ["--independence", "none"],
        ["--mode", "paper"],
        ["--memory", "1GB"],
        ["--time-limit", "60"],
        ["--tolerance", "1e-4"],
        ["--iterations", "50"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("engine", [*BOUND, "auto"])
def test_bound(
    engine: str, options: list[str], herbrand: Callable[..., Outcome], theory: Callable[[str], str]
) -> None:
    outcome = herbrand("bound", theory(BOUNDS), "--engine", engine, "--format", "json", *options)
    found = answered(outcome)
    if found is None:
        assert options[0].strip("-") in outcome.err or engine in outcome.err
        return
    rows = found["bounds"]
    assert all(0 <= row["lower"] <= row["upper"] <= 1 for row in rows)
    assert len(rows) == (1 if "--query" in options else 3)
    if "--given" in options:
        assert (rows[1]["lower"], rows[1]["upper"]) == (1, 1)


@pytest.mark.parametrize(
    "options",
    [
        [],
        *(["--algebra", name] for name in ("count", "boolean", "max", "probability", "independent")),
        ["--top", "1"],
        ["--depth", "0"],
        ["--depth", "fixpoint"],
        ["--depth", "fixpoint", "--algebra", "boolean"],
        *(["--normalize", name] for name in ("none", "sum", "softmax")),
        ["--exact"],
        ["--given", 'link("c", "d")'],
        ["--memory", "1GB"],
        ["--time-limit", "60"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("engine", [*QUERY, "auto"])
def test_query(
    engine: str, options: list[str], herbrand: Callable[..., Outcome], theory: Callable[[str], str]
) -> None:
    outcome = herbrand(
        "query", theory(RULES), 'reach("a", y)', "--engine", engine, "--format", "json", *options
    )
    found = answered(outcome)
    assert found is not None, outcome.err
    weights = {row["bindings"]["y"]: row["weight"] for row in found["answers"]}
    match options:
        case ["--top", count]:
            assert len(weights) == int(count)
        case ["--depth", "0"]:
            assert weights == {"b": 1, "c": 1} and found["truncated"]
        case ["--algebra", ("boolean" | "max" | "probability")]:
            assert weights == {"b": 1, "c": 1}
        case ["--given", _]:
            assert set(weights) == {"b", "c", "d"}
        case [] | ["--exact"] | ["--algebra", "count"] | ["--depth", "fixpoint"]:
            assert weights == {"b": 1, "c": 2}
