"""Predicates that depend on their own negation, while no ground atom does, against all worlds."""

from __future__ import annotations

import random

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.parse import parse_formula
from tests.laws import long
from tests.oracles.choices import worlds_of

RULES = (
    "win(x) :- move(x, y), not win(y)",
    "win(x) :- move(x, y), lost(y)\nlost(x) :- at(x), not win(x)",
    "0.7 :: win(x) :- move(x, y), not win(y)",
    "win(x) :- move(x, y), not win(y)\nwin(x) :- move(x, y), win(y), jump(y)\n0.5 :: jump(x) :- at(x)",
    "win(x) :- move(x, y), not beaten(y)\nbeaten(x) :- reach(x, z), win(z)\n"
    "reach(x, y) :- move(x, y)\nreach(x, z) :- reach(x, y), move(y, z)",
    "0.4 :: win(x); 0.5 :: draw(x) :- move(x, y), not win(y), not draw(y)",
)


def _game(seed: int) -> str:
    """Moves between positions, mostly down a line; a few go up, so that some games may go on for ever."""
    chance = random.Random(seed)
    places = "abcd"[: chance.randint(2, 4)]
    up = chance.random() < 0.5
    pairs = [(x, y) for x in places for y in places if x < y or (up and x != y and chance.random() < 0.3)]
    lines = [f'at("{place}")' for place in places]
    for x, y in chance.sample(pairs, min(len(pairs), 5)):
        lines.append(f'0.{chance.randint(1, 9)} :: move("{x}", "{y}")')
    lines.append(RULES[seed % len(RULES)])
    if chance.random() < 0.3:
        lines.append(f'{chance.choice(("", "not "))}win("{places[0]}")')
    if chance.random() < 0.3:
        lines.append("1.5: win(x) and move(x, y)")
    return "\n".join(lines)


def _answered(seed: int) -> bool:
    text = _game(seed)
    theory = hb.parse(text)
    queries = [f'win("{place}")' for place in "ab"]
    formulas = [parse_formula(query) for query in queries]
    try:
        worlds = worlds_of(theory)
        if not worlds.total:
            return False
    except ValueError:
        with pytest.raises(LanguageError, match="depends on its own negation"):
            hb.Model(theory).infer()
        return False
    expected = worlds.probabilities(formulas)
    found = hb.Model(theory).infer(queries)
    assert [found[query] for query in queries] == pytest.approx(expected, abs=1e-9), text
    return True


@pytest.mark.parametrize("start", long(range(0, 90, 30), 1))
def test_games_are_won_as_often_as_in_all_worlds(start: int) -> None:
    answered = sum(_answered(seed) for seed in range(start, start + 30))
    assert 10 <= answered < 30


def test_an_atom_that_negates_itself_is_named() -> None:
    theory = hb.parse('0.5 :: move("a", "b")\n0.5 :: move("b", "a")\nwin(x) :- move(x, y), not win(y)')
    with pytest.raises(LanguageError, match=r'3:1: win\("[ab]"\) depends on its own negation'):
        hb.Model(theory).infer()


def test_only_what_a_question_rests_on_is_grounded() -> None:
    theory = hb.parse(
        '0.5 :: move("a", "b")\n0.5 :: move("b", "a")\n0.4 :: move("c", "d")\n'
        "win(x) :- move(x, y), not win(y)"
    )
    assert hb.Model(theory).infer('win("c")')['win("c")'] == pytest.approx(0.4)


def test_a_query_answers_as_infer_does() -> None:
    theory = hb.parse("0.5 :: move(1, 2)\n0.4 :: move(2, 3)\nwin(x) :- move(x, y), not win(y)")
    answers = hb.Model(theory).query("win(x)")
    assert [answers[1], answers[2]] == pytest.approx([0.3, 0.4])


def test_certain_rules_are_stratified_by_predicates() -> None:
    theory = hb.parse('0.5 :: q\nmove("a", "b")\nwin(x) :- move(x, y), not win(y)')
    with pytest.raises(LanguageError, match="win depends on its own negation"):
        hb.Model(theory).infer("q")
