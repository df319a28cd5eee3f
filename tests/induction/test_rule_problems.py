"""The made problems of the benchmark of rules: what they label follows from the rules that they plant."""

import numpy as np
import pytest

import herbrand as hb
from benchmarks.induction_problems import PROBLEMS, solve
from benchmarks.rule_problems.problem import Labelled, Problem, write
from benchmarks.rule_problems.trial import right_and_whole
from herbrand.induction.evaluation import Clause, Literal
from herbrand.induction.given_worlds import read_worlds

PLANTED = {
    "zendo: a red one touches a flat one": "t(s) :- piece(s, p), red(p), piece(s, q), flat(q), touches(p, q)",
    "zendo: a large green one": "t(s) :- piece(s, p), green(p), size(p, n), n >= 7",
    "trains: two closed cars": "t(x) :- has_car(x, c), closed(c), has_car(x, d), closed(d), c != d",
    "molecules: a ring of three": "t(m) :- atom(m, a), bond(a, b, _), bond(b, c, _), bond(c, a, _)",
    "game: legal move": "t(g, r, c, d) :- control(g, r), cell(g, c, d, b), blank(b)",
    "game: king in check": "t(g) :- rook(g, c, _), black_king(g, c, _)\n"
    "t(g) :- rook(g, _, r), black_king(g, _, r)\n"
    "t(g) :- white_king(g, c, r), black_king(g, d, s), near(c, d), near(r, s)",
    "family: great-grandparent": "above(x, y) :- father(x, y)\nabove(x, y) :- mother(x, y)\n"
    "t(x, y) :- above(z, x), above(u, z), above(y, u)",
    "family: mother-in-law": "t(x, y) :- married(x, z), mother(y, z)",
    "graph: reached by ever heavier nodes": "t(x, y) :- edge(x, y), weight(x, n), weight(y, m), m > n\n"
    "t(x, y) :- t(x, z), edge(z, y), weight(z, n), weight(y, m), m > n",
    "film: same director": "t(x, y) :- acts(f, x), directs(f, d), acts(g, y), directs(g, d), x != y",
    "list: even length": "t(x) :- nil(x)\nt(x) :- cons(x, _, y), cons(y, _, z), t(z)",
    "table: exclusive or": "t(x) :- q0(x), not q1(x)\nt(x) :- q1(x), not q0(x)",
    "numbers: age and income": "t(x) :- age(x, n), n >= 30, n < 55, income(x, m), m >= 25000",
}


@pytest.mark.parametrize("name", PLANTED)
def test_labels_follow_from_the_planted_rules(name):
    problem = PROBLEMS[name]
    world = problem.draw(np.random.default_rng(5), min(problem.size, 40))
    helper = "predicate above(person, person)\n" if "above" in PLANTED[name] else ""
    facts = {predicate: sorted(rows, key=repr) for predicate, rows in world.facts.items() if rows}
    width = len(problem.types["t"].split())
    variables = "xyzu"[:width]
    model = hb.Model(hb.parse(f"{problem.declarations}\n{helper}{PLANTED[name]}"), facts)
    answers = model.query(f"t({', '.join(variables)})").to_dict()["answers"]
    derived = {tuple(answer["bindings"][variable] for variable in variables) for answer in answers}
    assert {row for row, truth in world.labels.items() if truth} == derived & set(world.labels)


@pytest.mark.parametrize("name", PROBLEMS)
def test_draws_have_both_labels_and_are_repeatable(name):
    problem = PROBLEMS[name]
    one, other = (problem.draw(np.random.default_rng(6), problem.size) for _ in range(2))
    assert one == other
    assert set(one.labels.values()) == {True, False}
    assert {len(row) for row in one.labels} == {len(problem.types["t"].split())}


def test_right_answers_are_counted_among_the_labels(tmp_path):
    write({"p": {("a",), ("b",)}}, {("a",): True, ("b",): False, ("c",): False}, tmp_path / "w")
    (world,) = read_worlds(hb.parse("predicate p(thing)\npredicate t(thing)"), "t", tmp_path).worlds
    rules = [Clause("t", (0,), (Literal("p", (0,)),))]
    assert right_and_whole(rules, "t", world).tolist() == [[1, 1], [1, 2]]
    assert right_and_whole([], "t", world).tolist() == [[0, 2], [1, 2]]


def test_a_trial_tells_how_much_of_fresh_worlds_is_right():
    def draw(rng: np.random.Generator, count: int) -> Labelled:
        names = [f"n{number}" for number in range(count)]
        held = {(name,) for name in names if rng.random() < 0.5}
        return Labelled(
            {"p": held, "thing": {(name,) for name in names}}, {(n,): (n,) in held for n in names}
        )

    one = solve("held", Problem({"p": "thing", "thing": "thing", "t": "thing"}, draw, 20), 0.0, 0)
    assert (one.accuracy, one.errors, one.lines) == (1.0, "0", ["t(x) :- p(x)"])
