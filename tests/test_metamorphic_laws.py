"""Changes to a theory that must not change a number: its order, its names, what has nothing to do with it.

Each law compares whole answers of ``infer``, ``bound`` and ``query`` before and after on random theories.
`make check-all` makes over 2,000 comparisons.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.show import show_formula
from tests.conftest import Outcome
from tests.engines.credal.ariel.networks import bayesian, independent
from tests.engines.proof.programs import goals, programs
from tests.fuzz.mutations import TOKEN
from tests.laws import Law, law
from tests.program_generators import models

SOME = settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MANY = 36
"""Random theories a law and a kind of question: 7 laws, 9 kinds."""
Numbers = dict[tuple[Any, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Task:
    """A theory's text and a question to it, as keyword arguments of a method of the model."""

    text: str
    method: str
    question: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def answer(self, theory: Any = None, **model: Any) -> dict[str, Any]:
        asked = hb.Model(hb.parse(self.text) if theory is None else theory, **model)
        question = [list(self.question)] if self.question else []
        return getattr(asked, self.method)(*question, **dict(self.options))

    def numbers(self, theory: Any = None, **model: Any) -> Numbers:
        answer = self.answer(theory, **model)
        if isinstance(answer, tuple):
            (answer,) = answer
        return numbers(answer.to_dict())

    def command(self) -> tuple[str, ...]:
        spelled = [word for name, value in self.options for word in (f"--{name}", str(value))]
        if self.method == "query":
            return ("query", "theory.hb", *self.question, *spelled)
        return (self.method, "theory.hb", *spelled)


def numbers(answer: Mapping[str, Any]) -> Numbers:
    """The rows of an answer in JSON, by what they are about."""
    rows: Numbers = {}
    for row in answer.get("marginals", ()):
        rows[row["predicate"], *row["arguments"], row["value"]] = (row["probability"],)
    for row in answer.get("bounds", ()):
        rows[(row["query"],)] = (row["lower"], row["upper"])
    for row in answer.get("answers", ()):
        rows[tuple(row["bindings"].values())] = (row["weight"],)
    return rows


def weighted(engine: str) -> st.SearchStrategy[Task]:
    return models(hard=True).map(lambda m: Task(hb.show(m[0]), "infer", (), (("engine", engine),)))


def bounded(engine: str, size: int) -> st.SearchStrategy[Task]:
    hidden = st.builds(bayesian, st.integers(0, 10_000), st.just(size)) | st.builds(
        independent, st.integers(0, 10_000), st.just(size), st.just(size)
    )
    return hidden.map(lambda h: Task(h.text, "bound", (), (("engine", engine),)))


@st.composite
def asked(draw: st.DrawFn, algebra: str) -> Task:
    program = draw(programs())
    goal = show_formula(draw(goals(program)))
    return Task(hb.show(program.model().theory), "query", (goal,), (("algebra", algebra), ("depth", 3)))


KINDS: Mapping[str, tuple[st.SearchStrategy[Task], float]] = {
    "infer exact": (weighted("exact"), 1e-9),
    "infer lifted": (weighted("lifted"), 1e-7),
    "infer auto": (weighted("auto"), 1e-7),
    "bound ariel": (bounded("ariel", 5), 1e-5),
    "bound exact": (bounded("exact", 3), 1e-5),
    "query count": (asked("count"), 1e-9),
    "query boolean": (asked("boolean"), 1e-9),
    "query max": (asked("max"), 1e-9),
    "query probability": (asked("probability"), 1e-9),
}


def same(found: Numbers, expected: Numbers, tolerance: float) -> None:
    assert set(found) == set(expected)
    for label, values in expected.items():
        assert found[label] == pytest.approx(values, abs=tolerance, rel=tolerance), label


def settled(task: Task) -> Numbers:
    """The numbers of the theory as it is; a refusal is no comparison."""
    try:
        return task.numbers()
    except hb.HerbrandError:
        assume(False)
        raise


def statements(text: str) -> list[str]:
    lines = text.splitlines()
    assert len(hb.parse(text).statements) <= len(lines), "a statement a line"
    return [line + "\n" for line in lines]


def shuffled(task: Task, rng: random.Random, tolerance: float) -> None:
    """Statements may stand in any order."""
    lines = statements(task.text)
    before = settled(task)
    rng.shuffle(lines)
    same(task.numbers(hb.parse("".join(lines))), before, tolerance)


def renamed(task: Task, rng: random.Random, tolerance: float) -> None:
    """Names say nothing: predicates and constants in quotes get others."""
    before = settled(task)
    predicates = set(re.findall(r"^predicate (\w+)", task.text, re.M)) or set(
        re.findall(r"\bx\d+", task.text)
    )
    texts = {json.loads(token) for token in TOKEN.findall(task.text) if token.startswith('"')}
    names = {name: f"n{rng.randrange(10**6)}_{k}" for k, name in enumerate(sorted(predicates))}
    values = {text: f"Ü {rng.randrange(10**6)} {k}" for k, text in enumerate(sorted(texts))}

    def new(token: str) -> str:
        return json.dumps(values[json.loads(token)]) if token[0] == '"' else names.get(token, token)

    def spelled(text: str) -> str:
        return "".join(map(new, TOKEN.findall(text)))

    def label(key: tuple[Any, ...]) -> tuple[Any, ...]:
        if task.method == "bound":
            return tuple(map(spelled, key))
        first = (
            [names[key[0]]] if task.method == "infer" else []
        )  # a constant may be called as a predicate is
        return (*first, *(values.get(part, part) for part in key[len(first) :]))

    other = Task(spelled(task.text), task.method, tuple(map(spelled, task.question)), task.options)
    expected = {label(key): row for key, row in before.items()}
    same(other.numbers(), expected, tolerance)


UNRELATED = """\
type zone = {"z1", "z2"}
predicate zoned(zone)
predicate zlink(zone, zone): observed
predicate zpath(zone, zone)
zlink("z1", "z2")
"""
ABOUT = {
    "infer": "0.7: zoned(x) and zlink(x, y) => zoned(y)\nhard: zoned(x) or zoned(y) where x != y\n",
    "bound": "P(z1) in [0.2, 0.3]\nP(z2 | z1) >= 0.4\n",
    "query": "zpath(x, y) :- zlink(x, y) @ 0.5\nzpath(x, y) :- zlink(x, z), zpath(z, y)\n",
}


def unrelated(task: Task, rng: random.Random, tolerance: float) -> None:
    """A part that shares nothing with the rest changes nothing there."""
    before = settled(task)
    declared = "" if task.method == "bound" else UNRELATED
    after = task.numbers(hb.parse(task.text + "\n" + declared + ABOUT[task.method]))
    same({key: row for key, row in after.items() if not str(key[:1]).startswith("('z")}, before, tolerance)


def doubled(task: Task, rng: random.Random, tolerance: float) -> None:
    """Hard facts, hard statements and bounds say no more when they stand twice."""
    before = settled(task)
    lines = statements(task.text)
    again = [
        line for line in lines if re.match(r"hard:|P\(|not \w+[(\n]|\w+(\([^~@]*\))?( = [^~]*)?\n", line)
    ]
    if task.method == "query":
        again = []  # facts may stand twice as little as rules: proofs are counted
    assume(again)
    same(
        task.numbers(hb.parse("".join(lines + rng.sample(again, rng.randint(1, len(again)))))),
        before,
        tolerance,
    )


def split(task: Task, rng: random.Random, tolerance: float) -> None:
    """Several files are one theory."""
    before = settled(task)
    lines = statements(task.text)
    cut = rng.randint(0, len(lines))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("one.hb", "two.hb")]
        for file, part in zip(files, (lines[:cut], lines[cut:]), strict=True):
            file.write_text("".join(part))
        same(task.numbers(hb.read(files)), before, tolerance)


def printed(task: Task, rng: random.Random, tolerance: float) -> None:
    """What the printer writes is the theory; so is every dialect that can hold it."""
    before = settled(task)
    theory = hb.parse(task.text)
    same(task.numbers(hb.parse(hb.show(theory))), before, tolerance)


def pickled(task: Task, rng: random.Random, tolerance: float) -> None:
    """A copy of the theory's value answers alike."""
    import copy

    before = settled(task)
    same(task.numbers(copy.deepcopy(hb.parse(task.text))), before, tolerance)


def stored(task: Task, rng: random.Random, tolerance: float) -> None:
    """On a database, where it can be said there, as in memory."""
    before = settled(task)
    assume(task.method != "infer")  # which has an engine there, mean field, with laws of its own
    assume(dict(task.options).get("engine") != "exact" and dict(task.options).get("algebra") != "probability")
    with tempfile.TemporaryDirectory() as folder:
        same(task.numbers(on=f"duckdb:{folder}/world.duckdb"), before, tolerance)


LAWS: Mapping[str, Callable[[Task, random.Random, float], None]] = {
    "shuffled": shuffled,
    "renamed": renamed,
    "unrelated": unrelated,
    "doubled": doubled,
    "split": split,
    "printed": printed,
    "pickled": pickled,
    "stored": stored,
}


def holding(name: str, about: str) -> Law:
    tasks, tolerance = KINDS[about]

    @law(tasks, st.integers(0, 10_000))
    def check(task: Task, seed: int) -> None:
        LAWS[name](task, random.Random(seed), tolerance)

    return check


PAIRS = [
    (name, about) for name in LAWS for about in KINDS if name != "doubled" or not about.startswith("query")
]
PAIRS = [
    pair
    for pair in PAIRS
    if pair[0] != "stored" or pair[1] in ("bound ariel", "query count", "query boolean", "query max")
]


@pytest.mark.parametrize(("name", "about"), PAIRS)
def test_change(name: str, about: str) -> None:
    holding(name, about).holds(SOME)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "about"), PAIRS)
def test_change_many(name: str, about: str) -> None:
    holding(name, about).holds(SOME, max_examples=MANY)


@pytest.mark.parametrize("about", KINDS)
def test_command_line(
    about: str, tmp_path: Path, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line answers what Python does, to the last digit."""
    monkeypatch.chdir(tmp_path)
    tasks, _ = KINDS[about]

    @law(tasks)
    def check(task: Task) -> None:
        before = settled(task)
        Path("theory.hb").write_text(task.text)
        outcome = herbrand(*task.command(), "--format", "json")
        assert numbers(json.loads(outcome.out)) == before

    check.holds(SOME)
