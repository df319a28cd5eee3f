"""How alike texts are: against definitions by recursion, published values, and DuckDB over texts of ASCII."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.program.text_functions import TEXT_FUNCTIONS, jaro_winkler, levenshtein

LETTERS = {"ascii": "abcd ", "others": "aäb ß"}


def distance(one: str, other: str) -> int:
    """The least cost of three choices at each pair of beginnings."""

    @cache
    def cost(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (one[i - 1] != other[j - 1]))

    return cost(len(one), len(other))


def pairs(letters: str, seed: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)

    def text() -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(0, 9)))

    return [(text(), text()) for _ in range(300)]


def values(name: str, drawn: list[tuple[str, str]]) -> list[float]:
    kind = np.dtypes.StringDType()
    columns = (np.array([pair[place] for pair in drawn], dtype=kind) for place in (0, 1))
    return TEXT_FUNCTIONS[name](*columns).tolist()


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("seed", range(3))
def test_distances_equal_the_recursion(letters: str, seed: int) -> None:
    drawn = pairs(LETTERS[letters], seed)
    assert values("levenshtein", drawn) == [distance(*pair) for pair in drawn]
    assert [levenshtein(*pair) for pair in drawn] == [distance(*pair) for pair in drawn]


@pytest.mark.parametrize("seed", range(5))
def test_both_roads_to_jaro_winkler_agree(seed: int) -> None:
    """DuckDB's own for texts of ASCII, and the definition over characters that other texts take."""
    drawn = pairs(LETTERS["ascii"], seed)
    assert values("jaro_winkler", drawn) == pytest.approx([jaro_winkler(*pair) for pair in drawn])


@pytest.mark.parametrize(("one", "other", "value"), [
    ("MARTHA", "MARHTA", 0.9611), ("DWAYNE", "DUANE", 0.84), ("DIXON", "DICKSONX", 0.8133),
    ("ABC", "XYZ", 0.0), ("same", "same", 1.0), ("", "", 0.0), ("ÄBCÖ", "ÄBCÖ", 1.0),
])  # fmt: skip
def test_published_values(one: str, other: str, value: float) -> None:
    assert values("jaro_winkler", [(one, other)]) == pytest.approx([value], abs=1e-4)
    assert jaro_winkler(one, other) == pytest.approx(value, abs=1e-4)


def test_likeness_has_two_sides_and_an_order() -> None:
    for letters in LETTERS.values():
        drawn = pairs(letters, 9)
        turned = [(b, a) for a, b in drawn]
        assert values("jaccard", drawn) == values("jaccard", turned)
        assert values("levenshtein", drawn) == values("levenshtein", turned)
        assert all(0 <= value <= 1 for name in ("jaccard", "jaro_winkler") for value in values(name, drawn))


def test_words_in_any_case_and_order() -> None:
    drawn = [("red tea pot", "Pot RED"), ("a b", "a b"), ("", ""), ("a", ""), ("a a", "a")]
    assert values("jaccard", drawn) == pytest.approx([2 / 3, 1, 0, 0, 1])


THEORY = """\
predicate name(rec, text): observed
predicate near(rec, rec, likeness)
type likeness = number
predicate block(rec, key)
block(x, prefix(lower(n), 2)) :- name(x, n)
near(x, y, levenshtein(a, b)) :- block(x, k), block(y, k), x < y, name(x, a), name(y, b)
"""


def test_rules_block_and_compare() -> None:
    names = [("r1", "Martha Jones"), ("r2", "marhta Jones"), ("r3", "Übel"), ("r4", "übler"), ("r5", "Zed")]
    model = hb.Model(hb.parse(THEORY), {"name": names})
    keys = {
        row["bindings"]["x"]: row["bindings"]["k"] for row in model.query("block(x, k)").to_dict()["answers"]
    }
    assert keys == {who: text.lower()[:2] for who, text in names}
    found = {tuple(row["bindings"].values()) for row in model.query("near(x, y, d)").to_dict()["answers"]}
    assert found == {
        (one, other, distance(a, b))
        for one, a in names
        for other, b in names
        if one < other and a.lower()[:2] == b.lower()[:2]
    }
    goal = "name(x, a) and name(y, b) and x < y and jaro_winkler(lower(a), lower(b)) > 0.9"
    assert [row["bindings"]["y"] for row in model.query(goal).to_dict()["answers"]] == ["r2"]
    assert next(model.infer('name("r1", a) and prefix(a, 3) = "Mar"').rows()).probability in (0.0, 1.0)


@pytest.mark.parametrize(("goal", "words"), [
    ("name(x, a) and levenshtein(a, 3) > 1", "3 is not text, as 'levenshtein' needs"),
    ("name(x, a) and prefix(a, a) = a", "a is not a whole number, as 'prefix' needs"),
    ("name(x, a) and lower(a, a) = a", "lower is of one value"),
    ("name(x, a) and jaccard(a) > 0", "jaccard is of two values"),
])  # fmt: skip
def test_what_is_no_text(goal: str, words: str) -> None:
    with pytest.raises(HerbrandError, match=words):
        hb.Model(hb.parse(THEORY), {"name": [("r1", "Bob")]}).query(goal)
