"""Drawn worlds against the sum over worlds: atoms, pairs, weights, evidence."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import chdtri

import herbrand as hb
from herbrand.engines.circuit import engine
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.errors import BudgetError, ContradictionError

THEORIES = {
    "choices": "0.3 :: a\n0.6 :: b :- a\n0.2 :: b\nc :- a, not b\n",
    "several heads": "0.2 :: a; 0.5 :: b; 0.3 :: c\n0.4 :: d; 0.1 :: e :- a\n0.5 :: d :- c, not e\n",
    "a cycle": "0.6 :: f\n0.5 :: g\na :- f\na :- b, g\nb :- a\n0.3 :: b\nd :- not a\n",
    "counts": "type t = 1..3\npredicate p(t)\npredicate m\npredicate s\n"
    "0.4 :: p(x)\nm :- count(x: p(x)) >= 2\n"
    "s :- sum(x: p(x)) = 3\n",
    "open atoms": "predicate o\npredicate a\npredicate b\n0.3 :: a :- o\n0.8 :: b :- not o\n0.5 :: b :- a\n",
    "values": 'type t = {"x", "y", "z"}\npredicate v in t\npredicate a\n'
    '0.2 :: v = "x"; 0.5 :: v = "y"; 0.3 :: v = "z"\na :- v = "y"\n1.5: a => v = "y"\n',
    "weights": "1.5: a and b => c\n-0.7: c\nhard: a or b\n",
    "evidence": "0.3 :: a\n0.4 :: b\nc :- a\nc :- b\nc\n",
}


@pytest.mark.parametrize("name", THEORIES)
def test_draws_pass_a_chi_square_test(name: str) -> None:
    """Whole worlds: each as often as its weight says, which its own log-weight tells."""
    model = hb.Model(hb.parse(THEORIES[name]))
    drawn = model.sample(20_000, seed=3)
    log_partition = model.infer(engine="circuit").log_partition
    assert log_partition is not None
    counts = Counter(tuple(world.atoms) for world in drawn.worlds)
    weights: dict[tuple[str, ...], set[float]] = {}
    for world in drawn.worlds:
        weights.setdefault(tuple(world.atoms), set()).add(round(world.log_weight, 9))
    expected = {
        atoms: sum(math.exp(weight - log_partition) for weight in own) for atoms, own in weights.items()
    }
    assert sum(expected.values()) == pytest.approx(1.0, abs=0.01)
    statistic = sum((counts[atoms] - len(drawn) * p) ** 2 / (len(drawn) * p) for atoms, p in expected.items())
    assert statistic < chdtri(max(1, len(expected) - 1), 0.0001)


FREE = ("choices", "several heads", "a cycle", "counts", "open atoms", "evidence")


@pytest.mark.parametrize("name", FREE)
def test_what_only_choices_weigh_is_drawn_without_a_circuit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same atoms with the same weights as draws from the circuit have."""
    model = hb.Model(hb.parse(THEORIES[name]))
    with monkeypatch.context() as within:
        within.setattr(engine, "by_choices", lambda worlds: None)
        drawn = {(tuple(w.atoms), round(w.log_weight, 9)) for w in model.sample(5_000, seed=2).worlds}
    monkeypatch.setattr(ChoiceConstraints, "circuit", None)
    found = model.sample(5_000, seed=2).worlds
    assert len(found) == 5_000
    assert {(tuple(w.atoms), round(w.log_weight, 9)) for w in found} == drawn


def test_rare_evidence_is_drawn_from_a_circuit() -> None:
    theory = "".join(f"0.1 :: a{i}\n" for i in range(6)) + "b :- a0, a1, a2, a3, a4, a5\nc :- a0\nb"
    drawn = hb.Model(hb.parse(theory)).sample(50, seed=1)
    assert len(drawn) == 50 and drawn.share("c") == 1.0


def test_atoms_and_pairs_are_as_probable_as_infer_says() -> None:
    model = hb.Model(hb.parse(THEORIES["choices"]))
    drawn = model.sample(20_000, given="not c", seed=1)
    asked = ["a", "b", "a and b"]
    exact = {
        asked: model.infer(asked, given="not c").to_dict()["marginals"][0]["probability"] for asked in asked
    }
    both = sum({"a", "b"} <= set(world.true) for world in drawn.worlds) / len(drawn)
    for name, share in (("a", drawn.share("a")), ("b", drawn.share("b")), ("a and b", both)):
        assert share == pytest.approx(exact[name], abs=5 * math.sqrt(0.25 / len(drawn)))


def test_shares_are_of_what_is_drawn() -> None:
    """A share of 0 would say that an atom never holds, where facts say that it does, or it is misspelt."""
    theory = '0.5 :: p(x, y) :- e(x, y)\n0.3 :: v(x) = 1; 0.7 :: v(x) = 2 :- e(x, y)\ne("a", "b")'
    drawn = hb.Model(
        hb.parse(f"predicate e(n, n): observed\npredicate p(n, n)\npredicate v(n) in {{1, 2}}\n{theory}")
    ).sample(200)
    counted = sum('p("a", "b")' in world.true for world in drawn.worlds)
    assert drawn.share('p("a", "b")') == counted / 200 and 50 < counted < 150
    assert drawn.share('p("a","b")') == counted / 200
    assert drawn.share('v("a") = 1') + drawn.share('v("a") = 2') == 1.0
    for text in ('e("a", "b")', 'p("a", "c")', 'not p("a", "b")', 'v("a")', "q"):
        with pytest.raises(KeyError, match="is not among the atoms that were drawn"):
            drawn.share(text)


def test_equal_seeds_draw_equal_worlds() -> None:
    model = hb.Model(hb.parse(THEORIES["values"]))
    one, same, other = (model.sample(50, seed=seed).to_dict()["worlds"] for seed in (1, 1, 2))
    assert one == same and one != other
    assert set(one[0]) == {"true", "values", "log_weight"} and set(one[0]["values"]) == {"v"}


@pytest.mark.parametrize("name", ["values", "evidence", "network"])
def test_worlds_beyond_the_memory_are_refused_before_they_are_drawn(name: str, tmp_path: Path) -> None:
    network = tmp_path / "network.bif"
    network.write_text(
        "network n { }\nvariable a { type discrete [ 2 ] { x, y }; }\nprobability ( a ) { table 0.3, 0.7; }\n"
    )
    model = hb.Model(hb.read(network) if name == "network" else hb.parse(THEORIES[name]))
    with pytest.raises(BudgetError, match=r"drawing 10,000,000 worlds needs about 2\..* GB") as refused:
        model.sample(10**7, memory="1GB")
    assert "draw fewer --worlds" in str(refused.value)
    assert len(model.sample(1000, memory="1GB")) == 1000


def test_no_world_to_draw_is_an_error() -> None:
    with pytest.raises(ContradictionError, match="probability 0: not a and c"):
        hb.Model(hb.parse("0.5 :: a\nc :- a\nc")).sample(3, given="not a")


def test_tables_count_worlds_in_which_nothing_holds() -> None:
    """Worlds are numbered as on the screen, and one without a true atom has its row."""
    drawn = hb.Model(hb.parse("predicate a\npredicate b\nhard: not b\n0.0: a or b")).sample(20, seed=1)
    rows = drawn.to_arrow().to_pylist()
    expected = [
        {"world": place, "atom": atom, "predicate": atom, "value": None}
        for place, world in enumerate(drawn.worlds, 1)
        for atom in world.true or [None]
    ]
    assert rows == expected and {row["atom"] for row in rows} == {"a", None}
    assert [int(place) for place, _ in drawn.cells()] == [row["world"] for row in rows]


DAYS = """\
predicate likes(person, thing)
predicate area(paper) in {"a, b", "c"}
predicate rain
0.9: likes("an\\tna \\"x\\"", 7)
0.4: likes("東, 京", 2.5)
0.8: area("p = \\"c\\"") = "a, b"
-0.2: rain
"""


def test_tables_have_a_column_an_argument() -> None:
    """As those of infer have; types are of all that may hold, not of what happened to be drawn."""
    model = hb.Model(hb.parse(DAYS))
    one, many = (model.sample(count, seed=4).to_arrow() for count in (1, 40))
    assert many.schema == one.schema and many.schema.field("argument_2").type == pa.float64()
    assert many.column_names == ["world", "atom", "predicate", "argument_1", "argument_2", "value"]
    marginals = model.infer().to_arrow().to_pylist()
    asked = {(m["atom"], m["predicate"], m["argument_1"], m["argument_2"], m["value"]) for m in marginals}
    assert {tuple(row.values())[1:] for row in many.to_pylist()} == asked


def test_only_what_may_hold_is_drawn() -> None:
    """Of forty constants 1,600 pairs would be atoms; the choices name three."""
    theory = "type c = 0..39\npredicate link(c, c): observed\npredicate meets(c, c)\n"
    links = [(n, n + 1) for n in (1, 2, 3)]
    drawn = hb.Model(hb.parse(theory + "0.5 :: meets(x, y) :- link(x, y)"), {"link": links}).sample(
        50, seed=1
    )
    assert set(drawn.atoms) == {f"meets({n}, {n + 1})" for n in (1, 2, 3)}
    assert all(0.2 < drawn.share(atom) < 0.8 for atom in drawn.atoms)


def test_worlds_are_read_back_as_facts(tmp_path: Path) -> None:
    drawn = hb.Model(hb.parse(DAYS)).sample(6, seed=4)
    pq.write_table(drawn.to_arrow(), tmp_path / "worlds.parquet")
    declared = hb.parse('predicate likes(p, t): observed\npredicate area(p) in {"a, b", "c"}: observed')
    for place, world in enumerate(drawn.worlds, 1):
        facts = [
            f"{name}={tmp_path}/worlds.parquet({columns}) where world = {place} and predicate = '{name}'"
            for name, columns in (("likes", "argument_1, argument_2"), ("area", "argument_1, value"))
        ]
        again = hb.Model(declared, facts)
        assert len(again.query("likes(x, y)")) == sum(atom.startswith("likes") for atom in world.true)
        assert [row.bindings for row in again.query("area(x) = y")] == [
            {"x": 'p = "c"', "y": value} for value in world.values.values()
        ]
