"""Rules of every form over known facts: what they derive, by hand and beside the proofs of the same rules."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, LanguageError, UnsupportedError
from herbrand.program import derive

pytestmark = pytest.mark.usefixtures("road")

FACTS = """\
type n = {1, 2, 3}
type w = {"u", "v"}
predicate e(n, n): observed
predicate k(n): observed
predicate m(n) in {"red", "blue"}: observed
predicate has(n, w): observed
predicate go: observed
e(1, 2)
e(2, 3)
e(3, 3)
k(2)
m(1) = "red"
m(2) = "blue"
m(3) = "red"
has(1, "u")
has(3, "v")
go
"""
ALL = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]
CASES: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "a copy": ("p(x, y) :- e(x, y)", [(1, 2), (2, 3), (3, 3)]),
    "turned round": ("p(x, y) :- e(y, x)", [(2, 1), (3, 2), (3, 3)]),
    "a diagonal": ("p(x, x) :- e(x, x)", [(3, 3)]),
    "a join": ("p(x, z) :- e(x, y), e(y, z)", [(1, 3), (2, 3), (3, 3)]),
    "its closure": ("p(x, y) :- e(x, y)\np(x, z) :- p(x, y), p(y, z)", [(1, 2), (1, 3), (2, 3), (3, 3)]),
    "a constant in the head": ("p(x, 1) :- k(x)", [(2, 1)]),
    "constants alone in the head": ("p(3, 1) :- go", [(3, 1)]),
    "a constant in the body": ("p(x, y) :- e(x, 3), e(1, y)", [(2, 2), (3, 2)]),
    "a body of nothing": ("p(x, y) :- true", ALL),
    "a body that is false": ("p(x, y) :- false", []),
    "a variable of the head alone": ("p(x, y) :- k(x)", [(2, 1), (2, 2), (2, 3)]),
    "what is not so": ("p(x, y) :- e(x, y), not k(x)", [(1, 2), (3, 3)]),
    "nothing of a kind": ("p(x, y) :- e(x, y), not e(y, y)", [(1, 2)]),
    "not of anyone": ("p(x, y) :- e(x, y), not has(x, _)", [(2, 3)]),
    "not of anyone else": ("p(x, x) :- k(x), not e(z, x)", []),
    "a value": ('p(x, y) :- e(x, y), m(x) = "red"', [(1, 2), (3, 3)]),
    "not a value": ('p(x, y) :- e(x, y), not m(y) = "red"', [(1, 2)]),
    "a choice of values": ('p(x, y) :- e(x, y), m(x) in {"blue"}', [(2, 3)]),
    "values that agree": ("p(x, y) :- e(x, y), m(x) = v, m(y) = v", [(3, 3)]),
    "values that differ": ("p(x, y) :- e(x, y), m(x) = v, m(y) = w, v != w", [(1, 2), (2, 3)]),
    "not the value of another": ("p(x, y) :- e(x, y), m(x) = v, not m(y) = v", [(1, 2), (2, 3)]),
    "any value": ("p(x, y) :- e(x, y), m(x) = _", [(1, 2), (2, 3), (3, 3)]),
    "equality": ("p(x, y) :- k(x), y = 3", [(2, 3)]),
    "equality of variables": ("p(x, y) :- e(x, z), y = z", [(1, 2), (2, 3), (3, 3)]),
    "equality that cannot be": ("p(x, y) :- e(x, y), x = 1, x = 2", []),
    "difference": ("p(x, y) :- e(x, y), x != y", [(1, 2), (2, 3)]),
    "difference from a constant": ("p(x, y) :- e(x, y), y != 3", [(1, 2)]),
    "an order": ("p(x, y) :- k(z), z <= x, x < y", [(2, 3)]),
    "an order from a constant": ("p(x, y) :- e(x, y), 2 <= x", [(2, 3), (3, 3)]),
    "an order of one with itself": ("p(x, y) :- e(x, y), x < x", []),
    "an order that allows itself": ("p(x, y) :- e(x, y), x <= x", [(1, 2), (2, 3), (3, 3)]),
    "two constants in order": ("p(x, y) :- e(x, y), 2 < 3", [(1, 2), (2, 3), (3, 3)]),
    "two constants out of order": ("p(x, y) :- e(x, y), 3 <= 2", []),
    "two texts in order": ('p(x, y) :- e(x, y), "a" < "b"', [(1, 2), (2, 3), (3, 3)]),
    "two equal constants": ("p(x, y) :- e(x, y), 2 = 2", [(1, 2), (2, 3), (3, 3)]),
    "two rules for one": ("p(x, y) :- e(x, y)\np(x, y) :- e(y, x), k(x)", [(1, 2), (2, 1), (2, 3), (3, 3)]),
    "one by another": (
        "predicate q(n)\nq(x) :- e(_, x)\np(x, y) :- q(x), q(y)",
        [(2, 2), (2, 3), (3, 2), (3, 3)],
    ),
    "each by the other": (
        "predicate q(n, n)\nq(x, y) :- e(x, y)\nq(x, z) :- p(x, y), e(y, z)\np(x, y) :- q(x, y), x != y",
        [(1, 2), (1, 3), (2, 3)],
    ),
    "without what another derives": (
        "predicate q(n)\nq(x) :- e(x, x)\np(x, y) :- e(x, y), not q(y)",
        [(1, 2)],
    ),
    "three levels of not": (
        "predicate q(n)\npredicate r(n)\nq(x) :- k(x)\nr(x) :- e(x, _), not q(x)\n"
        "p(x, y) :- e(x, y), not r(y)",
        [(1, 2)],
    ),
    "a proposition between": ("predicate q\nq :- e(x, x)\np(x, x) :- k(x), q", [(2, 2)]),
    "a proposition that is not so": ("predicate q\nq :- e(x, x), k(x)\np(x, x) :- k(x), not q", [(2, 2)]),
    "facts and rules of one": (
        "p(3, 1)\np(x, y) :- p(y, x)\np(x, y) :- e(x, y), k(x)",
        [(1, 3), (2, 3), (3, 1), (3, 2)],
    ),
}


def derived(rules: str) -> list[tuple[int, int]]:
    """The atoms of p that hold."""
    model = hb.Model(hb.parse(f"{FACTS}predicate p(n, n)\n{rules}\n"))
    rows = model.program.facts.rows(model.signature.predicate("p"), model.program.table("p").true)
    return sorted(rows)  # type: ignore[type-var, return-value]


@pytest.mark.parametrize("name", CASES)
def test_what_is_derived(name: str) -> None:
    rules, expected = CASES[name]
    assert derived(rules) == expected


def test_proofs_of_the_same_rules_find_the_same() -> None:
    for name, (rules, expected) in CASES.items():
        model = hb.Model(hb.parse(f"{FACTS}predicate p(n, n)\n{rules}\n"))
        answers = model.query("p(x, y)", algebra="boolean", depth=8).to_arrow().to_pylist()
        assert sorted((row["x"], row["y"]) for row in answers if row["weight"]) == expected, name


def test_rules_in_any_order_derive_the_same() -> None:
    for name, (rules, expected) in CASES.items():
        lines = rules.splitlines()
        declared = [line for line in lines if line.startswith("predicate")]
        others = [line for line in lines if line not in declared]
        assert derived("\n".join([*declared, *reversed(others)])) == expected, name
        assert derived("\n".join([*declared, *others, *others])) == expected, name


@pytest.mark.parametrize(
    ("rules", "error", "told"),
    [
        ("p(x, y) :- e(x, y), not p(y, x)", LanguageError, "p depends on its own negation"),
        (
            "predicate q(n)\nq(x) :- e(x, _), not p(x, x)\np(x, x) :- q(x)",
            LanguageError,
            "depends on its own negation",
        ),
        (
            "predicate o(n)\np(x, x) :- o(x)\n0.5: o(x)",
            UnsupportedError,
            "this rule derives from o, which is open: p(x, x) :- o(x)",
        ),
        (
            "p(x, y) :- e(x, y)\nnot p(2, 3)",
            ContradictionError,
            "this rule derives p(2, 3), which is stated to be false",
        ),
        ("p(x, y) :- e(x), k(y)", LanguageError, "e takes 2 arguments"),
        ("p(x, y) :- f(x, y)", LanguageError, "predicate 'f' is not declared"),
        ("p(x) :- k(x)", LanguageError, "p takes 2 arguments"),
        ('p(x, y) :- e(x, y), x < "a"', LanguageError, '"a" is not a n'),
        ('p(x, y) :- e(x, y), 2 < "b"', LanguageError, "'<' of a whole number and a text, which differ"),
        ("p(x, y) :- e(x, y), has(_, x)", LanguageError, ""),
        ("p(x, y) :- has(x, a), has(y, b), a < 1", LanguageError, "1 is not a w"),
    ],
)
def test_what_cannot_be_derived_is_told(rules: str, error: type[HerbrandError], told: str) -> None:
    with pytest.raises(error) as caught:
        derived(rules)
    assert told in str(caught.value)
    assert caught.value.mistakes[0].span is not None


def test_a_derivation_too_wide_for_memory_is_refused() -> None:
    text = "type t = 1..3000\npredicate k(t): observed\npredicate p(t, t)\npredicate q(t)\nk(1)\n"
    model = hb.Model(hb.parse(text + "p(x, y) :- not k(x), not k(y)\n"))
    with pytest.raises(
        BudgetError, match=r"a join of 8,997,000 rows needs about 205\.9 MB, and 976\.6 kB are"
    ):
        derive.derived(model.theory.rules, model.signature, model.stated_program.facts, Budget(10**6))


@pytest.mark.parametrize("engine", ["auto", "exact", "lifted", "bp", "mean-field", "gibbs"])
def test_a_derived_predicate_by_its_name(engine: str) -> None:
    """Its atoms are known: those that hold are listed, as each of them is if it is asked for alone."""
    rules = "cousin(x, y) :- parent(z, x), parent(z, y), x != y\nlone(x) :- parent(x, x)"
    declared = (
        "predicate parent(p, p): observed\npredicate cousin(p, p)\npredicate lone(p)\npredicate tall(p)"
    )
    model = hb.Model(hb.parse(f"{declared}\n1: tall(x)\n{rules}"), {"parent": [("a", "b"), ("a", "c")]})
    notes: list[str] = []
    found = {
        row.atom: row.probability for row in model.infer("cousin", engine=engine, note=notes.append).rows()
    }
    assert found == {'cousin("b", "c")': 1.0, 'cousin("c", "b")': 1.0}
    assert any(note.startswith("rules derive cousin, so each of its atoms is known") for note in notes)
    for atom in found:
        assert model.infer(atom, engine=engine)[atom] == 1.0
    assert not list(model.infer("lone", engine=engine).rows())


def test_what_is_given_of_derived_atoms_agrees_with_the_rules() -> None:
    """It is evidence, and where all that is derived is certain it changes nothing or cannot be."""
    text = (
        "predicate e(n, n): observed\npredicate p(n, n)\npredicate b\npredicate tall(n)\n"
        '1: tall(x) and p(x, y)\ne("a", "b")\np(x, y) :- e(x, y)\nb :- p(x, x)'
    )
    model = hb.Model(hb.parse(text))
    alone = model.infer("tall")['tall("a")']
    for given in ('p("a", "b")', 'not p("b", "a")', "not b"):
        assert model.infer("tall", given=given)['tall("a")'] == alone
    for given in ('not p("a", "b")', 'p("b", "a")', "b", 'p("a", "c")'):
        with pytest.raises(ContradictionError, match="the evidence has probability 0"):
            model.infer("tall", given=given)
    assert model.infer("b", given='e("b", "b")')["b"] == 1.0
