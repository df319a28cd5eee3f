"""The table of options is what engines, methods, signatures and pages are: none of them says otherwise."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import herbrand as hb
from herbrand.engines.credal.question import BoundSettings
from herbrand.engines.engine import LIMITS, Settings, options_in
from herbrand.engines.loop import Schedule
from herbrand.engines.proof.request import Request
from herbrand.engines.regions.engine import STRUCTURES
from herbrand.engines.registry import BOUND, INFERENCE, QUERY, engine_named, register
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.learning.methods import METHODS
from herbrand.learning.proof.losses import LOSSES
from herbrand.learning.settings import LearningSettings
from herbrand.options import keywords
from herbrand.options.algebras import QUERY_ALGEBRAS
from herbrand.options.kinds import Amount, Depth, Facts, File, Flag, Name, Number, Text, Texts, Whole
from herbrand.options.table import COMMANDS, TABLE, Option, options_of, uses
from tests.conftest import ROOT, Outcome

RUNNERS = {"infer": [*INFERENCE], "bound": [*BOUND], "query": [*QUERY], "learn": [*METHODS]}
SETTINGS: dict[str, type[Any]] = {
    "infer": Settings,
    "bound": BoundSettings,
    "query": Request,
    "learn": LearningSettings,
}
WEIGHTS = "1.0: a => b\n0.5: b => c\n-0.3: c => a\n"
BOUNDS = "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\nP(b | not a) in [0.1, 0.3]\n"
PREDICATES = "predicate smokes(person)\npredicate cancer(person)\n"
FACTS = 'smokes("ann")\nsmokes("bob")\nsmokes("dan")\nnot smokes("carl")\ncancer("ann")\ncancer("bob")\n'
RULES = 'likes(x, y) :- knows(x, y) @ ?\nknows("ann", "bob")\nknows("dora", "bob")\nlikes("ann", "bob")\n'
LEARNED: dict[str, tuple[str, dict[str, Any]]] = {
    "likelihood": (f"{PREDICATES}?: smokes(x) => cancer(x)\n{FACTS}", {}),
    "pseudo-likelihood": (f"{PREDICATES}?: smokes(x) => cancer(x)\n{FACTS}", {}),
    "contrastive-divergence": (f"{PREDICATES}?: smokes(x) => cancer(x)\n{FACTS}", {}),
    "layers": (f"{PREDICATES}?: smokes(x) => cancer(x)\n{FACTS}", {}),
    "distillation": (f"{PREDICATES}0.8: smokes(x) => cancer(x)\n{FACTS}", {"latent": "cancer"}),
    "proof": (RULES, {}),
}


def example(option: Option, folder: Path) -> Any:
    """A value that the option takes."""
    match option.kind:
        case Whole(least, _):
            return 30 if option.name == "samples" else max(least, 2 if option.name == "starts" else 1)
        case Number(above=above):
            return max(1.0 if option.name in ("cost", "time_limit") else 0.5, 0.5 + (above or 0))
        case Name(names):
            return [*names][-1]
        case Amount():
            return "1GB"
        case Depth():
            return 3
        case Flag():
            return True
        case Facts():
            return [{"smokes": ["eve"]}]
        case File():
            return str(folder / "kept.safetensors")
    raise AssertionError(option)


def of_settings(command: str) -> list[Option]:
    """Options that settings hold, in the table's order."""
    known = {field.name for field in fields(SETTINGS[command])}
    return [one for one in options_of(command).values() if field_of(one) in known]


def field_of(option: Option) -> str:
    """The field of settings that holds it."""
    return "budget" if option.name in LIMITS else option.name


def ask(command: str, runner: str, **options: Any) -> Any:
    if command == "learn":
        text, more = LEARNED[runner]
        return hb.Model(hb.parse(text)).learn(
            runner, iterations=options.pop("iterations", 2), **more, **options
        )
    if command == "query":
        return hb.Model(hb.parse('r(x) :- e(x)\ne("a")')).query("r(x)", engine=runner, **options)
    model = hb.Model(hb.parse(BOUNDS if command == "bound" else WEIGHTS))
    return getattr(model, command)(engine=runner, **options)


CASES = [(command, runner) for command, runners in RUNNERS.items() for runner in runners]


@pytest.mark.parametrize(("command", "runner"), CASES)
def test_what_an_engine_does_not_use_is_refused_by_name(command: str, runner: str, tmp_path: Path) -> None:
    for option in of_settings(command):
        value = "gone" if option.name == "resume" else example(option, tmp_path)
        if uses(command, runner, option.name):
            continue
        with pytest.raises(UnsupportedError) as refused:
            ask(command, runner, **{option.name: value})
        told = str(refused.value)
        assert told.startswith(f"{runner} does not use {option.flag}")
        assert f"that use it: {', '.join(option.used_by)};" in told


@pytest.mark.parametrize(("command", "runner"), CASES)
def test_what_an_engine_uses_is_taken(command: str, runner: str, tmp_path: Path) -> None:
    for option in of_settings(command):
        if not uses(command, runner, option.name) or option.name == "resume":
            continue
        more = {"batch": 1} if option.name == "observed" else {}
        if (runner, option.name) == ("mean-field", "clip"):
            more = {"schedule": "parallel"}
        assert ask(command, runner, **{option.name: example(option, tmp_path)}, **more) is not None


@pytest.mark.parametrize("name", ["structure", "samples", "damping"])
def test_auto_takes_what_any_engine_uses(name: str, tmp_path: Path) -> None:
    option = options_of("infer")[name]
    assert ask("infer", "auto", **{name: example(option, tmp_path)}).engine == "exact"


def test_auto_takes_no_other_model() -> None:
    with pytest.raises(UnsupportedError, match="auto does not use --clip, which is another model"):
        ask("infer", "auto", clip=0.5)


def test_the_command_line_refuses_it_too(herbrand: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "w.hb").write_text(WEIGHTS)
    for engine, option, value in (("exact", "--structure", "ground"), ("gibbs", "--tolerance", "0.1")):
        outcome = herbrand("infer", tmp_path / "w.hb", "--engine", engine, option, value)
        assert (outcome.status, outcome.out) == (1, "")
        assert outcome.err.startswith(f"{engine} does not use {option}\n  engines that use it: regions")


def test_compare_gives_each_engine_what_it_uses(herbrand: Callable[..., Outcome], tmp_path: Path) -> None:
    model = hb.Model(hb.parse(WEIGHTS))
    found = hb.compare(model, ["exact", "bp", "gibbs"], damping=0.5, samples=40)
    assert list(found.answers) == ["exact", "bp", "gibbs"] and not found.failures
    with pytest.raises(
        UnsupportedError, match=r"^none of exact, bp uses --samples\n  engines that use it: gibbs"
    ):
        hb.compare(model, ["exact", "bp"], samples=40)
    (tmp_path / "w.hb").write_text(WEIGHTS)
    named = ("--engine", "exact", "--engine", "mean-field")
    outcome = herbrand("compare", tmp_path / "w.hb", *named, "--schedule", "sequential", "--format", "json")
    assert outcome.status == 0 and json.loads(outcome.out)["failures"] == []


def test_on_a_database_only_its_engines_count(tmp_path: Path) -> None:
    model = hb.Model(hb.parse("0.5: p(x)"), {"p": ["a"]}, on=f"duckdb:{tmp_path / 'w.duckdb'}")
    with pytest.raises(UnsupportedError, match="none of mean-field, bp uses --samples"):
        model.infer(samples=40)
    with pytest.raises(UnsupportedError, match="bp does not use --clip"):
        model.infer(engine="bp", clip=1.0)


def test_an_explanation_takes_what_explains(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="exact does not use --damping"):
        hb.Model(hb.parse(WEIGHTS)).explain("a", engine="exact", damping=0.5)
    with pytest.raises(UnsupportedError, match="infer has no option 'depth'\n  it is an option of query"):
        hb.Model(hb.parse(WEIGHTS)).explain("a", depth=3)
    with pytest.raises(UnsupportedError, match="exact does not use --mode\n  engines that use it: ariel"):
        hb.Model(hb.parse(BOUNDS)).explain("P(b)", engine="exact", mode="paper")


class Declared:
    """An engine of somebody else's, which says what it uses."""

    name = "declared"
    options = ("samples",)

    @classmethod
    def with_settings(cls, settings: Settings) -> Any:
        return engine_named("infer", "exact", settings)


def test_engines_of_others_say_what_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("declared", "silent"):
        monkeypatch.setitem(INFERENCE, name, "exact")
        monkeypatch.delitem(INFERENCE, name)
    register("declared", Declared)
    register("silent", type("Silent", (Declared,), {"name": "silent", "options": None}))
    model = hb.Model(hb.parse(WEIGHTS))
    assert len(model.infer(engine="declared", samples=3, seed=1)) == 3
    assert len(model.infer(engine="silent", samples=3, damping=0.5)) == 3
    with pytest.raises(UnsupportedError, match="declared does not use --damping"):
        model.infer(engine="declared", damping=0.5)


# The table and the engines


class Watched:
    """Settings that keep account of what is read."""

    def __init__(self, settings: Any, read: set[str]) -> None:
        self._settings, self._read = settings, read

    def __getattr__(self, name: str) -> Any:
        self._read.add(name)
        return getattr(self._settings, name)


BY_THE_LOOP = {"tolerance", "iterations"}
BY_THE_CALLER = {"progress"}
BY_ALL = {"budget", "seed"}
"""Every engine keeps these: what draws nothing by chance gives the same for every seed."""


@pytest.mark.parametrize("command", ["infer", "bound"])
def test_engines_read_what_the_table_says(command: str) -> None:
    for runner in RUNNERS[command]:
        read: set[str] = set()
        engine_named(command, runner, Watched(SETTINGS[command](), read))
        read -= BY_THE_CALLER
        told = {field_of(o) for o in of_settings(command) if uses(command, runner, o.name)}
        assert read <= told
        assert told - read <= BY_ALL | (BY_THE_LOOP if command == "infer" else set()), runner


@pytest.mark.parametrize("method", METHODS)
def test_methods_read_what_the_table_says(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: set[str] = set()
    named = hb.Model.learn.__globals__["importlib"].import_module("herbrand.learning.methods").method_named
    learn = named(method)
    monkeypatch.setattr(
        "herbrand.learning.methods.method_named",
        lambda _: lambda theory, worlds, aim, given: learn(theory, worlds, aim, Watched(given, read)),
    )
    for options in ({}, {"batch": 1} if uses("learn", method, "batch") else {"l2": 0.1}):
        ask("learn", method, **options)
    told = {field_of(o) for o in of_settings("learn") if uses("learn", method, o.name)}
    assert told - read <= BY_ALL
    assert read - told <= {"watch"}


def test_names_are_those_of_the_engines() -> None:
    def names(command: str, option: str) -> list[str]:
        kind = options_of(command)[option].kind
        assert isinstance(kind, Name)
        return list(kind.names)

    assert names("infer", "schedule") == list(Schedule)
    assert names("infer", "structure") == list(STRUCTURES)
    assert names("query", "algebra") == list(QUERY_ALGEBRAS)
    assert names("learn", "loss") == list(LOSSES)
    for option in TABLE:
        for command in {"infer", "bound", "query", "learn"} & {*option.commands}:
            assert set(option.used_by) <= set(RUNNERS[command]), option


@pytest.mark.parametrize("command", SETTINGS)
def test_settings_begin_at_the_defaults_of_the_table(command: str) -> None:
    begun = SETTINGS[command]()
    assert options_in(command, begun) == {}
    for option in of_settings(command):
        if option.name in (*LIMITS, "asked", "depth", "loss"):
            continue  # what they are if not given is decided later
        found = getattr(begun, option.name)
        assert option.default in ("", str(found)) or float(option.default) == found


# The table and the signatures of Python

METHODS_OF: dict[str, tuple[Callable[..., Any], type[Any]]] = {
    "infer": (hb.Model.infer, keywords.InferOptions),
    "compare": (hb.compare, keywords.InferOptions),
    "bound": (hb.Model.bound, keywords.BoundOptions),
    "explain": (hb.Model.explain, keywords.ExplainOptions),
    "query": (hb.Model.query, keywords.QueryOptions),
    "sample": (hb.Model.sample, keywords.SampleOptions),
    "learn": (hb.Model.learn, keywords.LearnOptions),
}
TYPES: dict[type[Any], Any] = {
    Whole: int,
    Number: float,
    Amount: int | str,
    Depth: int | str,
    Flag: bool,
    Text: str | Path,
    File: str | Path,
}


@pytest.mark.parametrize("command", METHODS_OF)
def test_keywords_are_the_options(command: str) -> None:
    method, described = METHODS_OF[command]
    parameters = inspect.signature(method).parameters
    assert parameters["options"].annotation == f"Unpack[{described.__name__}]"
    written_out, hints = {*parameters, "query", "engine"}, get_type_hints(described)
    known = {name: one for name, one in options_of(command).items() if one.taken_by == "call"}
    assert set(hints) == set(known) - written_out
    for name, hint in hints.items():
        kind = known[name].kind
        expected: Any = TYPES.get(type(kind), str)  # names of a table that may grow are any text
        if isinstance(kind, Name) and isinstance(kind.names, tuple):
            expected = Literal[kind.names]  # type: ignore[valid-type]
        assert hint == Union[expected, None], name  # noqa: UP007
        assert get_origin(hint) is not None and type(None) in get_args(hint)


def test_what_is_written_out_is_an_option_too() -> None:
    python_only = {"self", "model", "goal", "note", "progress", "watch", "bindings", "options", "engines"}
    python_only |= {"within"}
    for command, (method, _) in METHODS_OF.items():
        assert set(inspect.signature(method).parameters) <= python_only | set(options_of(command))
    induce = set(inspect.signature(hb.induce).parameters) - {"theory", "watch", "note"}
    assert induce <= set(options_of("induce"))


@pytest.mark.slow
def test_a_misspelt_keyword_fails_the_type_checker(tmp_path: Path) -> None:
    """Each line but the first two, and nothing else."""
    lines = [
        "import herbrand as hb",
        'model = hb.Model(hb.parse("1: a"))',
        "model.infer(tolerence=1)",
        "model.infer(damping='x')",
        "model.bound(modus='paper')",
        "model.query('a').no_such_attribute",
        "model.learn(seconds=5)",
        "model.explain('a', depht=3)",
        "hb.compare(model, algebra='max')",
        "good = model.infer(tolerance=1e-3, damping=0.5), model.query('a', depth='fixpoint').truncated",
    ]
    (tmp_path / "called.py").write_text("\n".join(lines) + "\n")
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", str(tmp_path / "called.py")],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        cwd=tmp_path,
    )
    found = json.loads(checked.stdout)["generalDiagnostics"]
    wrong = {one["range"]["start"]["line"] for one in found if one["severity"] == "error"}
    assert wrong == set(range(2, 9))


# The table itself


def test_a_command_has_one_row_for_a_name() -> None:
    for command in COMMANDS:
        named = [option.name for option in TABLE if command in option.commands]
        assert len(named) == len(set(named))
    assert all(set(option.commands) <= set(COMMANDS) for option in TABLE)


def test_every_option_says_what_it_does() -> None:
    for option in TABLE:
        assert (option.help.endswith(".") and option.help[0].isupper()) or option.name == "method"
        assert bool(option.metavar) != isinstance(option.kind, Flag) or isinstance(option.kind, Name)
        assert isinstance(option.kind, Texts) or not option.described.endswith("Repeatable.")


def test_an_unusable_file_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(HerbrandError, match="it is a folder"):
        ask("learn", "proof", save=str(tmp_path))
