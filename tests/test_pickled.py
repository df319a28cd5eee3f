"""Models, layers and answers survive pickle and deep copies, before and after they were used."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import herbrand as hb

SMOKERS = """
predicate smokes(person)
predicate cancer(person)
predicate mood(person) in {"u", "v"}
1.5: smokes(x) => cancer(x)
0.5: exists y: smokes(y) and cancer(x)
hard: smokes("anna") <=> smokes("bob")
not smokes("carl")
mood("anna") = "u" ~ 0.7
"""
PATHS = """
predicate edge(n, n): learned
predicate path(n, n)
path(x, y) :- edge(x, y) @ 0.5
path(x, y) :- edge(x, z), path(z, y)
edge("a", "b")
edge("b", "c")
"""
BOUNDS = "predicate a\npredicate b\nP(a) in [0.2, 0.3]\nP(b | a) >= 0.5"


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


COPIES = [pickled, copy.deepcopy]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("used", [False, True])
def test_models(copied: Callable[[Any], Any], used: bool) -> None:
    for text, ask in (
        (SMOKERS, lambda m: m.infer(engine="exact")),
        ('0.5: p(x) and q(x)\np("a")\nq("b") ~ 0.3', lambda m: m.infer("q(x)")),
        (PATHS, lambda m: m.query('path("a", y)')),
        (BOUNDS, lambda m: m.bound()),
    ):
        model = hb.Model(hb.parse(text))
        answer = ask(model) if used else ask(hb.Model(hb.parse(text)))
        assert ask(copied(model)).to_arrow() == answer.to_arrow()


@pytest.mark.parametrize("copied", COPIES)
def test_answers(copied: Callable[[Any], Any]) -> None:
    model = hb.Model(hb.parse(SMOKERS))
    answers = [
        model.infer(engine=name) for name in ("exact", "lifted", "bp", "regions", "mean-field", "gibbs")
    ]
    answers.append(model.explain('cancer("anna")'))
    answers += [hb.Model(hb.parse(PATHS)).query('path("a", y)'), hb.Model(hb.parse(BOUNDS)).bound()]
    for answer in answers:
        assert repr(copied(answer)) == repr(answer)
        assert copied(answer).to_dict() == answer.to_dict()  # after it was shown


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("clauses", ["exact", "independent"])
def test_logic_layers(copied: Callable[[Any], Any], used: bool, clauses: str) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(SMOKERS)), clauses=clauses)
    if used:
        layer()
    other = copied(layer)
    for name, table in layer().items():
        assert torch.equal(table, other()[name])
    with torch.no_grad():
        other.weights[0].add_(1)
    assert other.weights[0] != layer.weights[0]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("used", [False, True])
def test_query_layers(copied: Callable[[Any], Any], used: bool) -> None:
    layer = hb.nn.QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)")
    if used:
        layer(["a", "b"])
    assert torch.equal(copied(layer)(["a", "b"]), layer(["a", "b"]))


def _answered(model: hb.Model) -> dict[str, Any]:
    return model.infer(engine="exact").to_dict()["marginals"]


def test_a_spawned_process() -> None:
    model = hb.Model(hb.parse(SMOKERS))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_answered, [model]) == [_answered(model)]
