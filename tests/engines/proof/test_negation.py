"""``not``: no proof at any depth, whatever stands for variables that only it has; beside the least model."""

from __future__ import annotations

import itertools

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language import syntax as s
from tests.engines.proof.kinds_of_rules import spelled
from tests.engines.proof.test_against_proofs import told
from tests.oracles.least_model import least_model

NODES = ("a", "b", "c")
DECLARED = """\
type n = {"a", "b", "c"}
predicate e(n, n): observed
predicate u(n): observed
predicate wet: observed
predicate p(n, n)
predicate q(n)
predicate r
predicate s(n, n)
"""
LOWER = "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\nq(x) :- p(x, x)\nr :- q(x), u(x)\n"
BODIES = [
    "u(x), u(y), not e(x, y)",
    "u(x), e(x, y), not e(y, x)",
    "u(x), u(y), not e(x, _)",
    "u(x), u(y), not e(_, _)",
    "u(x), u(y), not e(y, y)",
    'u(x), u(y), not e(x, "b")',
    'u(x), u(y), not e("a", "b")',
    "u(x), u(y), not p(x, y)",
    "u(x), u(y), not p(x, _)",
    "u(x), u(y), not p(_, _)",
    "e(x, y), not q(x)",
    "e(x, y), not q(y), not u(y)",
    "u(x), u(y), not r",
    "u(x), u(y), not wet",
    "u(x), u(y), not q(_)",
    "e(x, y), not p(y, x), not e(x, x)",
    "u(x), y = x, not e(x, y)",
]
WORLDS: list[dict[str, list[tuple[str, ...]]]] = [
    {"e": [("a", "b"), ("b", "c")], "u": [("a",), ("b",), ("c",)], "wet": []},
    {"e": [("a", "b"), ("b", "a"), ("c", "c")], "u": [("a",), ("c",)], "wet": [()]},
    {"e": [], "u": [("b",)], "wet": []},
]


def text_of(rules: str, world: dict[str, list[tuple[str, ...]]]) -> str:
    rows = [
        f"{name}({', '.join(f'{value!r}' for value in row)})".replace("'", '"') if row else name
        for name, known in world.items()
        for row in known
    ]
    return "\n".join([DECLARED, rules, *rows])


def provable(rules: str, world: dict[str, list[tuple[str, ...]]]) -> set[tuple[str, tuple[s.Value, ...]]]:
    """``q`` and ``r`` rest on ``p``, and ``s`` on all of them."""
    parsed = [spelled(rule) for rule in hb.parse(rules).rules]
    strata = [[rule for rule in parsed if rule.head.predicate in heads] for heads in ("p", "qr", "s")]
    return least_model(strata, {(n, row) for n, known in world.items() for row in known}, NODES)  # type: ignore[return-value]


@pytest.mark.parametrize("body", BODIES)
def test_what_has_no_proof_is_absent(body: str) -> None:
    """In each mode: all answers, those of one constant, and each alone; to a depth, and to the fixpoint."""
    rules = f"{LOWER}s(x, y) :- {body}"
    for world in WORLDS:
        wanted = {row for name, row in provable(rules, world) if name == "s"}
        model = hb.Model(hb.parse(text_of(rules, world)))
        for options in ({"depth": 3}, {"depth": "fixpoint", "algebra": "boolean"}):
            assert set(told(model.query("s(x, y)", **options))) == wanted, (world, options)
        assert set(told(model.query('s("a", y)'))) == {row[1:] for row in wanted if row[0] == "a"}
        goals = [f's("{x}", "{y}")' for x, y in itertools.product(NODES, repeat=2)]
        found = [bool(len(answer)) for answer in model.query(goals)]
        assert found == [row in wanted for row in itertools.product(NODES, repeat=2)]


@pytest.mark.parametrize("body", BODIES)
def test_a_goal_may_hold_the_same(body: str) -> None:
    goal = body.replace(", ", " and ").replace("(x and ", "(x, ").replace("(y and ", "(y, ")
    goal = goal.replace("(_ and ", "(_, ").replace('("a" and ', '("a", ')
    for world in WORLDS:
        wanted = {row for name, row in provable(f"{LOWER}s(x, y) :- {body}", world) if name == "s"}
        answer = hb.Model(hb.parse(text_of(LOWER, world))).query(goal, algebra="boolean", depth="fixpoint")
        found = {(row.bindings["x"], row.bindings["y"]) for row in answer.rows()}
        assert found == wanted, world


def test_not_counts_nothing_and_weighs_nothing() -> None:
    """A weight of 0 is a fact all the same: what is stated has a proof."""
    text = 'e("a", "b") @ 3\ne("b", "c") @ 0\nu("a") @ 5\nu("b") @ 7\ns(x, x) :- u(x), not e(x, _) @ 2'
    answer = hb.Model(hb.parse(f"{DECLARED}{text}"))
    assert told(answer.query("s(x, y)")) == {}
    assert told(answer.query("u(x) and not e(_, x)")) == {("a",): 5}
    assert told(answer.query('u("a") and not e("c", _)')) == {(): 5}


def test_one_law_of_excluded_middles() -> None:
    """With and without: together all, and never both."""
    rules = f"{LOWER}s(x, y) :- u(x), u(y)"
    for world in WORLDS:
        model = hb.Model(hb.parse(text_of(rules, world)))
        every = set(told(model.query("s(x, y)")))
        for test in ("p(x, y)", "e(x, x)", "q(y)", "r", "wet", "p(x, _)"):
            yes = set(told(model.query(f"s(x, y) and {test}")))
            no = set(told(model.query(f"s(x, y) and not {test}")))
            assert yes | no == every and not yes & no, (test, world)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("s(x, y) :- u(x), not s(x, y)", "s depends on its own negation"),
        ("q(x) :- u(x), not r\nr :- q(x)", "q depends on its own negation"),
        ("r :- u(x), not (e(x, x) and u(x))", "a rule's body holds atoms"),
    ],
)
def test_negation_that_means_nothing(rules: str, message: str) -> None:
    goal = {"s": "s(x, y)", "q": "q(x)", "r": "r"}[rules[0]]
    with pytest.raises(LanguageError, match=message):
        hb.Model(hb.parse(f'{DECLARED}{rules}\nu("a")')).query(goal)
