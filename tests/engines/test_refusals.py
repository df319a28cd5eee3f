"""What engines of ``infer`` do not take, and the words in which they say so and what to do instead."""

from __future__ import annotations

import re
from typing import Any

import pytest

import herbrand as hb
from herbrand.engines.registry import INFERENCE
from herbrand.errors import HerbrandError, UnsupportedError

TEXT = 'type t = {"a", "b"}\npredicate p(t)\npredicate q(t)\n0.5: p(x) => q(x)\n0.3: p(x)'
DAMPED = ["bp", "mean-field", "regions"]
NO_FORMULAS = ["bp", "regions", "gibbs"]


def refusal(**told: Any) -> str:
    with pytest.raises(HerbrandError) as refused:
        hb.Model(hb.parse(TEXT)).infer(**told)
    return str(refused.value)


@pytest.mark.parametrize("engine", DAMPED)
@pytest.mark.parametrize("name", ["serial", "Parallel", ""])
def test_schedules(engine: str, name: str) -> None:
    told = refusal(engine=engine, schedule=name)
    assert told.startswith(f"there is no schedule '{name}'\n  ")


@pytest.mark.parametrize("engine", DAMPED)
@pytest.mark.parametrize("damping", [1.0, 1.5, 7])
def test_damping_that_would_move_nothing(engine: str, damping: float) -> None:
    told = refusal(engine=engine, damping=damping)
    assert told == f"--damping is a number from 0 up to, not including, 1, not {damping}"


@pytest.mark.parametrize("engine", INFERENCE)
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("damping", -0.1, "--damping is a number from 0 up to, not including, 1, not -0.1"),
        ("damping", float("nan"), "--damping is a number from 0 up to, not including, 1, not nan"),
        ("damping", "0.5", "--damping is a number from 0 up to, not including, 1, not '0.5'"),
        ("iterations", 0, "--iterations is a whole number from 1 on, not 0"),
        ("iterations", 2.5, "--iterations is a whole number from 1 on, not 2.5"),
        ("starts", 0, "--starts is a whole number from 1 on, not 0"),
        ("seed", -1, "--seed is a whole number from 0 on, not -1"),
        ("tolerance", -1e-9, "--tolerance is a number from 0 up to, not including, 1, not -1e-09"),
        ("time_limit", -1, "--time-limit is a number from 0 on, not -1"),
        (
            "seconds",
            3,
            "infer has no option 'seconds'\n  options: given, query, engine, memory, time_limit, ",
        ),
        ("dampign", 0.5, "infer has no option 'dampign'\n  did you mean 'damping'?"),
        ("clip", float("nan"), "--clip is a number above 0, not nan"),
    ],
)
def test_values_that_make_no_sense(engine: str, option: str, value: Any, message: str) -> None:
    assert refusal(engine=engine, **{option: value}).startswith(message)


@pytest.mark.parametrize("engine", [name for name in INFERENCE if name != "mean-field"])
def test_only_one_engine_clips(engine: str) -> None:
    assert refusal(engine=engine, clip=2.0) == (
        f"{engine} does not use --clip, which is another model than the theory\n"
        "  engines that use it: mean-field; name one of them, or leave out --clip"
    )


@pytest.mark.parametrize(
    ("options", "who"),
    [({"schedule": "sequential"}, "the sequential schedule raises"), ({"starts": 2}, "starts compare")],
)
def test_clipped_messages_have_no_bound_to_go_by(options: dict[str, Any], who: str) -> None:
    assert refusal(engine="mean-field", clip=2.0, **options) == (
        f"{who} a bound on log Z, and clipped messages have none\n"
        "  leave out --clip, or take one parallel run"
    )


def test_structures_of_regions() -> None:
    told = refusal(engine="regions", structure="mergd")
    assert told == "there is no structure 'mergd'\n  did you mean 'merged'?"
    told = refusal(engine="regions", structure="zzz")
    assert told.endswith("one of merged, counts, elements, partial, ground")


@pytest.mark.parametrize("engine", NO_FORMULAS)
def test_formulas_and_worlds_are_left_to_others(engine: str) -> None:
    told = refusal(engine=engine, query='p("a") or q("a")')
    assert told.splitlines()[0].endswith(f"{engine} gives the probabilities of atoms, not of formulas")
    assert "--engine exact" in told
    told = refusal(engine=engine, map=True)
    assert re.match(f"{engine} (gives marginals|draws worlds), ", told)
    assert told.endswith("use --engine exact or lifted for --map")


@pytest.mark.parametrize("engine", NO_FORMULAS)
@pytest.mark.parametrize("asked", ['colour("a") = "red"', 'colour("a") in {"red", "blue"}'])
def test_a_value_is_asked_with_the_others_of_its_atom(engine: str, asked: str) -> None:
    model = hb.Model(hb.parse('predicate colour(t) in {"red", "blue", "green"}\n0.5: colour("a") = "red"'))
    with pytest.raises(UnsupportedError) as refused:
        model.infer(engine=engine, query=asked)
    assert "ask for all values: --query 'colour(\"a\")'; or use --engine exact" in str(refused.value)
    assert len(list(model.infer(engine=engine, query='colour("a")').rows())) == 3


@pytest.mark.parametrize("engine", INFERENCE)
def test_a_budget_of_next_to_nothing(engine: str) -> None:
    """Refused with what is needed and what to do, or answered within it; never a bare MemoryError."""
    constants = ", ".join(f'"c{i}"' for i in range(30))
    text = f"type t = {{{constants}}}\npredicate f(t, t)\n0.1: f(x, y) and f(y, z) => f(x, z)"
    with pytest.raises(HerbrandError) as refused:
        hb.Model(hb.parse(text)).infer(engine=engine, memory="10kB")
    assert "kB" in str(refused.value) and "--" in str(refused.value)
