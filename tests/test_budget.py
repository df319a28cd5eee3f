"""The clock and the memory of one call, by a clock that counts how often it is asked."""

from __future__ import annotations

import math
import pickle
import signal
from dataclasses import dataclass

import pytest

from herbrand import budget as module
from herbrand.budget import UNLIMITED, Budget, allowed_bytes
from herbrand.errors import BudgetError, OutOfTimeError


@dataclass
class Ticking:
    """A second passes whenever it is asked."""

    now: float = -1.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@dataclass
class Still:
    """The time is what it is set to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_loop_ends_when_the_clock_does() -> None:
    budget, rounds = Budget(seconds=5, clock=Ticking()), 0
    with pytest.raises(OutOfTimeError, match="allow more by --time-limit"):
        while True:
            budget.check()
            rounds += 1
    assert rounds == 4


def test_items_ask_the_clock_now_and_then() -> None:
    clock = Ticking()
    assert list(Budget(seconds=100, clock=clock).each(range(1000), every=100)) == list(range(1000))
    assert clock.now == 10
    taken = []
    with pytest.raises(OutOfTimeError):
        taken.extend(Budget(seconds=3, clock=Ticking()).each(range(1000), every=100))
    assert len(taken) == 200


def test_a_share_is_of_the_time_that_is_left() -> None:
    clock = Still()
    budget = Budget(memory=7, seconds=10, clock=clock)
    clock.now = 4.0
    part = budget.share(0.5)
    assert (part.seconds_left, budget.seconds_left) == (3.0, 6.0)
    assert part.memory == 7
    clock.now = 7.0
    assert part.ended and not budget.ended
    with pytest.raises(OutOfTimeError):
        part.check()
    budget.check()
    clock.now = 20.0
    assert budget.ended and budget.seconds_left == 0.0
    assert budget.share(0.5).ended


def test_no_more_than_what_is_left() -> None:
    clock = Still()
    budget = Budget(seconds=10, clock=clock)
    assert budget.at_most(3).seconds_left == 3
    assert budget.at_most(30).seconds_left == 10
    assert UNLIMITED.at_most(3).seconds_left <= 3


def test_answers_have_a_little_longer() -> None:
    clock = Still()
    budget = Budget(seconds=10, clock=clock)
    clock.now = 10.5
    assert budget.ended and not budget.for_answering().ended
    clock.now = 11.0
    assert budget.for_answering().ended


def test_without_limits_nothing_ends() -> None:
    assert UNLIMITED.seconds_left == math.inf and not UNLIMITED.ended
    assert UNLIMITED.bytes == allowed_bytes()
    assert UNLIMITED.share(0.1) is UNLIMITED and UNLIMITED.for_answering() is UNLIMITED
    UNLIMITED.check()


def test_a_claim_above_the_limit_is_refused() -> None:
    budget = Budget(memory=1000)
    budget.claim(1000, "the table")
    with pytest.raises(BudgetError, match="the table needs about 1001 B, and 1000 B are allowed"):
        budget.claim(1001, "the table")
    with pytest.raises(BudgetError) as refusal:
        budget.claim(math.inf, "it")
    assert not isinstance(refusal.value, OutOfTimeError)


def test_growth_of_the_process_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    held, clock = [5_000], Still()
    monkeypatch.setattr(module, "resident_bytes", lambda: held[0])
    budget = Budget(memory=1000, clock=clock)
    assert budget.bytes_left == 1000 + module.OVERHEAD
    held[0] += 1000 + module.OVERHEAD
    clock.now = 1.0
    budget.check()
    assert budget.bytes_left == 0 and Budget().bytes_left == Budget().bytes
    held[0] += 1
    budget.check()  # too soon to be measured again
    clock.now = 2.0
    with pytest.raises(BudgetError, match="the process has grown by"):
        budget.check()
    clock.now = 3.0
    with pytest.raises(BudgetError):
        budget.share(0.5).check()


def test_a_command_is_measured_without_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some took all of the machine's memory: what they claimed was less than what they used."""
    held, clock = [5_000], Still()
    monkeypatch.setattr(module, "resident_bytes", lambda: held[0])
    monkeypatch.setattr(module.GUARDS, "own_process", True)
    budget = Budget(clock=clock)
    held[0], clock.now = budget.bytes + module.OVERHEAD + 10_000, 1.0
    with pytest.raises(BudgetError, match="the process has grown by"):
        budget.check()


def test_a_command_that_has_answered_is_not_ended() -> None:
    """The timer could end it while it exits: the answer was written, and the status told of none."""
    guards = module.Guards()
    guards.own_process = True
    try:
        guards.keep(Budget(seconds=50.0))
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        guards.answered()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_equal_limits_are_equal_budgets_and_travel() -> None:
    first = Budget(memory=5, seconds=2.0, clock=Still(1.0))
    assert first == Budget(memory=5, seconds=2.0, clock=Still(9.0))
    assert first != Budget(memory=6, seconds=2.0)
    sent = pickle.loads(pickle.dumps(Budget(memory=5, seconds=1e6)))
    assert sent.memory == 5 and 0 < sent.seconds_left <= 1e6
