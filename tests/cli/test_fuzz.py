"""Damaged theories and tables: every command answers or says what is wrong, without traceback or hang.

``make check-all`` tries over 20,000 of them.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Outcome

SECONDS, COMPILING = 10, 100
WEIGHTS = """\
type person
predicate friends(person, person): observed
predicate smokes(person)
predicate mood(person) in {"good", "bad"}
predicate rich(person)
hard: smokes(x) <=> rich(x)
1.1: smokes(x) and friends(x, y) => smokes(y)
-0.7: not (exists y: friends(x, y)) or mood(x) = "good"
smokes("anna")
not smokes("gary")
mood("bob") = "bad"
smokes("carl") ~ 0.6
"""
LEARNED = """\
predicate smokes(person)
predicate cancer(person)
?: smokes(x) => cancer(x)
?: cancer(x)
smokes("anna")
cancer("bob")
"""
BOUNDS = """\
[one] P(a) in [0.2, 0.4]
[two] P(b | a and not c) in [0.5, 0.6]
P(c) = 0.3
P(b or c) <= 0.9
"""
RULES = """\
reach(x, y) :- link(x, y) @ 0.5
reach(x, y) :- link(x, z), reach(z, y), x != y
alone(x) :- node(x), not link(x, x)
node("a")
link("a", "b")
"""
FACTS = "person1,person2\nanna,bob\nbob,carl\ncarl,anna\n"
LINKS = '{"from": "a", "to": "b"}\n{"from": "b", "to": "c"}\n'
PIECES = [
    *"()[]{}\"',:|~?@=<-0x_#é%;\\ \t\r\n\0\u2028\ufeff\udc80",
    *(":-", "=>", "<=>", "not", "and", "or", "exists x:", "hard:", "P(", "in", "?[w]", "!=", ".."),
    *("1e999", "nan", "-1", "0.5", "99999999999999999999", "true", "false"),
    *("person", '"anna"', "observed", "type", "predicate"),
]
STORED = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate mood(person) in {"good", "bad"}
1.1: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x) or mood(x) = "good"
smokes("anna")
mood("bob") = "bad"
smokes("carl") ~ 0.6
"""
HOUSES = """\
predicate next(house, house): observed
predicate dog(house): observed
predicate warned(house)
"""
RESULT = """\
{"engine": "exact", "guarantee": "exact", "converged": true, "marginals": [
{"atom": "smokes(\\"anna\\")", "predicate": "smokes", "arguments": ["anna"],
"probability": 0.7, "value": null},
{"atom": "smokes(\\"bob\\")", "predicate": "smokes", "arguments": ["bob"],
"probability": 0.2, "value": null}]}
"""
TOWNS = {f"towns/{town}/next.csv": "a,b\nb,c\nc,d\n" for town in "pqr"}
TOWNS |= {f"towns/{town}/{name}.csv": "c\n" for town in "pqr" for name in ("dog", "warned")}


@dataclass(frozen=True)
class Subject:
    """Files that may be damaged, the first more often than the others, and a command in their folder."""

    files: Mapping[str, str]
    command: tuple[str, ...]


def weighted(*command: str) -> Subject:
    """A command on the theory of weights and its table."""
    first, *options = command
    files = {"theory.hb": WEIGHTS, "friends.csv": FACTS}
    return Subject(files, (first, "theory.hb", "--facts", "friends.csv", *options))


SUBJECTS = {
    "check": weighted("check"),
    "infer": weighted("infer", "--time-limit", "5"),
    "map": weighted("infer", "--map", "--engine", "mean-field", "--iterations", "20"),
    "bp": weighted("infer", "--engine", "bp", "--iterations", "20"),
    "lifted": weighted("infer", "--engine", "lifted"),
    "regions": weighted("infer", "--engine", "regions", "--iterations", "10"),
    "gibbs": weighted("infer", "--engine", "gibbs", "--iterations", "50"),
    "database": Subject(
        {"theory.hb": STORED, "friends.csv": FACTS},
        ("infer", "theory.hb", "--facts", "friends.csv", "--on", "duckdb:world.duckdb", "--iterations", "3"),
    ),
    "bound": Subject({"theory.hb": BOUNDS}, ("bound", "theory.hb", "--time-limit", "5")),
    "ariel": Subject({"theory.hb": BOUNDS}, ("bound", "theory.hb", "--engine", "ariel")),
    "query": Subject(
        {"theory.hb": RULES, "link.jsonl": LINKS},
        ("query", "theory.hb", "--facts", "link.jsonl", 'reach("a", y)'),
    ),
    "learn": Subject(
        {"theory.hb": LEARNED, "smokes.csv": "anna\nbob\n"},
        ("learn", "theory.hb", "--facts", "smokes.csv", "--iterations", "20"),
    ),
    "explain": weighted("explain", 'smokes("bob")'),
    "convert": Subject({"theory.hb": WEIGHTS}, ("convert", "theory.hb")),
    "compare": weighted("compare", "--engine", "exact", "--engine", "bp"),
    "score": Subject(
        {"result.json": RESULT, "smokes.csv": "person,truth\nanna,true\nbob,false\n"},
        ("score", "result.json", "--facts", "smokes.csv"),
    ),
    "induce": Subject(
        {"theory.hb": HOUSES, **TOWNS},
        ("induce", "theory.hb", "--target", "warned", "--worlds", "towns", "--budget", "0.002"),
    ),
}


def damaged(text: str, rng: random.Random) -> str:
    """One to three cuts, doublings, exchanges and insertions."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 2, 5, 20)))
        match rng.randrange(4):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                text = text[:start] + rng.choice(PIECES) + text[end:]
            case _:
                text = text[:start] + rng.choice(PIECES) + text[start:]
    return text


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fuzz(name: str, count: int, seed: int, herbrand: Callable[..., Outcome]) -> None:
    """In the folder that the process is in."""
    subject = SUBJECTS[name]

    def run(files: Mapping[str, str]) -> Outcome:
        Path("world.duckdb").unlink(missing_ok=True)
        for file, text in files.items():
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_bytes(text.encode(errors="surrogateescape"))
        return herbrand(*subject.command)

    assert run(subject.files).status in (0, 3), "what is not damaged runs"
    rng = random.Random(f"{name} {seed}")
    first, *others = subject.files
    for _ in range(count):
        chosen = rng.choice(others) if others and rng.random() < 0.3 else first
        files = {**subject.files, chosen: damaged(subject.files[chosen], rng)}
        try:
            with limited(SECONDS):
                outcome = run(files)
        except TimeoutError:  # in a fresh clone the first use of a kernel compiles it
            with limited(COMPILING):
                run(files)
            with limited(SECONDS):
                outcome = run(files)
        assert outcome.status in (0, 1, 3), (files, outcome)
        assert "Traceback" not in outcome.err, files
        assert outcome.out or outcome.status == 1, (files, outcome)
        assert outcome.status != 1 or len(outcome.err) > 10, files


@pytest.mark.parametrize("name", SUBJECTS)
def test_some_damage(
    name: str, tmp_path: Path, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERBRAND_DEBUG", "1")
    monkeypatch.chdir(tmp_path)
    fuzz(name, 12, 0, herbrand)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("name", SUBJECTS)
def test_much_damage(
    name: str, seed: int, tmp_path: Path, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERBRAND_DEBUG", "1")
    monkeypatch.chdir(tmp_path)
    fuzz(name, 150, seed, herbrand)
