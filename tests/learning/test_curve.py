"""What a training tells of how it went."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

import herbrand as hb
from herbrand.learning.curve import POINTS, picture
from herbrand.learning.settings import Progress

SVG = "{http://www.w3.org/2000/svg}"


def steps(*values: float) -> list[Progress]:
    return [Progress(i, len(values), "a < b", value) for i, value in enumerate(values, 1)]


def points(curve: list[Progress]) -> list[tuple[float, float]]:
    line = ElementTree.fromstring(picture(curve)).find(f"{SVG}polyline")
    assert line is not None
    pairs = (pair.split(",") for pair in line.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_higher_values_stand_higher_and_later_steps_further_right() -> None:
    found = points(steps(1.0, 3.0, 2.0))
    assert found[0][0] < found[1][0] < found[2][0]
    assert found[1][1] < found[2][1] < found[0][1]


def test_what_is_not_finite_is_left_out() -> None:
    assert len(points(steps(1.0, math.nan, math.inf, 2.0))) == 2
    assert picture(steps(math.nan, 1.0)) == ""


def test_level_curves_and_long_ones() -> None:
    assert len({y for _, y in points(steps(2.0, 2.0, 2.0))}) == 1
    assert len(points(steps(*range(10 * POINTS)))) <= 2 * POINTS


@pytest.mark.parametrize("method", ["pseudo-likelihood", "layers"])
def test_learning_keeps_its_curve_and_draws_it(method: str) -> None:
    theory = hb.parse(
        '?: smokes(x) => cancer(x)\n?: cancer(x)\nsmokes("a")\ncancer("a")\nsmokes("b")\ncancer("c")'
    )
    watched: list[Progress] = []
    found = hb.Model(theory).learn(method, watch=watched.append, target="cancer")
    assert list(found.curve) == watched and len(watched) > 1
    assert [p.step for p in watched] == sorted(p.step for p in watched)
    assert "<polyline" in found._repr_html_() and "<table>" in found._repr_html_()
