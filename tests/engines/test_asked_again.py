"""A question that a model is asked again begins from the first state that was kept: the same answer, by the
clock of its own call, and nothing kept where something else is asked or much would be."""

from __future__ import annotations

import gc
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines import choice
from herbrand.engines.choice import readable_by
from herbrand.engines.engine import Settings, first_state
from herbrand.engines.exact import Exact
from herbrand.engines.loop import settle
from herbrand.engines.registry import INFERENCE, WORLDS, engine_named
from herbrand.errors import HerbrandError, OutOfTimeError
from herbrand.program.question import read_question

THEORIES = {
    "smokers": (
        "predicate friends(person, person): observed\npredicate smokes(person)\npredicate cancer(person)\n"
        "1.5: smokes(x) and friends(x, y) => smokes(y)\n0.4: smokes(x) => cancer(x)\n-0.7: smokes(x)\n"
        'friends("anna", "bob")\nfriends("bob", "carl")\nfriends("carl", "anna")\n'
    ),
    "hard": "type t = 1..4\npredicate p(t)\npredicate q(t)\nhard: p(x) or q(x)\n0.8: p(x) and q(y)\n",
    "nothing": "1.0: a => b\na\nb\n",
}
LASTING = {"exact", "lifted", "regions", "bp", "gibbs", "integer"}


def reached(state: Any) -> list[Any]:
    """All objects that a state holds, but for code."""
    seen: dict[int, Any] = {}
    waiting = [state]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, ModuleType | type | CodeType):
            continue
        seen[id(one)] = one
        inside = one.__closure__ or () if isinstance(one, FunctionType) else gc.get_referents(one)
        waiting += inside
    return list(seen.values())


def told(answer: Any) -> Any:
    return {name: value for name, value in answer.to_dict().items() if name != "seconds"}


@pytest.mark.parametrize("theory", THEORIES)
@pytest.mark.parametrize("name", [*INFERENCE, *WORLDS])
def test_a_lasting_state_begins_any_number_of_runs(name: str, theory: str) -> None:
    budget = Budget(seconds=1000.0)
    model = hb.Model(hb.parse(THEORIES[theory]))
    engine = engine_named("infer", name, Settings(budget))
    program = readable_by(engine, model.program)
    question = read_question((), program.signature, program.facts, name in WORLDS)
    try:
        state = first_state(engine, program, question)
    except HerbrandError:
        assert name not in LASTING
        return
    lasting = getattr(state, "lasting", False)
    assert lasting == (name in LASTING)
    if not lasting:
        return
    held = reached(state)
    assert not any(isinstance(one, Budget) and one.seconds is not None for one in held)
    before = [(one, one.copy()) for one in held if isinstance(one, np.ndarray)]
    answers = [told(engine.read(*settle(engine, lambda: state))) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert all(np.array_equal(one, copy, equal_nan=one.dtype.kind == "f") for one, copy in before)


@pytest.mark.parametrize("theory", THEORIES)
def test_a_model_asked_again_answers_as_a_new_one(theory: str) -> None:
    text = THEORIES[theory]
    model = hb.Model(hb.parse(text))
    ways: list[dict[str, Any]] = [{}, {"map": True}, {"seed": 3}, *({"engine": name} for name in LASTING)]
    for way in ways:
        if way.get("engine") == "integer":
            way["map"] = True
        expected = told(hb.Model(hb.parse(text)).infer(**way))
        for _ in range(3):
            assert told(model.infer(**way)) == expected


class Hours:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_call_has_its_own_clock() -> None:
    model, clock = hb.Model(hb.parse(THEORIES["smokers"])), Hours()
    limits = {"seconds": 60.0, "clock": clock}
    first = model.infer(within=Budget(**limits))
    clock.now += 3600.0
    assert told(model.infer(within=Budget(**limits))) == told(first)
    late = Budget(**limits)
    clock.now += 3600.0
    with pytest.raises(OutOfTimeError):
        model.infer('smokes("anna") and smokes("bob")', within=late)


def test_what_is_prepared_is_kept_for_the_latest_question_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Any] = []
    prepare = Exact.prepare

    def counted(self: Exact, program: Any, question: Any, within: Budget) -> Any:
        prepared.append(question)
        return prepare(self, program, question, within)

    monkeypatch.setattr(Exact, "prepare", counted)
    model = hb.Model(hb.parse(THEORIES["smokers"]))
    for _ in range(3):
        model.infer("smokes")
    assert len(prepared) == 1
    for given in ("cancer", "smokes", 'smokes("anna")'):
        model.infer(given)
    model.infer('smokes("anna")', given='smokes("bob")')
    model.infer('smokes("anna")', memory="1GB")
    assert len(prepared) == 6
    monkeypatch.setattr(choice, "MOST_KEPT", -1)
    for _ in range(2):
        model.infer("cancer")
    assert len(prepared) == 8
