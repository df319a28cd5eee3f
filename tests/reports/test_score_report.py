"""A whole score against plain loops: rows that have a label, predicate by predicate and together."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import FactsError, HerbrandError
from herbrand.reports.result_file import Scored
from herbrand.reports.score import ScoreReport, read_labels, score, score_file
from tests.laws import tries
from tests.oracles import ranking

coarse = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
NAMES = "abcdefgh"


@st.composite
def results(draw: st.DrawFn) -> tuple[list[Scored], dict, list[str]]:
    rows = [
        Scored(f'{predicate}("{name}")', predicate, (name,), draw(coarse))
        for predicate in ("p", "q")
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    ]
    atoms = [(predicate, (name,)) for predicate in ("p", "q") for name in NAMES]
    labels = {atom: draw(st.booleans()) for atom in draw(st.lists(st.sampled_from(atoms), unique=True))}
    named = sorted({str(row.predicate) for row in rows})
    return rows, labels, draw(st.lists(st.sampled_from(named), unique=True)) if named else []


@given(results())
@settings(max_examples=tries(60), deadline=None, phases=[Phase.reuse, Phase.generate])
def test_figures_are_those_of_loops(drawn: tuple[list[Scored], dict, list[str]]) -> None:
    rows, labels, closed = drawn
    judged = []
    for row in rows:
        label = labels.get((row.predicate, row.arguments), False if row.predicate in closed else None)
        if label is not None:
            judged.append((row.predicate, label, row.probability))
    if not judged:
        with pytest.raises(HerbrandError, match="no row of the result has a label"):
            score(rows, labels, closed)
        return
    found = score(rows, labels, closed)
    have = {(row.predicate, row.arguments) for row in rows}
    assert found.missing == len([atom for atom in labels if atom not in have])
    assert set(found.predicates) == {predicate for predicate, _, _ in judged}
    for name, told in [*found.predicates.items(), (None, found.pooled)]:
        own = [(y, p) for predicate, y, p in judged if name in (None, predicate)]
        truth, chances = zip(*own, strict=True)
        assert (told.rows, told.true) == (len(own), sum(truth))
        assert told.unlabelled == sum(1 for row in rows if name in (None, row.predicate)) - len(own)
        assert told.log_loss == pytest.approx(ranking.log_loss(truth, chances))
        assert told.brier == pytest.approx(sum((p - y) ** 2 for y, p in own) / len(own))
        assert told.calibration_error == pytest.approx(ranking.calibration_error(truth, chances))
        right = [0.5 if p == 0.5 else float((p > 0.5) == y) for y, p in own]
        assert told.accuracy == pytest.approx(sum(right) / len(right))
        if any(truth):
            expected = ranking.average_precision_with_ties_kept(truth, chances)
            assert told.average_precision == pytest.approx(expected)
        else:
            assert math.isnan(told.average_precision)
    every_form(found)


def every_form(report: ScoreReport) -> None:
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(told["predicates"]) == set(report.predicates) and told["rows"] == report.pooled.rows
    assert sum(one["rows"] for one in told["calibration"]) == report.pooled.rows
    assert len(list(report.cells())) == len(report) == report._repr_html_().count("<tr>") - 1
    table = report.to_arrow().to_pylist()
    assert [row["predicate"] for row in table] == [*report.predicates, ""]
    assert len(list(report.bin_cells())) == len(report.pooled.bins)


def row(name: str, probability: float) -> Scored:
    return Scored(f'p("{name}")', "p", (name,), probability)


def test_one_row_and_the_ends() -> None:
    """A probability of 0 for what is true is kept from an infinite loss, and 1 lies in the last interval."""
    found = score([row("a", 0.0)], {("p", ("a",)): True}).pooled
    assert found.log_loss == pytest.approx(-math.log(1e-15)) and found.accuracy == 0.0
    assert (found.average_precision, found.brier) == (1.0, 1.0)
    (last,) = score([row("a", 1.0)], {("p", ("a",)): True}).pooled.bins
    assert (last.lower, last.upper, last.truth) == (0.9, 1.0, 1.0)


def test_labels_come_from_any_source_of_facts(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("person,truth\na,true\nb,false\n")
    labels = {("p", ("a",)): True, ("p", ("b",)): False}
    assert read_labels(str(tmp_path / "p.csv")) == read_labels({"p": tmp_path / "p.csv"}) == labels
    assert read_labels({"p": [(1,), (2,)]}) == {("p", (1,)): True, ("p", (2,)): True}
    found = score_file([row("a", 0.9), row("b", 0.4)], str(tmp_path))
    assert found.accuracy == 1.0


def test_what_is_no_label(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("person,probability\na,0.5\n")
    with pytest.raises(FactsError, match="labels are true or false; p has probabilities"):
        score_file([row("a", 0.9)], str(tmp_path))
    (tmp_path / "p.csv").write_text("person,weight\na,0.5\n")
    with pytest.raises(FactsError, match="labels are true or false; p has weights"):
        score_file([row("a", 0.9)], str(tmp_path))
    with pytest.raises(HerbrandError, match="the result has no rows of 'pp'") as caught:
        score([row("a", 0.9)], {("p", ("a",)): True}, ["pp"])
    assert "did you mean 'p'?" in str(caught.value)
    with pytest.raises(HerbrandError, match="no row of the result has a label") as caught:
        score([row("a", 0.9)], {("q", ("a",)): True})
    assert "the result is about p, the labels about q" in str(caught.value)
    with pytest.raises(HerbrandError, match="no row of the result has a label") as caught:
        score([Scored("q", "q", (), 0.5), row("a", 0.9)], {("q", (1,)): True, ("p", ("a", "b")): True})
    assert 'the result has rows such as p("a"), the labels such as p("a", "b")' in str(caught.value)
