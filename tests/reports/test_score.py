"""Scores against plain loops, and against scikit-learn where nothing is tied."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.metrics
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.reports.metrics import (
    average_precision,
    calibration,
    calibration_error,
    expected_average_precision,
    log_loss,
)
from herbrand.reports.result_file import Scored
from herbrand.reports.score import score
from tests.oracles import ranking
from tests.work import lines

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None)
coarse = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


def rows(probability: st.SearchStrategy[float], most: int) -> st.SearchStrategy[list[tuple[bool, float]]]:
    return st.lists(st.tuples(st.booleans(), probability), min_size=1, max_size=most).filter(
        lambda drawn: any(label for label, _ in drawn)
    )


def arrays(drawn: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([y for y, _ in drawn], dtype=int), np.array([p for _, p in drawn])


@laws
@given(rows(coarse, 30))
def test_ties_are_kept(drawn: list[tuple[bool, float]]) -> None:
    labels, probabilities = arrays(drawn)
    found = average_precision(labels, probabilities)
    assert found == pytest.approx(ranking.average_precision_with_ties_kept(*zip(*drawn, strict=True)))
    assert found == pytest.approx(sklearn.metrics.average_precision_score(labels, probabilities))


@laws
@given(rows(coarse, 6))
def test_the_expected_figure_is_the_mean_over_all_orders(drawn: list[tuple[bool, float]]) -> None:
    expected = ranking.average_precision_over_all_orders(*zip(*drawn, strict=True))
    assert expected_average_precision(*arrays(drawn)) == pytest.approx(expected)


@laws
@given(rows(st.floats(0, 1), 20))
def test_loss_and_calibration(drawn: list[tuple[bool, float]]) -> None:
    labels, probabilities = arrays(drawn)
    truth, given_ = zip(*drawn, strict=True)
    chances = np.where(labels == 1, probabilities, 1 - probabilities)
    assert log_loss(chances) == pytest.approx(ranking.log_loss(truth, given_))
    bins = calibration(labels, probabilities)
    assert calibration_error(bins) == pytest.approx(ranking.calibration_error(truth, given_))
    assert sum(b.rows for b in bins) == len(drawn)


def test_no_loss_is_written_without_a_sign() -> None:
    assert f"{log_loss(np.array([1.0])):.4f}" == "0.0000"


def row(name: str, probability: float, value: str | None = None) -> Scored:
    return Scored(f'p("{name}")', "p", (name,), probability, value)


def test_values_of_one_atom_are_judged_together() -> None:
    found = score(
        [
            row("x", 0.2, "ai"),
            row("x", 0.5, "db"),
            row("x", 0.3, "os"),
            row("y", 0.6, "ai"),
            row("y", 0.4, "db"),
        ],
        {("p", ("x", "db")): True, ("p", ("y", "db")): True},
    )
    assert (found.pooled.rows, found.pooled.true, found.accuracy) == (5, 2, 0.5)
    assert found.log_loss == pytest.approx(-(np.log(0.5) + np.log(0.4)) / 2)


def test_equally_likely_values_share_the_point() -> None:
    labels = {("p", ("x", "ai")): True, ("p", ("y",)): True}
    found = score([row("x", 0.5, "ai"), row("x", 0.5, "db"), row("y", 0.5)], labels)
    assert found.accuracy == pytest.approx((0.5 + 0.5) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_rounding_decides_nothing(seed: int) -> None:
    """Engines, orders and machines differ in the last digits of probabilities that are equal."""
    dice = np.random.default_rng(seed)
    places = [(f"x{number // 2}", ("ai", "db")[number % 2]) for number in range(40)]
    rows = [row(name, chance, value) for (name, value), chance in zip(places, chances(dice), strict=True)]
    rows += [row(f"y{number}", chance) for number, chance in enumerate(chances(dice))]
    labels: dict[tuple[str, tuple[str, ...]], bool] = {("p", place): True for place in places[::3]}
    labels |= {("p", (f"y{number}",)): bool(dice.integers(2)) for number in range(40)}
    noisy = [replace(one, probability=one.probability * (1 - dice.random() * 1e-15)) for one in rows]
    found, expected = score(noisy, labels).pooled, score(rows, labels).pooled
    for name in ("average_precision", "roc_area", "precision", "recall", "best_f1", "accuracy"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name
    assert found.calibration_error == pytest.approx(expected.calibration_error)
    assert [(b.rows, b.truth) for b in found.bins] == [(b.rows, b.truth) for b in expected.bins]
    assert len(found.cuts) == len(expected.cuts)


def chances(dice: np.random.Generator) -> list[float]:
    return dice.choice([0.1, 0.25, 0.5, 2 / 3, 0.7, 1.0], 40).tolist()


def test_what_has_no_label_is_left_out_or_false() -> None:
    result = [row("a", 0.9), row("b", 0.2), row("c", 0.7)]
    labels = {("p", ("a",)): True, ("p", ("b",)): False, ("p", ("z",)): True}
    open_world, closed = score(result, labels), score(result, labels, ["p"])
    assert (open_world.pooled.rows, open_world.pooled.unlabelled, open_world.missing) == (2, 1, 1)
    assert (closed.pooled.rows, closed.pooled.unlabelled) == (3, 0)
    assert (open_world.accuracy, closed.accuracy) == (1.0, pytest.approx(2 / 3))


@pytest.mark.parametrize("kept", [{}, {"min": 0.4}, {"top": 2}])
def test_a_wrong_value_counts_where_the_true_one_has_no_row(kept: dict) -> None:
    """What --min or --top left out was no label, so that only what was right took part: accuracy 1."""
    theory = hb.parse('predicate area(p) in {"a", "b", "c"}\n2: area("x") = "a"\n2: area("y") = "b"')
    marginals = hb.Model(theory).infer(**kept)
    rows = [
        Scored(r.atom, r.predicate, tuple(map(str, r.arguments)), r.probability, str(r.value))
        for r in marginals.rows()
    ]
    found = score(rows, {("area", ("x", "a")): True, ("area", ("y", "c")): True})
    likely = np.exp(2) / (np.exp(2) + 2)
    left = (1 - likely) / 2 if not kept else 1 - likely
    assert found.accuracy == 0.5 and found.missing == (1 if kept else 0)
    assert found.log_loss == pytest.approx(-(np.log(likely) + np.log(left)) / 2)
    assert (found.pooled.rows, found.pooled.unlabelled) == (len(rows), 0)


def test_a_value_that_is_known_to_be_false_leaves_the_others() -> None:
    rows = [row("x", 0.5, "ai"), row("x", 0.3, "db"), row("x", 0.2, "os"), row("y", 0.9)]
    found = score(rows, {("p", ("x", "ai")): False, ("p", ("x", "db")): False, ("p", ("y",)): True})
    assert found.log_loss == pytest.approx(-(np.log(0.2) + np.log(0.9)) / 2)
    assert (found.pooled.rows, found.pooled.unlabelled, found.accuracy) == (3, 1, 1.0)


def test_closed_says_nothing_of_an_atom_of_many_values() -> None:
    """One value holds always: that all of them are false cannot be."""
    rows = [row("x", 0.6, "ai"), row("x", 0.4, "db"), row("y", 0.9), row("z", 0.1)]
    found = score(rows, {("p", ("y",)): True}, ["p"])
    assert (found.pooled.rows, found.pooled.unlabelled) == (2, 2)


def test_two_true_values_of_an_atom_are_refused() -> None:
    with pytest.raises(HerbrandError, match=r'the labels give p\("x"\) two values: ai, db'):
        score([row("x", 0.6, "ai")], {("p", ("x", "ai")): True, ("p", ("x", "db")): True})


def test_columns_of_figures_are_numbers_where_none_has_a_meaning() -> None:
    table = score([row("x", 0.9)], {("p", ("x",)): True}).to_arrow()
    assert table["roc_area"].type == pa.float64() and table["roc_area"].to_pylist() == [None, None]


@pytest.mark.parametrize(
    "constants", [["a", "b", "c"], [1, 2, 30], [1.5, 2, 1e-7]], ids=["text", "whole", "any"]
)
def test_answers_in_memory_are_scored_as_their_files_are(
    tmp_path: Path, constants: list[str | float]
) -> None:
    """Constants and values that are numbers find their labels."""
    kind = "" if isinstance(constants[0], str) else "type n = number\n"
    declared = f"{kind}predicate p(n)\npredicate v(n) in {{1, 2}}\npredicate named(n): observed\n"
    weighed = "p(x) and v(x) = 1\n0.3: v(x) = 2"
    model = hb.Model(hb.parse(f"{declared}0.7: {weighed}"), {"named": constants})
    labels = {
        "p": pd.DataFrame({"n": constants, "truth": [True, False, True]}),
        "v": [(constants[0], 1), (constants[2], 2)],
    }
    answer, path = model.infer(), tmp_path / "result.parquet"
    pq.write_table(answer.to_arrow(), path)
    found, written = hb.score(answer, labels), hb.score(path, labels)
    assert (found.pooled.rows, found.missing) == (7, 0)
    assert found.to_dict() == written.to_dict()
    assert hb.score(answer["p"], labels).pooled.rows == 3


def test_what_has_no_probabilities_is_not_scored() -> None:
    bounds = hb.Model(hb.parse("P(a) in [0.1, 0.2]")).bound()
    for result, kind in (
        (bounds, "Bounds"),
        (3, "int"),
        ([0.5], "list"),
        (pd.DataFrame({"a": [1]}), "DataFrame"),
    ):
        with pytest.raises(HerbrandError, match=f"rows of an answer of infer, and {kind} has none"):
            hb.score(result, {"a": []})  # type: ignore[arg-type]


def test_predicates_are_told_apart() -> None:
    result = [row("a", 0.9), Scored("q", "q", (), 0.1)]
    found = score(result, {("p", ("a",)): True, ("q", ()): False})
    assert found.predicates["p"].average_precision == 1.0
    assert np.isnan(found.predicates["q"].average_precision)
    assert found.to_dict()["predicates"]["q"]["average_precision"] is None


@pytest.mark.parametrize("labelled", [("a",), ("c", "d")], ids=["labelled", "without a label"])
def test_twice_the_predicates_take_twice_the_work(labelled: tuple[str, ...]) -> None:
    """As in an answer of a large network: all rows were gone through once for each predicate."""

    def scored(count: int) -> None:
        judged = [Scored(f"v{n}", f"v{n}", (), 0.1 * (n % 9), v) for n in range(count) for v in "ab"]
        with contextlib.suppress(HerbrandError):
            score(judged, {(f"v{n}", labelled): True for n in range(count)})

    assert lines(scored, 200) < 2.5 * lines(scored, 100)
