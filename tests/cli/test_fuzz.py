"""Damaged theories and tables: every command answers or says what is wrong, without traceback or hang.

``make check-all`` tries over 20,000 of them.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
MEAN_FIELD = ("infer", "--map", "--engine", "mean-field", "--iterations", "20")
SUBJECTS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "check": (WEIGHTS, "friends.csv", FACTS, ("check",)),
    "infer": (WEIGHTS, "friends.csv", FACTS, ("infer", "--time-limit", "5")),
    "map": (WEIGHTS, "friends.csv", FACTS, MEAN_FIELD),
    "bp": (WEIGHTS, "friends.csv", FACTS, ("infer", "--engine", "bp", "--iterations", "20")),
    "lifted": (WEIGHTS, "friends.csv", FACTS, ("infer", "--engine", "lifted")),
    "bound": (BOUNDS, "", "", ("bound", "--time-limit", "5")),
    "ariel": (BOUNDS, "", "", ("bound", "--engine", "ariel")),
    "query": (RULES, "link.jsonl", LINKS, ("query",)),
    "learn": (LEARNED, "smokes.csv", "anna\nbob\n", ("learn", "--iterations", "20")),
    "explain": (WEIGHTS, "friends.csv", FACTS, ("explain",)),
    "convert": (WEIGHTS, "", "", ("convert",)),
    "compare": (WEIGHTS, "friends.csv", FACTS, ("compare", "--engine", "exact", "--engine", "bp")),
}
"""Theory, name and rows of a table, command."""
LAST = {"query": ('reach("a", y)',), "explain": ('smokes("bob")',)}


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


def fuzz(name: str, count: int, seed: int, folder: Path, herbrand: Callable[..., Outcome]) -> None:
    theory, table, rows, command = SUBJECTS[name]

    def run(theory: str, rows: str) -> Outcome:
        (folder / "theory.hb").write_bytes(theory.encode(errors="surrogateescape"))
        arguments = [*command[:1], str(folder / "theory.hb"), *command[1:]]
        if table:
            (folder / table).write_bytes(rows.encode(errors="surrogateescape"))
            arguments += ["--facts", str(folder / table)]
        return herbrand(*arguments, *LAST.get(name, ()))

    assert run(theory, rows).status in (0, 3), "what is not damaged runs"
    rng = random.Random(f"{name} {seed}")
    for _ in range(count):
        spoil_rows = table and rng.random() < 0.3
        texts = (theory, damaged(rows, rng)) if spoil_rows else (damaged(theory, rng), rows)
        try:
            with limited(SECONDS):
                outcome = run(*texts)
        except TimeoutError:  # in a fresh clone the first use of a kernel compiles it
            with limited(COMPILING):
                run(*texts)
            with limited(SECONDS):
                outcome = run(*texts)
        assert outcome.status in (0, 1, 3), (texts, outcome)
        assert "Traceback" not in outcome.err, texts
        assert outcome.out or outcome.status == 1, (texts, outcome)
        assert outcome.status != 1 or len(outcome.err) > 10, texts


@pytest.mark.parametrize("name", SUBJECTS)
def test_some_damage(
    name: str, tmp_path: Path, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERBRAND_DEBUG", "1")
    fuzz(name, 12, 0, tmp_path, herbrand)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("name", SUBJECTS)
def test_much_damage(
    name: str, seed: int, tmp_path: Path, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERBRAND_DEBUG", "1")
    fuzz(name, 220, seed, tmp_path, herbrand)
