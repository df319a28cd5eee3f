"""What learning hands over: numbers under their statements, as a table, as JSON, as Arrow, as a page."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import herbrand as hb
from herbrand.answers.guarantee import Status
from herbrand.language.show import statement_text
from herbrand.language.syntax import Learned
from herbrand.language.written_weights import with_weights
from herbrand.learning.learned import LearnedWeight, Learning, learned_weights
from herbrand.learning.settings import Progress

TEXT = "?: p(x) => q(x)\n0.5: p(x)\n?[x, y]: f(x, y)\nhard: p(x) => r(x)\n"
KEYS: list[Any] = [(0, ()), (2, ("a", 1)), (2, ('say "b"', 2))]


def learning(weights: list[float] | None = None, **told: Any) -> Learning:
    theory = hb.parse(TEXT)
    numbers = [0.5, -1.25, 0.0] if weights is None else weights
    written = with_weights(theory, dict(zip(KEYS, numbers, strict=True)))
    found = learned_weights(theory, KEYS, numbers, [0.1, None, 0.2], [2.0, 1.0, 0.0])
    status = told.pop("status", Status(True, 7, 0.25))
    return Learning(
        "pseudo-likelihood",
        written,
        status,
        found,
        told.pop("metrics", {"atoms": 1200, "height": -3.5}),
        **told,
    )


class TestWeights:
    def test_each_number_stands_under_its_statement(self) -> None:
        found = learned_weights(hb.parse(TEXT), KEYS, [0.5, -1.25, 0.0], [0.1, None, 0.2], [2.0, 1.0, 0.0])
        assert found == (
            LearnedWeight("?: p(x) => q(x)", {}, 0.5, 0.1, 2.0),
            LearnedWeight("?[x, y]: f(x, y)", {"x": "a", "y": 1}, -1.25, None, 1.0),
            LearnedWeight("?[x, y]: f(x, y)", {"x": 'say "b"', "y": 2}, 0.0, 0.2, 0.0),
        )

    def test_errors_and_effects_may_be_left_out(self) -> None:
        found = learned_weights(hb.parse(TEXT), KEYS, [1.0, 2.0, 3.0], None, None)
        assert all(one.standard_error is None and one.effect is None for one in found)
        assert [one.cells()[1:3] for one in found] == [("", "")] * 3

    def test_as_a_row_of_a_table(self) -> None:
        _, first, second = learning().weights
        assert first.cells() == ("-1.2500", "", "1.0000", "?[x, y]: f(x, y)", 'x = "a", y = 1')
        assert second.cells() == (
            "+0.0000",
            "0.2000",
            "0.0000",
            "?[x, y]: f(x, y)",
            'x = "say \\"b\\"", y = 2',
        )
        assert LearnedWeight("s", {}, 0.5).where == ""

    @pytest.mark.parametrize(
        ("number", "told"), [(0.5, 0.5), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, None)]
    )
    def test_numbers_that_json_does_not_have(self, number: float, told: object) -> None:
        found = LearnedWeight("s", {"x": 1}, number, number, None).to_dict()
        text = json.dumps(found, allow_nan=False)
        again = json.loads(text)
        assert again["constants"] == {"x": 1} and again["effect"] is None
        if math.isfinite(number):
            assert again["weight"] == again["standard_error"] == told
        else:
            assert not isinstance(again["weight"], float)

    def test_a_statement_is_one_line(self) -> None:
        for statement in hb.parse(TEXT).formulas:
            assert "\n" not in statement_text(statement)


class TestLearning:
    def test_the_theory_has_numbers_for_question_marks(self) -> None:
        found = learning()
        assert found.text == '0.5: p(x) => q(x)\n0.5: p(x)\n-1.25: f("a", 1)\nhard: p(x) => r(x)\n'
        assert not any(isinstance(f.weight, Learned) for f in found.theory.formulas)
        assert hb.parse(found.text) == found.theory

    def test_json(self) -> None:
        told = json.loads(json.dumps(learning().to_dict(), allow_nan=False))
        assert list(told) == ["method", "converged", "seconds", "iterations", "metrics", "weights", "theory"]
        assert (told["converged"], told["iterations"], told["seconds"]) == (True, 7, 0.25)
        assert told["metrics"] == {"atoms": 1200, "height": -3.5}
        assert [one["weight"] for one in told["weights"]] == [0.5, -1.25, 0.0]
        assert told["theory"] == learning().text

    def test_where_it_was_learned_is_told_if_it_was_on_a_database(self) -> None:
        found = learning(status=Status(True, 7, 0.25, where="duckdb:w.duckdb"))
        assert found.to_dict()["where"] == "duckdb:w.duckdb"
        assert found.title.startswith("pseudo-likelihood on duckdb:w.duckdb: atoms 1,200, height -3.5000")

    def test_the_title_tells_the_figures_and_whether_it_ended_well(self) -> None:
        assert learning().title == "pseudo-likelihood: atoms 1,200, height -3.5000"
        stopped = learning(status=Status(False, 3, 0.1, "more --iterations"))
        assert stopped.title.endswith("height -3.5000, not converged: more --iterations")
        assert learning(metrics={"kind": "all"}).title == "pseudo-likelihood: kind all"

    def test_arrow(self) -> None:
        table = learning().to_arrow()
        assert table.column_names == ["statement", "constants", "weight", "standard_error", "effect"]
        assert table["weight"].to_pylist() == [0.5, -1.25, 0.0]
        assert table["standard_error"].to_pylist() == [0.1, None, 0.2]
        assert table["constants"].to_pylist() == ["", 'x = "a", y = 1', 'x = "say \\"b\\"", y = 2']
        assert learning().to_pandas()["effect"].tolist() == [2.0, 1.0, 0.0]

    def test_bars_begin_in_the_middle_and_the_largest_fills_its_half(self) -> None:
        assert list(learning().spans()) == [(0.5, 0.5 + 0.5 * 0.5 / 1.25), (0.0, 0.5), (0.5, 0.5)]
        assert list(learning([0.0, 0.0, 0.0]).spans()) == [(0.5, 0.5)] * 3
        assert list(learning([-2.0, 2.0, 1.0]).spans()) == [(0.0, 0.5), (0.5, 1.0), (0.5, 0.75)]

    def test_the_page_shows_what_was_watched(self) -> None:
        watched = tuple(Progress(step, 3, "loss", 1.0 / step) for step in (1, 2, 3))
        page = learning(curve=watched)._repr_html_()
        assert page.count("<tr>") == 1 + 3 and "<polyline" in page
        assert "<polyline" not in learning()._repr_html_()

    def test_as_many_rows_as_weights(self) -> None:
        found = learning()
        assert len(found) == len(list(found.cells())) == 3
        assert "?[x, y]: f(x, y)" in repr(found) and "say" in repr(found)
