"""The curves of a score: against loops over rows, scikit-learn, and what a picture must hold."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import product

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.reports.metrics import average_precision, cut_at, cuts, roc_area
from herbrand.reports.result_file import Scored
from herbrand.reports.score import POINTS, score, thinned

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None)
ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0])), min_size=1, max_size=25
)


def arrays(drawn: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([label for label, _ in drawn], dtype=int), np.array([p for _, p in drawn])


@laws
@given(ROWS)
def test_cuts_count_rows(drawn: list[tuple[bool, float]]) -> None:
    found = cuts(*arrays(drawn))
    assert [cut.threshold for cut in found] == sorted({p for _, p in drawn}, reverse=True)
    for cut in found:
        called = [label for label, p in drawn if p >= cut.threshold]
        assert (cut.rows, cut.right) == (len(called), sum(called))
        assert (cut.true, cut.false) == (sum(y for y, _ in drawn), sum(not y for y, _ in drawn))
        assert cut == cut_at(*arrays(drawn), cut.threshold)
    labels, probabilities = arrays(drawn)
    if labels.any():
        before = 0.0
        area = 0.0
        for cut in found:
            area += (cut.recall - before) * cut.precision
            before = cut.recall
        assert area == pytest.approx(average_precision(labels, probabilities))


@laws
@given(ROWS)
def test_the_area_is_the_chance_that_a_true_row_ranks_higher(drawn: list[tuple[bool, float]]) -> None:
    found = roc_area(cuts(*arrays(drawn)))
    true, false = ([p for y, p in drawn if y is truth] for truth in (True, False))
    if not true or not false:
        assert math.isnan(found)
        return
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(true, false))
    assert found == pytest.approx(wins / (len(true) * len(false)))
    assert found == pytest.approx(sklearn.metrics.roc_auc_score(*arrays(drawn)))


@laws
@given(ROWS, st.sampled_from([0.2, 0.5, 0.9]))
def test_figures_at_a_threshold(drawn: list[tuple[bool, float]], threshold: float) -> None:
    labels, probabilities = arrays(drawn)
    cut, called = cut_at(labels, probabilities, threshold), probabilities >= threshold
    if called.any():
        assert cut.precision == pytest.approx(sklearn.metrics.precision_score(labels, called))
    if labels.any():
        assert cut.recall == pytest.approx(sklearn.metrics.recall_score(labels, called))
        assert cut.f1 == pytest.approx(sklearn.metrics.f1_score(labels, called))


def report(count: int = 40, name: str = "p") -> tuple[list[Scored], dict[tuple[str, tuple[str, ...]], bool]]:
    rows = [Scored(f'{name}("{i}")', name, (str(i),), (i + 0.5) / count) for i in range(count)]
    return rows, {(name, (str(i),)): (i * i) % 7 < 3 for i in range(count)}


def test_the_best_threshold_is_the_best_of_all() -> None:
    rows, labels = report()
    found = score(rows, labels).pooled
    shares = {
        row.probability: sklearn.metrics.f1_score(
            [labels["p", r.arguments] for r in rows], [r.probability >= row.probability for r in rows]
        )
        for row in rows
    }
    assert found.best_f1 == pytest.approx(max(shares.values()))
    assert shares[found.best_threshold] == pytest.approx(found.best_f1)


def test_json_has_the_curve_and_few_points_of_long_ones() -> None:
    rows, labels = report(1000)
    found = score(rows, labels)
    told = found.to_dict()["curve"]
    assert len(told) == POINTS and told[0]["rows"] == 1 and told[-1]["rows"] == 1000
    assert told[-1]["recall"] == 1.0 and 0 <= told[5]["precision"] <= 1
    assert len(found.pooled.cuts) == 1000
    assert thinned(found.pooled.cuts, 3) == [found.pooled.cuts[place] for place in (0, 500, 999)]


def test_pictures_are_xml_with_a_point_an_interval() -> None:
    both = [report(30, "p"), report(20, "a & <b\x01>")]
    found = score([*both[0][0], *both[1][0]], both[0][1] | both[1][1])
    for picture, groups in (
        (found.plot(), [found.pooled]),
        (found.plot(5), [found.pooled, *found.predicates.values()]),
    ):
        root = ElementTree.fromstring(picture.svg)
        points = list(root.iter("{http://www.w3.org/2000/svg}circle"))
        assert len(points) == sum(len(one.bins) for one in groups)
        assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 2 * len(groups)
    page = found.to_html()
    assert page.startswith("<!doctype html>") and "<script" not in page and "a &amp; &lt;b" in page


def test_a_point_stands_where_probability_and_truth_meet() -> None:
    rows = [Scored(f'p("{i}")', "p", (str(i),), 0.75) for i in range(4)]
    labels = {("p", (str(i),)): i < 1 for i in range(4)}
    root = ElementTree.fromstring(score(rows, labels).plot().svg)
    point = next(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert (float(point.attrib["cx"]), float(point.attrib["cy"])) == (44 + 200 * 0.75, 44 + 200 * 0.75)


def test_rows_of_one_truth_have_no_curve() -> None:
    rows = [Scored('p("a")', "p", ("a",), 0.5)]
    told = score(rows, {("p", ("a",)): True})
    assert told.to_dict()["roc_area"] is None and told.to_dict()["best_f1"] == 1.0
    assert "all rows are of one truth" in told.plot().svg
    none = score(rows, {("p", ("a",)): False}).to_dict()
    assert none["recall"] is None and none["f1"] == 0.0
