"""No public call ends in an error of Python where a program gives something else than what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import herbrand as hb

SMOKERS = (
    "predicate friends(person, person): observed\npredicate smokes(person)\n"
    "1.5: smokes(x) and friends(x, y) => smokes(y)\n"
)
FRIENDS = {"friends": [("a", "b"), ("b", "c")]}
LEARNED = SMOKERS.replace("1.5", "?")
UNCLE = 'uncle(x, y) :- parent(x, z), brother(z, y)\nparent("a", "b")\nbrother("b", "c")\n'
PATHS = '0.3 :: edge("a", "b")\n0.4 :: edge("b", "c")\npath(x, y) :- edge(x, y)\n'
BOUNDS = 'type p = {"a", "b"}\npredicate s(p)\npredicate c(p)\nP(s(x)) in [0.2, 0.3]\nP(c(x) | s(x)) >= 0.5\n'
SAME = (
    "predicate word(record, token): observed\npredicate same(record, record)\n"
    "?: word(x, w) and word(y, w) and x != y => same(x, y)\n"
)
WORDS = {"word": [("a", "ada"), ("b", "ada"), ("c", "bob")]}
PAIRS, LABELS = [("a", "b"), ("a", "c")], [True, False]
GRAND = {
    "parent": [(f"{i}", f"{i + 1}") for i in range(9)],
    "grand": [(f"{i}", f"{i + 2}") for i in range(8)],
}


@cache
def smokers() -> hb.Model:
    return hb.Model(hb.parse(SMOKERS), FRIENDS)


@cache
def fitted() -> Any:
    return hb.LinkClassifier(SAME, "same", WORDS).fit(PAIRS, LABELS)


def predicted(**given: Any) -> object:
    return hb.LinkClassifier(**given).fit(PAIRS, LABELS).predict(PAIRS)


def inferred(**given: Any) -> object:
    return hb.Model(**given).infer()


Call = tuple[Callable[..., object], dict[str, Any]]


def calls() -> dict[str, Call]:
    """Every public call, with arguments that are right."""
    theory, smoking = hb.parse(SMOKERS), smokers()
    chosen = {"query": (), "given": (), "note": None, "time_limit": None, "memory": None}
    return {
        "parse": (hb.parse, {"text": SMOKERS}),
        "formatted": (hb.formatted, {"text": SMOKERS}),
        "formatted_file": (hb.formatted_file, {"path": "theory.hb"}),
        "read": (hb.read, {"paths": "theory.hb", "dialect": None}),
        "show": (hb.show, {"theory": theory}),
        "draw": (hb.draw, {"theory": theory}),
        "written": (hb.written, {"theory": theory, "dialect": "hb"}),
        "written_facts": (hb.written_facts, {"theory": theory, "dialect": "mln"}),
        "Model": (
            inferred,
            {"theory": theory, "facts": FRIENDS, "open": (), "closed": (), "header": None, "ignore": ()}
            | {"on": None, "progress": None, "note": None},
        ),
        "infer": (
            smoking.infer,
            chosen
            | {"engine": "exact", "map": False, "of": (), "log_partition": False, "top": None}
            | {"min": None, "resume": False, "seed": 0, "iterations": None, "tolerance": None},
        ),
        "bound": (
            hb.Model(hb.parse(BOUNDS)).bound,
            chosen | {"engine": "auto", "resume": False, "progress": None, "independence": "markov"},
        ),
        "query": (
            hb.Model(hb.parse(UNCLE)).query,
            {"goal": "uncle(x, y)", "bindings": None, "given": (), "engine": "auto", "algebra": "count"}
            | {"top": None, "normalize": "none", "depth": 10, "memory": None},
        ),
        "explain": (
            smoking.explain,
            {"query": 'smokes("a")', "given": (), "engine": "exact", "top": None, "note": None},
        ),
        "sample": (smoking.sample, {"worlds": 1, "given": (), "seed": 0}),
        "learn": (
            hb.Model(hb.parse(LEARNED), FRIENDS | {"smokes": [("a",)]}).learn,
            {"method": "auto", "target": (), "latent": (), "worlds": (), "held_out": None, "watch": None}
            | {"note": None, "iterations": None, "seed": 0},
        ),
        "compare": (hb.compare, {"model": smoking, "engines": ("exact",), "query": (), "given": ()}),
        "lint": (hb.lint, {"model": smoking, "memory": None, "time_limit": None}),
        "size_report": (
            hb.size_report,
            {"model": smoking, "memory": None, "time_limit": None, "query": (), "given": ()},
        ),
        "score": (
            hb.score,
            {"result": smoking.infer().rows(), "facts": {"smokes": [("a",)]}, "closed": ("smokes",)}
            | {"header": None, "note": None},
        ),
        "conclude": (hb.conclude, {"machine": "none.safetensors", "facts": None, "header": None}),
        "induce": (
            hb.induce,
            {"theory": None, "target": "grand", "worlds": "worlds", "facts": None, "header": None}
            | {"budget": 0.01, "engine": "search", "noise": 0.3, "weights": None, "seed": 0}
            | {"resume": None, "watch": None, "note": None},
        ),
        "mine": (
            hb.mine,
            {"theory": None, "facts": GRAND, "target": "grand", "length": 2, "held_out": None}
            | {"header": None, "weights": "proofs", "seed": 0, "resume": None, "watch": None, "note": None},
        ),
        "LinkClassifier": (
            predicted,
            {"theory": SAME, "target": "same", "facts": WORDS, "method": "pseudo-likelihood"}
            | {"engine": "auto", "known": True, "seed": 0},
        ),
        "predict": (fitted().predict, {"X": PAIRS}),
        "fit": (hb.LinkClassifier(SAME, "same", WORDS).fit, {"X": PAIRS, "y": LABELS}),
        "QueryLayer": (
            hb.nn.QueryLayer,
            {"model": hb.Model(hb.parse(PATHS)), "goal": 'path("a", y)', "given": None, "neural": ()}
            | {"algebra": "probability", "k": 3, "depth": 10, "memory": None},
        ),
        "LogicLayer": (
            hb.nn.LogicLayer,
            {"model": smoking, "iterations": 5, "damping": 0.5, "clauses": "exact", "clip": None}
            | {"tolerance": 1e-6, "memory": None, "observed": (), "ragged": (), "hard": "refused"}
            | {"penalty": 10.0},
        ),
        "LogicMachine": (
            hb.nn.LogicMachine,
            {"inputs": (2, 1), "depth": 2, "breadth": 2, "width": 4, "hidden": (), "residual": True}
            | {"target_arity": None, "rebuild_widest": False},
        ),
    }


NAMES = (
    *("parse", "formatted", "formatted_file", "read", "show", "draw", "written", "written_facts", "Model"),
    *("infer", "bound", "query", "explain", "sample", "learn", "compare", "lint", "size_report", "score"),
    *("conclude", "induce", "mine", "LinkClassifier", "predict", "fit", "QueryLayer", "LogicLayer"),
    "LogicMachine",
)
WRONG = (
    *(None, [], ["x"], [3], [[1]], "", "text", 3, -1, 3.5, {}, {"a": 1}, object(), True, b"x", ("x", [1])),
    *(pd.DataFrame({"x": [1]}), torch.zeros(2), Path("x")),
)
OF_SCIKIT_LEARN = {"predict", "fit"}
"""Where rows and labels are wrong, these raise a ``ValueError``, as every classifier does."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("theory.hb").write_text(SMOKERS)
    for world in ("one", "two"):
        Path("worlds", world).mkdir(parents=True)
        for name, rows in GRAND.items():
            Path("worlds", world, f"{name}.csv").write_text("".join(f"{x},{y}\n" for x, y in rows))


def errors_of_python(name: str) -> Iterator[str]:
    """What is raised for each wrong value of each argument, where it is no error for users."""
    call, right = calls()[name]
    for argument in right:
        for wrong in WRONG:
            try:
                call(**right | {argument: wrong})
            except hb.HerbrandError:
                continue
            except Exception as error:  # whatever it is
                if name in OF_SCIKIT_LEARN and type(error) is ValueError:
                    continue
                yield f"{argument}={wrong!r}: {type(error).__name__}: {error}"


def test_every_public_call_is_tried() -> None:
    tried = {*calls(), "HerbrandError", "nn", "tasks"}
    assert set(calls()) == set(NAMES)
    assert {*hb.__all__, *hb.nn.__all__} - tried == set()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_value_is_refused_by_what_it_is(name: str) -> None:
    assert list(errors_of_python(name)) == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: hb.show("1.5: p"), "show takes a theory, not str\n  hb.parse(text) and hb.read(file) give"),  # type: ignore[arg-type]
        (
            lambda: hb.nn.QueryLayer(hb.Model(hb.parse(UNCLE)), ['uncle("a", y)']),  # type: ignore[arg-type]
            "--query is a text, not ['uncle(\"a\", y)']",
        ),
        (
            lambda: hb.LinkClassifier(SAME, None, WORDS).fit(PAIRS, LABELS),  # type: ignore[arg-type]
            "target is a text, not None",
        ),
        (
            lambda: hb.Model(hb.parse(LEARNED), FRIENDS | {"smokes": [("a",)]}).learn(held_out=[]),
            "--held-out: no world is given",
        ),
    ],
    ids=["show", "QueryLayer", "LinkClassifier", "learn"],
)
def test_what_was_expected_is_told(call: Callable[[], object], said: str) -> None:
    with pytest.raises(hb.HerbrandError) as caught:
        call()
    assert str(caught.value).startswith(said)
