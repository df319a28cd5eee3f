"""Engines side by side: differences are those of the answers; a changed model has a name of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, LanguageError
from tests.conftest import Outcome

LOOP = """\
type t = {"a", "b", "c"}
predicate f(t, t)
predicate colour(t) in {"red", "blue"}
1.2: f(x, y) and f(y, z) => f(x, z) where x != y and y != z and x != z
0.4: f(x, y) => colour(x) = "red"
"""


@pytest.fixture(scope="module")
def loop() -> hb.Model:
    return hb.Model(hb.parse(LOOP))


def test_every_figure_is_that_of_the_answers(loop: hb.Model) -> None:
    found = hb.compare(loop, ["bp", "exact", "mean-field"], given='colour("c") = "red"')
    exact = loop.infer(engine="exact", given='colour("c") = "red"')
    assert list(found.answers) == ["bp", "exact", "mean-field"] and not found.failures
    for name in found.answers:
        own = loop.infer(engine=name, given='colour("c") = "red"')
        pairs = zip(own.rows(), exact.rows(), strict=True)
        assert found.largest_difference(name) == max(abs(a.probability - b.probability) for a, b in pairs)
    told = json.loads(json.dumps(found.to_dict()))
    assert [row["atom"] for row in told["marginals"]] == [row.text for row in exact.rows()]
    assert [row["exact"] for row in told["marginals"]] == [row.probability for row in exact.rows()]
    assert found.to_arrow().column_names == ["atom", "bp", "exact", "mean-field"]
    assert found.to_pandas()["bp"].tolist() == [row["bp"] for row in told["marginals"]]
    assert len(found) == len(list(found.cells())) == len(exact)
    assert found.title.split(", ")[1] == "exact (off by at most 0.0e+00)"


def test_without_the_exact_answer_no_difference_is_told(loop: hb.Model) -> None:
    found = hb.compare(loop, ["bp", "mean-field"])
    assert found.largest_difference("bp") is None and found.title == "bp, mean-field"
    assert all(engine["largest_difference"] is None for engine in found.to_dict()["engines"])


def test_what_has_not_converged_is_told_and_who_has_no_answer(loop: hb.Model) -> None:
    found = hb.compare(loop, ["exact", "bp", "nonesuch"], iterations=1)
    bp = found.answers["bp"]
    assert not bp.status.converged and not found.to_dict()["engines"][1]["converged"]
    assert list(found.summary())[1][1] == "approximation, not converged"
    assert f"bp (not converged, off by at most {found.largest_difference('bp'):.1e})" in found.title
    assert found.title.endswith("; without an answer: nonesuch")


def test_a_changed_model_has_another_name(
    loop: hb.Model, tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    found = hb.compare(loop, ["mean-field"], clip=0.5)
    assert found.heads == ("atom", "mean-field (clip 0.5)")
    told = found.to_dict()
    assert told["engines"][0]["engine"] == "mean-field (clip 0.5)"
    assert "mean-field (clip 0.5)" in told["marginals"][0]
    (tmp_path / "loop.hb").write_text(LOOP)
    named = ("--engine", "mean-field", "--engine", "bp")
    outcome = herbrand("compare", tmp_path / "loop.hb", *named, "--clip", "0.5")
    assert outcome.status == 0
    heads = [line for line in outcome.out.splitlines() if line.startswith("atom")]
    assert heads[0].split("  ")[-1].strip() == "mean-field (clip 0.5)"
    assert "bp does not use --clip" in outcome.out


def test_engines_that_cannot_are_told_and_others_go_on(loop: hb.Model) -> None:
    found = hb.compare(loop, ["bp", "exact", "nonesuch"], query='f("a", "b") or f("b", "a")')
    assert list(found.answers) == ["exact"] and list(found.failures) == ["bp", "nonesuch"]
    rows = list(found.summary())
    assert rows[0][:2] == ("exact", "exact") and rows[1][:2] == ("bp", "cannot run")
    assert "there is no engine 'nonesuch' for infer" in rows[2][-1]
    assert [failure["engine"] for failure in found.to_dict()["failures"]] == ["bp", "nonesuch"]


def test_a_reason_is_one_line_without_place_and_advice() -> None:
    found = hb.compare(hb.Model(hb.parse("0.3 :: rain")), ["circuit", "bp"])
    assert found.failures == {"bp": "bp cannot use this statement: 0.3 :: rain"}


def test_where_none_can_the_reasons_are_the_error(loop: hb.Model) -> None:
    with pytest.raises(HerbrandError, match="there is no engine 'nonesuch' for infer"):
        hb.compare(loop, ["nonesuch"])
    with pytest.raises((HerbrandError, LanguageError), match="there is no predicate 'g'"):
        hb.compare(loop, query="g")


def test_nothing_to_compare() -> None:
    found = hb.compare(hb.Model(hb.parse("hard: p\np")))
    assert len(found) == 0 and found.largest_difference("exact") == 0.0
    assert found.to_dict()["marginals"] == []
