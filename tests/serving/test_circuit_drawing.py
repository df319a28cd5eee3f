"""The drawn circuit of an atom is true in the worlds with the atom, in one case each, with their shares."""

from itertools import product
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.language.formulas import And, Formula, Not, with_valued_names
from herbrand.language.parse import parse_formula
from herbrand.serving.circuit_drawing import ANYTHING_ELSE, circuit_of
from tests.oracles.choices import worlds_of

PATHS = """\
0.5 :: edge("a", "b")
0.4 :: edge("b", "c")
0.3 :: edge("a", "c")
0.2 :: edge("c", "b")
path(x, y) :- edge(x, y)
path(x, z) :- edge(x, y), path(y, z)
"""
WEATHER = """\
predicate weather in {"sun", "rain", "snow"}
predicate dry
predicate wet
0.3 :: weather = "sun"; 0.2 :: weather = "rain"; 0.1 :: weather = "snow"
0.5 :: dry
wet :- weather = "rain", not dry
wet :- weather = "snow"
"""
WEIGHED = """\
predicate rain
predicate roof
predicate wet
predicate umbrella
predicate hat
0.3 :: rain
0.6 :: roof
wet :- rain, not roof
1.5: wet => umbrella
-1: umbrella and hat
"""
ASKED = [
    (PATHS, 'path("a", "c")'),
    (PATHS + 'not path("b", "c")\n', 'path("a", "c")'),
    (PATHS + 'path("a", "b")\n', 'path("a", "c")'),
    (WEATHER, "wet"),
    (WEATHER + "not dry\n", 'weather = "rain"'),
    (WEIGHED, "umbrella"),
    (WEIGHED + "hat\n", "wet"),
]


def formula(text: str) -> Formula:
    return with_valued_names(parse_formula(text), ["weather"])


def holds(nodes: list[dict[str, Any]], true: dict[str, bool], number: int = 0) -> bool:
    node = nodes[number]
    parts = [holds(nodes, true, part) for part in node["parts"]]
    if node["kind"] == "or":
        assert sum(parts) <= 1, "cases exclude each other"
        return any(parts)
    if node["kind"] == "and":
        return all(parts)
    return node["text"] == ANYTHING_ELSE or true[node["text"]]


def visited(nodes: list[dict[str, Any]], true: dict[str, bool], number: int = 0) -> set[int]:
    """The nodes of the case that counts in a world."""
    parts = [part for part in nodes[number]["parts"] if holds(nodes, true, part)]
    return {number}.union(*(visited(nodes, true, part) for part in parts))


@pytest.mark.parametrize(("text", "atom"), ASKED)
def test_its_cases_are_the_worlds_with_the_atom_and_have_their_shares(text: str, atom: str) -> None:
    """All assignments of what it names, against the probability of such worlds."""
    theory = hb.parse(text)
    nodes = circuit_of(hb.Model(theory), atom)["nodes"]
    known, asked = worlds_of(theory), formula(atom)
    (all_worlds,) = known.probabilities([asked])
    shares = [0.0] * len(nodes)
    leaves = {node["text"] for node in nodes if not node["parts"]} - {ANYTHING_ELSE}
    names = sorted({text.removeprefix("not ") for text in leaves})
    for values in product([False, True], repeat=len(names)):
        world = [
            formula(name) if value else Not(formula(name)) for name, value in zip(names, values, strict=True)
        ]
        both, alone = known.probabilities([And((*world, asked)), And(tuple(world))])
        said = dict(zip(names, values, strict=True))
        said |= {f"not {name}": not value for name, value in said.items()}
        if alone and atom not in names:
            assert holds(nodes, said) == (both > 0), said
        for number in visited(nodes, said) if both else ():
            shares[number] += both / all_worlds
    assert [node["share"] for node in nodes] == pytest.approx(shares, rel=1e-9)
    assert shares[0] == pytest.approx(1.0)


def test_every_node_stands_below_what_it_is_a_part_of() -> None:
    nodes = circuit_of(hb.Model(hb.parse(PATHS)), 'path("a", "c")')["nodes"]
    below = [
        max([node["row"] + 1 for node in nodes if n in node["parts"]], default=0) for n in range(len(nodes))
    ]
    assert [node["row"] for node in nodes] == below and below.count(0) == 1


def test_two_choices_of_one_atom_are_told_apart() -> None:
    theory = hb.parse("0.5 :: a\n0.2 :: b\n0.3 :: a :- b")
    texts = {node["text"] for node in circuit_of(hb.Model(theory), "a")["nodes"]}
    assert {"a by 0.5 :: a", "a by 0.3 :: a :- b", "b"} <= texts


@pytest.mark.parametrize(
    ("text", "atom", "said"),
    [
        ("0.5 :: a\nb :- a\nnot a", "b", "b holds in no world"),
        ("predicate c: observed\npredicate a\n0.5 :: a\nc", "c", "c holds in every world"),
    ],
)
def test_what_is_certain_has_no_circuit(text: str, atom: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        circuit_of(hb.Model(hb.parse(text)), atom)


def test_a_circuit_too_large_to_draw_is_refused_with_its_size() -> None:
    edges = "\n".join(f"0.5 :: edge({x}, {y})" for x in range(6) for y in range(6) if x != y)
    rules = "path(x, y) :- edge(x, y)\npath(x, z) :- edge(x, y), path(y, z)"
    with pytest.raises(UnsupportedError, match=r"has [\d,]+ nodes, and 150 can be drawn"):
        circuit_of(hb.Model(hb.parse(f"{edges}\n{rules}")), "path(0, 5)")
