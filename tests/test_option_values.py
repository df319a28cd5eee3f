"""Senseless values of options are refused in the same words by every command and engine, before any work."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.registry import BOUND, INFERENCE
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.option_values import check_values, texts
from tests.conftest import Outcome

WEIGHTS = "1.0: a => b\n0.5: b => c\n-0.3: c => a\n"
BOUNDS = "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\n"
RULES = 'r(x, y) :- e(x, y)\ne("a", "b")\n'
LEARNED = '?: p(x)\np("a")\n'
COUNTS = [0, -1, 1.5, "3", math.nan, [1]]
AMOUNTS = [-1, -1e-9, math.nan, "3", [1.0], -math.inf]
WRONG: dict[str, tuple[list[Any], str]] = {
    "iterations": (COUNTS, "a whole number from 1 on"),
    "starts": (COUNTS, "a whole number from 1 on"),
    "samples": (COUNTS, "a whole number from 1 on"),
    "seed": ([-1, 1.5, "3", math.nan], "a whole number from 0 on"),
    "top": ([-1, 1.5, "3", math.nan], "a whole number from 0 on"),
    "tolerance": (AMOUNTS, "a number from 0 on"),
    "time_limit": (AMOUNTS, "a number from 0 on"),
    "damping": (AMOUNTS, "a number from 0 on"),
    "cost": (AMOUNTS, "a number from 0 on"),
    "min": ([math.nan, "3"], "a number"),
}
CALLS: dict[str, tuple[str, Callable[..., Any], set[str]]] = {
    **{
        f"infer {engine}": (WEIGHTS, lambda m, engine=engine, **o: m.infer(engine=engine, **o), set(WRONG))
        for engine in [*INFERENCE, "auto"]
    },
    **{
        f"bound {engine}": (
            BOUNDS,
            lambda m, engine=engine, **o: m.bound(engine=engine, **o),
            {"iterations", "seed", "tolerance", "time_limit"},
        )
        for engine in BOUND
    },
    "query": (RULES, lambda m, **o: m.query('r("a", y)', **o), {"seed", "top", "time_limit"}),
    "explain": (WEIGHTS, lambda m, **o: m.explain("a", engine="exact", **o), set(WRONG) - {"min"}),
    "learn": (LEARNED, lambda m, **o: m.learn(**o), {"iterations", "seed", "tolerance", "time_limit"}),
}


@pytest.mark.parametrize("call", CALLS)
def test_senseless_values_are_refused(call: str) -> None:
    text, ask, options = CALLS[call]
    model = hb.Model(hb.parse(text))
    for name in sorted(options):
        values, expected = WRONG[name]
        for value in values:
            with pytest.raises(UnsupportedError) as caught:
                ask(model, **{name: value})
            assert str(caught.value) == f"--{name.replace('_', '-')} is {expected}, not {value!r}"


@pytest.mark.parametrize("call", CALLS)
def test_none_leaves_an_option_out(call: str) -> None:
    text, ask, options = CALLS[call]
    model = hb.Model(hb.parse(text))
    left_out, bare = (ask(model, **dict.fromkeys(names)).to_dict() for names in (options, ()))
    assert left_out | {"seconds": 0} == bare | {"seconds": 0}


@pytest.mark.parametrize("memory", [-1, 1.5, "-1GB", "lots", "", "5%%", [1]])
@pytest.mark.parametrize("call", ["infer exact", "bound exact", "query", "learn"])
def test_amounts_of_memory(call: str, memory: Any) -> None:
    text, ask, _ = CALLS[call]
    with pytest.raises(UnsupportedError) as caught:
        ask(hb.Model(hb.parse(text)), memory=memory)
    assert str(caught.value) == f"'{memory}' is not an amount of memory\n  such as 500MB, 4GB or 50%"


def test_numbers_of_any_kind_are_numbers() -> None:
    check_values(
        {"iterations": np.int64(3), "tolerance": np.float32(0.5), "cost": math.inf, "min": -math.inf}
    )
    check_values({"tolerance": 0, "seed": 0, "top": 0, "clip": -1.0, "another": object()})
    model = hb.Model(hb.parse(WEIGHTS))
    options: dict[str, Any] = {"top": np.int64(2), "seed": np.int32(7), "tolerance": np.float64(0.1)}
    assert len(model.infer(**options)) == 2


@pytest.mark.parametrize(
    ("told", "found"),
    [(None, ()), ("", ("",)), ("a", ("a",)), ((), ()), (["a", "b"], ("a", "b")), (iter("ab"), ("a", "b"))],
)
def test_texts(told: Any, found: tuple[str, ...]) -> None:
    assert texts(told) == found


@pytest.mark.parametrize("told", [5, [5], ["a", None], b"a", 1.5])
def test_what_is_no_text(told: Any) -> None:
    for ask in (
        lambda: texts(told),
        lambda: hb.Model(hb.parse(WEIGHTS)).infer(told),
        lambda: hb.Model(hb.parse(WEIGHTS)).infer(given=told),
        lambda: hb.Model(hb.parse(BOUNDS)).bound(told),
    ):
        with pytest.raises(HerbrandError, match="expected a text, or a list of texts, not"):
            ask()


@pytest.mark.parametrize("engine", ["", "exakt", None, 5])
def test_engines_that_are_none(engine: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"there is no engine '{engine}' for infer"):
        hb.Model(hb.parse(WEIGHTS)).infer(engine=engine)


@pytest.mark.parametrize("option", ["--seed=-1", "--tolerance=nan", "--time-limit=nan", "--min=nan"])
@pytest.mark.parametrize("engine", ["exact", "gibbs"])
def test_what_the_command_line_lets_pass_is_refused_too(
    engine: str, option: str, herbrand: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "t.hb").write_text(WEIGHTS)
    outcome = herbrand("infer", tmp_path / "t.hb", "--engine", engine, option)
    name, _, value = option.partition("=")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"{name} is a") and outcome.err.rstrip().endswith(f"not {value}")
