"""The cases are the same every time, and the judge can say no. What they find is for ``make limits``."""

from __future__ import annotations

from pathlib import Path

import pytest

from herbrand.errors import HerbrandError
from herbrand.language.check import check
from herbrand.language.files import read
from tests.limits.__main__ import table
from tests.limits.families import FAMILIES
from tests.limits.trial import BESIDE, MB, Case, Ran


def judged(seconds: float = 1.0, peak: int = 0, status: int = 0, limit: float = 2.0) -> Ran:
    return Ran(Case(0, "grid", 300 * MB, limit), "infer", status, seconds, seconds, peak, "")


def test_cases_are_drawn_again_alike() -> None:
    assert [Case.drawn(number) for number in range(30)] == [Case.drawn(number) for number in range(30)]
    assert {Case.drawn(number).family for number in range(30)} == set(FAMILIES)


def test_the_judge() -> None:
    assert judged().kept
    assert judged(seconds=3.0).kept and not judged(seconds=3.1).kept
    assert judged(seconds=12.0, limit=10.0).kept and not judged(seconds=12.1, limit=10.0).kept
    assert judged(peak=300 * MB + BESIDE).kept and not judged(peak=301 * MB + BESIDE).kept
    assert not judged(status=-9).kept and not judged(status=-6).kept
    assert "| grid | 2 | 1 |" in table([judged(), judged(seconds=9.0)])


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"long string", "many rows"}))
def test_what_is_drawn_is_a_theory(family: str, tmp_path: Path) -> None:
    """The first case of a family whose theory is small is one that can be read, or refused in words."""
    number = next(n for n in range(3000) if Case.drawn(n).family == family)
    (tmp_path / "files").mkdir()
    command = Case(number, family, 300 * MB, 1.0).arguments(tmp_path / "files")
    text = Path(command[1]).read_text()
    if len(text) < 20_000:
        try:
            assert check(read(command[1])).predicates
        except HerbrandError as error:
            assert "deep" in str(error) or "nested" in str(error)
