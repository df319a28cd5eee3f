"""Small networks run as plain Python; compiled, or tried and then compiled, they have the same bounds."""

from __future__ import annotations

from typing import Any

import pytest

import herbrand as hb
from herbrand import loops
from herbrand.engines.credal.ariel.simplex import tried, workspace

FEATURES = """
P(f1) in [0.2, 0.3]
P(f2) in [0.4, 0.6]
P(f3) in [0.1, 0.5]
P(f4) in [0.3, 0.4]
P(y) in [0.1, 0.7]
P(f1 | y) in [0.4, 0.6]
P(f2 and not f3 | y) in [0.1, 0.4]
P(y | f1 and not f2 and f4) in [0.2, 0.9]
P(f3 or f4 | f1) in [0.3, 0.8]
P(f3 | f1 and f2) in [0.2, 0.4]
P(f3 | f1 and not f2) in [0.5, 0.6]
P(f3 | not f1 and f2) in [0.1, 0.2]
P(f3 | not f1 and not f2) in [0.05, 0.15]
"""
EVER_MORE = (-1.0, 300.0, 3_000.0, 1e12)
"""Nothing runs as plain Python, some of it, most, all."""


ALARM = """
P(b) in [0.02, 0.05]
P(e) in [0.01, 0.03]
P(a | b or e) in [0.85, 0.95]
P(a | not b and not e) in [0.001, 0.01]
P(m | a) in [0.6, 0.8]
P(m | not a) in [0.02, 0.05]
P(a) in [0.04, 0.06]
"""
CHAIN = """
P(a) in [0.2, 0.4]
P(b | a) in [0.5, 0.9]
P(b | not a) in [0.1, 0.6]
P(c) in [0.3, 0.8]
P(d | b and c) in [0.3, 0.7]
P(d | b and not c) in [0.2, 0.7]
P(d | not b and c) in [0.1, 0.6]
P(d | not b and not c) in [0.1, 0.9]
"""


@pytest.mark.parametrize(
    ("theory", "query", "mode"),
    [
        (FEATURES, "P(f3 | y)", "sound"),
        (FEATURES, "P(y | f1 and not f2 and f4)", "sound"),
        (ALARM, "P(b | m)", "sound"),
        (CHAIN, "P(d)", "paper"),
    ],
)
def test_bounds_are_the_same_however_they_run(
    theory: str, query: str, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for most in EVER_MORE:
        monkeypatch.setattr(loops, "MOST_PLAIN", most)
        loops.OPERATIONS.clear()
        answer = hb.Model(hb.parse(theory)).bound(query, engine="ariel", mode=mode)
        found.append((*answer.lower, *answer.upper))
    assert found[1:] == [pytest.approx(found[0], abs=1e-12)] * 3


def test_what_does_not_end_as_plain_python_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def programs() -> int:
        return 0

    def run(function: object, room: object, again: bool) -> int:
        runs.append((function is programs, again))
        room.left[0] -= 50  # type: ignore[attr-defined]
        return 7

    monkeypatch.setattr(loops, "MOST_PLAIN", 80.0)
    room = workspace(2, 2)
    assert tried(programs, room, run) == 7 and runs == [(True, True)]
    assert tried(programs, room, run) == 7 and runs[1:] == [(True, True), (False, False)]
    assert tried(programs, room, run) == 7 and runs[3:] == [(False, False)]
    hurried = workspace(2, 2, seconds=1e-9)
    loops.OPERATIONS.clear()
    assert tried(programs, hurried, run) == 7 and runs[4:] == [(True, False)], "where time ends first it ends"
