"""The ground network around an atom has the groundings that plain loops over constants list."""

from itertools import product

import pytest

import herbrand as hb
from herbrand.serving.surroundings import surroundings_of

PEOPLE = ("anna", "bob", "carl", "dora")
FRIENDS = (("anna", "bob"), ("bob", "carl"), ("carl", "dora"))
THEORY = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)
1.1: smokes(x) and friends(x, y) => smokes(y)
1.5: smokes(x) <=> cancer(x)
"""


def smokers(theory: str = THEORY) -> hb.Model:
    return hb.Model(hb.parse(theory), {"friends": list(FRIENDS)})


def listed(found: dict) -> set[tuple[str, frozenset[str]]]:
    return {(each["where"], frozenset(each["atoms"])) for each in found["groundings"]}


def test_groundings_within_two_steps_are_those_of_plain_loops() -> None:
    every = {
        (f'x = "{x}", y = "{y}"', frozenset({f'smokes("{x}")', f'smokes("{y}")'}))
        for x, y in product(PEOPLE, repeat=2)
        if (x, y) in FRIENDS
    } | {(f'x = "{x}"', frozenset({f'smokes("{x}")', f'cancer("{x}")'})) for x in PEOPLE}
    near = {'smokes("bob")': 0}
    for step in (1, 2):
        touched = [atoms for _, atoms in every if atoms & near.keys()]
        near |= {atom: step for atoms in touched for atom in atoms if atom not in near}
    found = surroundings_of(smokers(), 'smokes("bob")')
    assert {each["atom"]: each["steps"] for each in found["atoms"]} == near
    assert listed(found) == {(where, atoms) for where, atoms in every if atoms <= near.keys()}
    assert found["left_out"] == 0


def test_pieces_of_a_formula_are_one_grounding() -> None:
    found = surroundings_of(smokers(), 'cancer("anna")', steps=1)
    assert listed(found) == {('x = "anna"', frozenset({'smokes("anna")', 'cancer("anna")'}))}
    assert [each["statement"] for each in found["groundings"]] == ["1.5: smokes(x) <=> cancer(x)"]


def test_what_is_given_is_absorbed() -> None:
    found = surroundings_of(smokers(), 'smokes("bob")', given=['smokes("anna")', 'not smokes("carl")'])
    atoms = {each["atom"] for each in found["atoms"]}
    assert atoms == {'smokes("bob")', 'cancer("bob")'}
    with pytest.raises(hb.HerbrandError, match="is evidence"):
        surroundings_of(smokers(), 'smokes("bob")', given=['smokes("bob")'])


def test_atoms_below_a_quantifier_are_linked() -> None:
    model = hb.Model(
        hb.parse('type person = {"anna", "bob"}\npredicate likes(person, person)\n2: exists y: likes(x, y)')
    )
    found = surroundings_of(model, 'likes("anna", "bob")')
    assert listed(found) == {('x = "anna"', frozenset({'likes("anna", "anna")', 'likes("anna", "bob")'}))}


def test_more_atoms_than_can_be_drawn_are_counted() -> None:
    names = [f"p{n}" for n in range(30)]
    facts = {"friends": [("hub", name) for name in names]}
    found = surroundings_of(hb.Model(hb.parse(THEORY), facts), 'smokes("hub")', most=10)
    assert len(found["atoms"]) == 10 and found["atoms"][0]["atom"] == 'smokes("hub")'
    assert found["left_out"] == 31 * 2 - 10
    drawn = {each["atom"] for each in found["atoms"]}
    assert all(set(each["atoms"]) <= drawn for each in found["groundings"])


EDGES = {("a", "b"): 0.4, ("b", "c"): 0.5, ("c", "a"): 0.3, ("a", "c"): 0.6}
PATHS = (
    "".join(f'{chance} :: edge("{x}", "{y}")\n' for (x, y), chance in EDGES.items())
    + """\
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
"""
)


def test_below_a_derived_atom_stand_the_rules_and_choices_of_plain_loops() -> None:
    def path(x: str, y: str) -> str:
        return f'path("{x}", "{y}")'

    def edge(x: str, y: str) -> str:
        return f'edge("{x}", "{y}")'

    every = {((path(x, y),), (edge(x, y),)) for x, y in EDGES}
    every |= {((path(x, y),), (edge(x, z), path(z, y))) for x, z in EDGES for y in "abc"}
    every |= {((edge(x, y),), ()) for x, y in EDGES}
    below = {path("b", "c"): 0}
    for step in range(1, 6):
        rest = {part for heads, body in every for part in body if heads[0] in below} - below.keys()
        below |= dict.fromkeys(rest, step)
    found = surroundings_of(hb.Model(hb.parse(PATHS)), path("b", "c"))
    assert {each["atom"]: each["steps"] for each in found["atoms"]} == below
    listed = {(tuple(each["heads"]), tuple(each["atoms"])) for each in found["groundings"]}
    assert listed == {(heads, body) for heads, body in every if heads[0] in below}


def test_what_must_not_hold_and_all_outcomes_of_a_choice_are_below_too() -> None:
    theory = """\
predicate weather in {"sun", "rain"}
predicate dry
predicate wet
0.3 :: weather = "sun"; 0.7 :: weather = "rain"
0.5 :: dry
wet :- weather = "rain", not dry
"""
    found = surroundings_of(hb.Model(hb.parse(theory)), "wet")
    assert [(each["statement"], each["atoms"], each["heads"]) for each in found["groundings"]] == [
        ('wet :- weather = "rain", not dry', ['weather = "rain"', "dry"], ["wet"]),
        ('0.3 :: weather = "sun"; 0.7 :: weather = "rain"', [], ['weather = "rain"']),
        ("0.5 :: dry", [], ["dry"]),
    ]


def test_formulas_beside_choices_are_drawn_around_what_nothing_derives() -> None:
    model = hb.Model(hb.parse("0.3 :: rain\nwet :- rain\n1: wet => umbrella"))
    found = surroundings_of(model, "umbrella")
    assert [(each["statement"], each["atoms"]) for each in found["groundings"]] == [
        ("1.0: wet => umbrella", ["umbrella", "wet"])
    ]
