"""A world's weight is the product of the choices made in it: those whose body holds, and no others."""

from __future__ import annotations

import math
import random

import pytest

import herbrand as hb
from tests.oracles.choices import ChoiceWorlds, worlds_of
from tests.oracles.worlds import GroundAtom

ATOMS = ("a", "b", "c", "d", "e")


def _text(seed: int) -> str:
    """Choices that rest on choices, in circles too; evidence and a formula now and then."""
    chance = random.Random(seed)
    lines = [f"predicate {atom}" for atom in ATOMS] + ["0.6 :: a"]
    for _ in range(chance.randint(3, 6)):
        head, other, last = (chance.choice(ATOMS[1:]) for _ in range(3))
        body = ["a", *(atom for atom in (other, last) if chance.random() < 0.5)]
        body += ["not a"] if chance.random() < 0.2 and body == ["a"] else []
        first = "" if chance.random() < 0.3 else f"0.{chance.randint(1, 4)} :: "
        more = f"; 0.{chance.randint(1, 5)} :: {chance.choice(ATOMS)}" if first and len(body) == 1 else ""
        lines.append(f"{first}{head}{more} :- {', '.join(body)}")
    lines += ["0.8: b <=> c"] if chance.random() < 0.3 else []
    lines += [chance.choice(("d", "not e"))] if chance.random() < 0.3 else []
    return "\n".join(lines)


def _of(worlds: ChoiceWorlds, true: set[str]) -> list[float]:
    """The log-weights of all ways to the world in which these atoms are true, heaviest first."""
    found = [w for world, w in worlds.weighted if {_name(a) for a, held in world.items() if held} == true]
    return sorted(map(math.log, found), reverse=True)


def _name(atom: GroundAtom) -> str:
    return atom[0]


@pytest.mark.parametrize("seed", range(60))
def test_the_best_world_and_drawn_worlds(seed: int) -> None:
    theory = hb.parse(_text(seed))
    worlds = worlds_of(theory)
    if worlds.total == 0:
        return
    model = hb.Model(theory)
    known = {
        name for name in ATOMS if name in (rows.predicate for rows in theory.facts if rows.kind == "true")
    }
    best = model.infer(map=True)
    true = {row.atom for row in best.rows() if row.probability == 1.0} | known
    assert best.log_weight == pytest.approx(max(math.log(weight) for _, weight in worlds.weighted), abs=1e-9)
    assert best.log_weight == pytest.approx(_of(worlds, true)[0], abs=1e-9)
    for world in model.sample(10, seed=seed).worlds:
        assert min(abs(world.log_weight - w) for w in _of(worlds, {*world.true} | known)) < 1e-9


def test_what_is_not_chosen_has_no_weight() -> None:
    """The world of tails alone has probability 0.4; no other has as much."""
    model = hb.Model(hb.parse("0.45 :: heads; 0.4 :: tails\n0.5 :: rich :- heads"))
    best = model.infer(map=True)
    assert [row.atom for row in best.rows() if row.probability == 1.0] == ["tails"]
    assert best.log_weight == pytest.approx(math.log(0.4))


def test_what_is_asked_does_not_change_the_best_world() -> None:
    """A choice that rests on the atom asked for is made in the world, though nobody asks for it."""
    model = hb.Model(hb.parse("0.6 :: a\n0.5 :: b :- a\n0.9 :: far"))
    assert model.infer("a", map=True)["a"] == model.infer(map=True)["a"] == 0.0
    assert model.infer("a", map=True).log_weight == pytest.approx(math.log(0.4 * 0.9))


def test_evidence_may_say_that_a_choice_gave_no_value() -> None:
    """The probability left for no value is 0.2, and a choice that needs a value is then not made."""
    text = 'predicate c in {"r", "g"}\npredicate q\n0.3 :: c = "r"; 0.5 :: c = "g"\n'
    text += '0.4 :: q :- c = "r"\n0.7 :: q\n'
    none = ['not c = "r"', 'not c = "g"']
    model = hb.Model(hb.parse(text))
    for given, stated in ((none, model), ([], hb.Model(hb.parse(text + "\n".join(none))))):
        answer = stated.infer(["q", 'c = "g"'], given=given, log_partition=True)
        assert answer.log_partition == pytest.approx(math.log(0.2), abs=1e-12)
        assert [row["probability"] for row in answer.to_dict()["marginals"]] == pytest.approx([0.7, 0.0])
        assert stated.query("q", given=given).to_dict()["answers"][0]["weight"] == pytest.approx(0.7)
    assert all(world.values == {} for world in model.sample(20, given=none).worlds)


def test_evidence_against_every_value_of_what_must_have_one_is_refused() -> None:
    open_atom = hb.parse('predicate c in {"r", "g"}\n1: c = "r"')
    with pytest.raises(hb.HerbrandError, match="every value of c is excluded; it must have one"):
        hb.Model(open_atom).infer(given=['not c = "r"', 'not c = "g"'])


@pytest.mark.parametrize(
    ("heads", "tests", "found"),
    [
        ("0.6 :: at(k); 0.4 :: at(n + 1)", ", k = n - 2", {(): 0.45, ("g",): 0.55}),
        ("0.6 :: at(n + 1); 0.3 :: at(n)", "", {(): 0.45, ("g",): 0.55 * 0.7, ("at(1)", "g"): 0.55 * 0.3}),
        ("0.9 :: at(n + 1)", "", {(): 0.45, ("g",): 0.55}),
        ('0.8 :: kind(n + 1) = "a"', "", {(): 0.45, ("g",): 0.55}),
    ],
)
def test_a_head_of_what_is_no_constant_makes_no_world_of_its_own(
    heads: str, tests: str, found: dict[tuple[str, ...], float]
) -> None:
    """It is no outcome: the world without an outcome was parted, and another came out as the best."""
    declared = 'kind(r) in {"a", "b"}' if "kind" in heads else "at(r)"
    text = f"type r = 0..1\npredicate s(r): observed\npredicate {declared}\npredicate g\n"
    text += f"s(1)\n0.55 :: g\n{heads} :- s(n), g{tests}"
    model = hb.Model(hb.parse(text))
    best = model.infer(map=True)
    likeliest = max(found, key=lambda world: found[world])
    assert tuple(row.atom for row in best.rows() if row.probability == 1.0) == likeliest
    assert best.log_weight == pytest.approx(math.log(found[likeliest]))
    for given in ([], ["g"]):
        for world in model.sample(30, given=given).worlds:
            assert world.log_weight == pytest.approx(math.log(found[tuple(sorted({*world.atoms, *given}))]))
