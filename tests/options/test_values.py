"""Values that make no sense are refused in plain words by every command, on the command line and from
Python, before any work; the values and the commands are those of the table of options."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import herbrand as hb
from herbrand.engines.registry import BOUND, INFERENCE
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.options.kinds import MOST, Amount, Depth, Flag, Name, Number, Whole, texts
from herbrand.options.table import COMMANDS, Option, check, options_of
from tests.conftest import Outcome

WEIGHTS = "1.0: a => b\n0.5: b => c\n-0.3: c => a\n"
BOUNDS = "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\n"
RULES = 'r(x, y) :- e(x, y)\ne("a", "b")\n'
LEARNED = '?: p(x)\np("a")\n'
Call = Callable[..., Any]
CALLS: dict[str, tuple[str, Call]] = {
    **{
        f"infer {engine}": (WEIGHTS, lambda m, engine=engine, **o: m.infer(engine=engine, **o))
        for engine in [*INFERENCE, "auto"]
    },
    **{
        f"bound {engine}": (BOUNDS, lambda m, engine=engine, **o: m.bound(engine=engine, **o))
        for engine in [*BOUND, "auto"]
    },
    "query": (RULES, lambda m, **o: m.query('r("a", y)', **o)),
    "explain": (WEIGHTS, lambda m, **o: m.explain("a", engine="exact", **o)),
    "explain bounds": (BOUNDS, lambda m, **o: m.explain("P(b)", engine="exact", **o)),
    "explain rules": (RULES, lambda m, **o: m.explain('r("a", "b")', **o)),
    "sample": (WEIGHTS, lambda m, **o: m.sample(**o)),
    "learn": (LEARNED, lambda m, **o: m.learn(**o)),
    "compare": (WEIGHTS, lambda m, **o: hb.compare(m, **o)),
    "induce": (WEIGHTS, lambda _, **o: hb.induce(target="a", worlds="gone", **o)),
}
LINES: dict[str, tuple[str, tuple[str, ...]]] = {
    "check": (WEIGHTS, ()),
    "infer": (WEIGHTS, ()),
    "query": (RULES, ('r("a", y)',)),
    "bound": (BOUNDS, ()),
    "explain": (WEIGHTS, ("a",)),
    "sample": (WEIGHTS, ()),
    "learn": (LEARNED, ()),
    "induce": (WEIGHTS, ("--target", "a", "--worlds", "gone")),
    "compare": (WEIGHTS, ()),
}


def senseless(option: Option) -> list[Any]:
    """Values that no option of this kind takes."""
    match option.kind:
        case Whole(least, most):
            return [least - 1, -7, 1.5, "3", math.nan, math.inf, True, [1], most + 1, 10**5000]
        case Number():
            below, beyond = (option.kind.least or option.kind.above or 0.0) - 1e-9, option.kind.most
            ends = [option.kind.above, option.kind.below, None if beyond is None else beyond + 1e-9]
            ends = [end for end in ends if end is not None]
            return [below, -1, *ends, math.nan, math.inf, -math.inf, "3", [1.0], True, 10**400]
        case Amount():
            return [-1, 1.5, "-1GB", "lots", "", "5%%", [1], True, math.nan, "9" * 400, 10**30]
        case Depth():
            return [-1, "-1", "deep", 1.5, math.nan, [1], True, 10**30, "1" * 2000]
        case Name():
            return ["", "nonesuch", 5, True, ["none"]]
        case Flag():
            return ["yes", 2, [], math.nan]
    return []


def lines(option: Option) -> list[str]:
    """The same, as texts on the command line."""
    match option.kind:
        case Whole(least, most):
            return [str(least - 1), "1.5", "x", "nan", "1e3", str(most + 1), ""]
        case Number():
            return ["nan", "inf", "-inf", "-1", "x", "1e999", *([] if option.kind.below is None else ["1"])]
        case Amount():
            return ["-1", "lots", "nan", "9" * 400]
        case Depth():
            return ["-1", "x", "1.5", "1" * 30]
        case Name():
            return ["nonesuch", ""]
    return []


def checked_in_python(command: str) -> Iterator[Option]:
    return (option for option in options_of(command).values() if option.taken_by == "call")


@pytest.mark.parametrize("call", CALLS)
def test_senseless_values_are_refused_in_python(call: str) -> None:
    text, ask = CALLS[call]
    model = hb.Model(hb.parse(text))
    for option in checked_in_python(call.split()[0]):
        for value in senseless(option):
            with pytest.raises(UnsupportedError) as caught:
                ask(model, **{option.name: value})
            said = str(caught.value)
            about = {"memory": "amount of memory", "depth": "depth"}.get(option.name, option.name)
            assert about.replace("_", "-") in said and len(said) < 300, (option, value)


@pytest.mark.parametrize("command", LINES)
def test_senseless_values_are_refused_on_the_command_line(
    command: str, herbrand: Callable[..., Outcome], tmp_path: Path
) -> None:
    text, more = LINES[command]
    (tmp_path / "t.hb").write_text(text)
    for option in options_of(command).values():
        for value in lines(option):
            outcome = herbrand(command, tmp_path / "t.hb", *more, f"{option.flag}={value}")
            assert outcome.status in (1, 2) and outcome.out == "", (option, value)
            about = {"memory": "amount of memory", "depth": "depth"}.get(option.name, option.name)
            assert about.replace("_", "-") in outcome.err, (option, value)
            assert "Traceback" not in outcome.err and "internal" not in outcome.err


@pytest.mark.parametrize("call", [call for call in CALLS if not call.startswith("induce")])
def test_none_leaves_an_option_out(call: str) -> None:
    text, ask = CALLS[call]
    model = hb.Model(hb.parse(text))
    named = ("engine", "method", "query", "worlds")
    names = [o.name for o in checked_in_python(call.split()[0]) if o.name not in named]
    left_out, bare = (timeless(ask(model, **dict.fromkeys(given)).to_dict()) for given in (names, ()))
    assert left_out == bare


def timeless(told: Any) -> Any:
    """Seconds differ from run to run."""
    if isinstance(told, dict):
        return {key: timeless(value) for key, value in told.items() if key != "seconds"}
    return [timeless(one) for one in told] if isinstance(told, list) else told


@pytest.mark.parametrize("call", CALLS)
def test_misspelt_options_are_refused(call: str) -> None:
    text, ask = CALLS[call]
    if call == "induce":
        return  # its keywords are all written out
    model, command = hb.Model(hb.parse(text)), call.split()[0]
    with pytest.raises(UnsupportedError, match="has no option 'memroy'\n  did you mean 'memory'"):
        ask(model, memroy="1GB")
    with pytest.raises(UnsupportedError, match="has no option 'seconds'\n  options: "):
        ask(model, seconds=5)
    with pytest.raises(
        UnsupportedError, match=f"{command} has no option 'budget'\n  it is an option of induce"
    ):
        ask(model, budget=5)
    with pytest.raises(UnsupportedError, match="has no option 'on'\n  Model takes it"):
        ask(model, on="duckdb:x")


def test_numbers_of_any_kind_are_numbers() -> None:
    check("infer", {"iterations": np.int64(3), "tolerance": np.float32(0.5), "cost": np.float64(3), "min": 0})
    check("infer", {"tolerance": 0, "seed": 0, "clip": None, "map": np.True_, "another": object()})
    check("infer", {"seed": MOST, "iterations": MOST, "memory": np.int64(10**9), "cost": 1e300})
    model = hb.Model(hb.parse(WEIGHTS))
    options: dict[str, Any] = {"top": np.int64(2), "seed": np.int32(7), "tolerance": np.float64(0.1)}
    assert len(model.infer(engine="bp", **options)) == 2


@pytest.mark.parametrize("ask", [hb.Model.infer, hb.Model.query, hb.Model.explain])
def test_the_first_0_rows_are_nothing_to_ask_for(ask: Callable[..., object]) -> None:
    with pytest.raises(UnsupportedError, match="--top is a whole number from 1 on, not 0"):
        ask(hb.Model(hb.parse(RULES)), 'r("a", "b")', top=0)


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (None, ()),
        ("", ("",)),
        ("a", ("a",)),
        ((), ()),
        (["a", "b"], ("a", "b")),
        (dict.fromkeys("ab").keys(), ("a", "b")),
        (np.array(["a", "b"]), ("a", "b")),
        (np.array([], str), ()),
        (pd.Series(["a"], index=[7]), ("a",)),
        (pl.Series(["a"]), ("a",)),
    ],
    ids=lambda given: type(given).__name__,
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


@pytest.mark.parametrize("engine", ["", "exakt", None])
def test_engines_that_are_none(engine: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"there is no engine '{engine}' for infer"):
        hb.Model(hb.parse(WEIGHTS)).infer(engine=engine)


@pytest.mark.parametrize("told", [5, True, 1.5, b"exact", ["exact"], ("exact",), {"exact"}, {"exact": 1}])
def test_engines_are_texts(told: Any) -> None:
    weights, bounds, rules = (hb.Model(hb.parse(text)) for text in (WEIGHTS, BOUNDS, RULES))
    asks: list[Call] = [
        weights.infer,
        lambda **o: weights.infer(damping=0.5, **o),
        lambda **o: weights.infer(map=True, of="a", **o),
        bounds.bound,
        lambda **o: rules.query("r(x, y)", **o),
        lambda **o: weights.explain("a", **o),
        lambda **o: bounds.explain("P(b)", **o),
        lambda **o: rules.explain('r("a", "b")', **o),
    ]
    for ask in asks:
        with pytest.raises(UnsupportedError, match=r"--engine is a text, not "):
            ask(engine=told)
    with pytest.raises(UnsupportedError, match="expected a text, or a list of texts, not "):
        hb.compare(weights, [told])


@pytest.mark.parametrize("told", [5, None, ["a"], b"a"])
def test_what_is_explained_is_a_text(told: Any) -> None:
    for text in (WEIGHTS, BOUNDS, RULES):
        with pytest.raises(UnsupportedError, match=r"--query is a text, not "):
            hb.Model(hb.parse(text)).explain(told)


@pytest.mark.parametrize("option", ["--seed=-1", "--tolerance=nan", "--time-limit=nan", "--min=nan"])
@pytest.mark.parametrize("engine", ["exact", "gibbs"])
def test_what_the_parser_lets_pass_is_refused_too(
    engine: str, option: str, herbrand: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "t.hb").write_text(WEIGHTS)
    outcome = herbrand("infer", tmp_path / "t.hb", "--engine", engine, option)
    name, _, value = option.partition("=")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"{name} is a") and outcome.err.rstrip().endswith(f"not {value}")


def test_every_command_with_options_is_tried() -> None:
    others = {"score", "convert", "fmt", "init", "lsp", "serve", "studio"}
    assert {*LINES, *others} == set(COMMANDS)
    assert {call.split()[0] for call in CALLS} == set(COMMANDS) - {"check", *others}
