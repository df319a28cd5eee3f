"""Runs of ground facts in ``.pl`` files have the clauses, places and messages of the general reader."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from herbrand.errors import LanguageError, Source
from herbrand.language.dialects.problog import theory
from herbrand.language.dialects.problog.goals import PrologClause
from herbrand.language.dialects.problog.ground_facts import GroundFacts
from herbrand.language.dialects.problog.theory import read_pl

CONSTANTS = [
    "a",
    "b1",
    "aB_c",
    "0",
    "17",
    "007",
    "2.50",
    "'A b'",
    "'it, (is)'",
    "'%'",
    "is",
    "mod",
    "not",
    "é",
]
UNUSUAL = ["-3", "- 3", "1e3", "0x1F", "'it''s'", "'\\n'", '"t"', "X", "_", "f(a)", "3a", "9" * 30, "[a]"]
BEFORE = [
    "",
    "0.3::",
    "0.30 :: ",
    "1::",
    "1/3::",
    "t(_)::",
    "1.5::",
    "0.2::c; 0.3::",
    "X::",
    "% 0.3::p(a).\n",
]
NAMES = ["p", "q", "p(a) :- q", "query", "evidence", "true", "call", "\\+p", "is", "Q", "'q'", "é"]
BETWEEN = ["\n", " ", "\n% why. p(a).\n%%\n", " /* p(b). */ ", "\n\n  "]


def _located(value: Any) -> Any:
    """A value with the spans of all of its parts, which do not take part in equality."""
    if isinstance(value, tuple | list):
        return [_located(one) for one in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, Source):
        return value
    return type(value).__name__, {
        one.name: _located(getattr(value, one.name)) for one in dataclasses.fields(value)
    }


def _read(text: str) -> Any:
    """The located clauses of a text, or its messages."""
    try:
        reader = theory._Reader(Source("t.pl", text))
    except LanguageError as error:
        return str(error)
    return _located(reader._clauses), _located(reader._evidence), _located(reader._conditional)


def _both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    quickly = _read(text)
    with monkeypatch.context() as patched:
        patched.setattr(GroundFacts, "read", lambda self, start: start)
        return quickly, _read(text)


def _clause(random: random.Random, usual: float) -> str:
    def one(often: list[str], rarely: list[str]) -> str:
        return random.choice(often if random.random() < usual else rarely)

    comma, end = random.choice([",", ", ", " ,\n "]), one([".", " ."], ["", ". .", "!.", ".5."])
    arguments = [one(CONSTANTS, UNUSUAL) for _ in range(random.choice([0, 1, 2, 2, 3]))]
    inside = f"({random.choice(['', ' '])}{comma.join(arguments)})" if arguments else ""
    before = one(BEFORE[:4], BEFORE)
    count = random.randrange(1, 4) if "::" in before else 1
    heads = [one([before], BEFORE) + one(NAMES[:2], NAMES) + inside for _ in range(count)]
    return random.choice(["; ", " ;% or\n"]).join(heads) + end + random.choice(BETWEEN)


@pytest.mark.parametrize("usual", [1.0, 0.97, 0.7])
def test_runs_of_facts_are_read_as_single_clauses_are(usual: float, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(int(100 * usual))
    for _ in range(300):
        text = "".join(_clause(draw, usual) for _ in range(draw.randrange(1, 12)))
        quickly, singly = _both_ways(text, monkeypatch)
        assert quickly == singly, text


def test_facts_after_the_first_are_read_in_runs() -> None:
    text = "".join(f"0.{i}::edge(a, {i}).  % the {i}th\n" for i in range(1, 10))
    read = list[PrologClause]()
    assert GroundFacts(Source("t.pl", text), {"edge": {2: "edge"}}, read).read(0) == text.rindex("  %")
    assert [clause.chances for clause in read] == [(i / 10,) for i in range(1, 10)]


def test_many_comments_before_a_mistake_take_no_time() -> None:
    text = "p(a).\n" + "%% % %%%% % %%\n" * 5_000 + "p(b) :- q(.\n"
    with pytest.raises(LanguageError, match=r"t\.pl:5002:"):
        read_pl(Source("t.pl", text))
