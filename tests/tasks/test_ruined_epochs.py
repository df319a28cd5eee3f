"""An epoch that ruins a policy is undone, and the school goes on from before it."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from benchmarks.games.schools import school_of
from herbrand.tasks.curriculum import Curriculum, Lesson, Schooling

LESSONS = Curriculum(first=4, last=4, epochs=60, lessons=4, games=8, exam_games=40)


def lessons(school: Schooling, count: int) -> list[Lesson]:
    found = school.run()
    return [lesson for lesson, _ in zip(found, range(count), strict=False)]


def ruin(school: Schooling) -> None:
    """Weights under which the policy does the same whatever it sees."""
    with torch.no_grad():
        for parameter in school.policy.parameters():
            parameter.zero_()


def taught() -> Schooling:
    """A school of one's own, at the end of the same lessons."""
    return copy.deepcopy(_taught())


@cache
def _taught() -> Schooling:
    school = school_of("sorting", LESSONS, seed=2)
    success = 0.0
    while success < 0.6:
        success = lessons(school, 1)[0].success
    return school


def test_a_ruined_policy_is_taken_back() -> None:
    school = taught()
    ruin(school)
    low, after = lessons(school, 2)
    assert low.success < 0.3, "the exam tells what happened"
    assert after.success > 0.5, "and the next one is of what was before"


def test_without_the_rule_it_stays_ruined() -> None:
    school = taught()
    school.curriculum = replace(LESSONS, ruined=0.0)
    ruin(school)
    assert all(lesson.success < 0.5 for lesson in lessons(school, 2))


def test_a_school_goes_on_from_a_ruin_as_if_not_stopped(tmp_path: Path) -> None:
    straight, stopped = taught(), taught()
    for school in (straight, stopped):
        ruin(school)
    stopped.save(tmp_path / "school.safetensors")
    resumed = school_of("sorting", LESSONS, seed=2)
    resumed.resume(tmp_path / "school.safetensors")
    for one, other in zip(lessons(straight, 3), lessons(resumed, 3), strict=True):
        assert (one.success, one.sampled, one.moves) == (other.success, other.sampled, other.moves)
    for one, other in zip(straight.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_was_learned_before_is_not_changed_by_learning_on() -> None:
    school = taught()
    ruin(school)
    lessons(school, 1)  # takes back, and learns on from there
    ruin(school)
    assert lessons(school, 2)[1].success > 0.5, "twice in a row is undone twice"
