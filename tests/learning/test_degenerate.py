"""Every method of ``learn`` where there is nothing to learn, or nothing to learn from.

It gives a result that can be read again, or a plain refusal.
"""

from __future__ import annotations

from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, HerbrandError
from herbrand.learning.methods import METHODS

TWO = "predicate s(p)\npredicate c(p)\n"
PATHS = "predicate e(n, n)\npredicate p(n, n)\n"
THEORIES = {
    "fixed weights": TWO + '1: s(x) => c(x)\ns("a")\nc("a")',
    "no statement": TWO + 's("a")\nc("a")',
    "nothing at all": "",
    "no constants": TWO + "?: s(x) => c(x)",
    "no constants, fixed weights": TWO + "1: s(x) => c(x)",
    "no facts": 'type p = {"a", "b"}\n' + TWO + "?: s(x) => c(x)",
    "no facts, fixed weights": 'type p = {"a", "b"}\n' + TWO + "1: s(x) => c(x)",
    "a latent predicate of no rule": 'type p = {"a", "b"}\n' + TWO + "1: s(x)",
    "one of two types is empty": 'type p = {"a"}\ntype q\npredicate s(p)\npredicate c(p)\npredicate r(p, q)\n'
    "1: r(x, y) and s(x) => c(x)",
    "one value": 'predicate c(p) in {"u"}\npredicate s(p)\n?: s(x) and c(x) = "u"\ns("a")\nc("a") = "u"',
    "no constant to weigh by": TWO + 'predicate h(p, w): observed\n?[w]: h(x, w) => c(x)\nc("a")',
    "all is observed": 'predicate s(p): observed\npredicate c(p): observed\n?: s(x) => c(x)\ns("a")',
    "it always holds": TWO + '?: s(x) or not s(x)\ns("a")\nc("a")',
    "it never holds": TWO + '?: s(x) and not s(x)\ns("a")\nc("a")',
    "only hard": TWO + 'hard: s(x) => c(x)\ns("a")\nc("a")',
    "hard statements decide": TWO + 'hard: c(x)\n?: c(x)\ns("a")\nc("a")',
    "rules without weights": PATHS + 'p(x, y) :- e(x, y)\ne("a", "b")\np("a", "b")',
    "rules to learn": PATHS + 'p(x, y) :- e(x, y) @ ?\ne("a", "b")\np("a", "b")',
    "rules without facts": PATHS + 'p(x, y) :- e(x, y) @ ?\np("a", "b")',
    "rules without answers": PATHS + 'p(x, y) :- e(x, y) @ ?\ne("a", "b")',
    "rules alone": PATHS + "p(x, y) :- e(x, y) @ ?",
    "learned facts that are none": PATHS.replace("e(n, n)", "e(n, n): learned")
    + 'p(x, y) :- e(x, y)\np("a", "b")',
    "no arguments": "predicate s\npredicate c\n?: s => c\ns\nc",
    "no arguments, fixed weights": "predicate s\npredicate c\n1: s => c\ns",
    "no arguments, a rule": "predicate s\npredicate c\nc :- s @ ?\ns\nc",
    "bounds alone": "predicate s\nP(s) >= 0.5",
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"latent": ["c"]},
    {"latent": ["s", "c"]},
    {"latent": ["p"]},
    {"target": ["c"]},
    {"target": ["c"], "latent": ["c"]},
    {"target": ["nobody"]},
    {"worlds": [{}]},
    {"worlds": [{"s": ["a"]}, {}]},
    {"l2": 0},
    {"l1": 0.1},
    {"latent": ["s", "c"], "batch": 3},
    {"latent": ["c"], "clip": 1.0},
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", THEORIES)
def test_a_result_or_a_plain_refusal(method: str, name: str) -> None:
    for options in OPTIONS:
        try:
            found = hb.Model(hb.parse(THEORIES[name])).learn(method=method, iterations=2, **options)
        except HerbrandError as error:
            assert str(error)
            continue
        assert repr(found) and found.to_dict()
        assert hb.parse(found.text) == found.theory or not len(found.theory.statements)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (TWO + '1: s(x) => c(x)\ns("a")\nc("a")', {"latent": ["c"]}, "there is no latent atom"),
        ('type p = {"a"}\n' + TWO + "1: s(x)", {"latent": ["c"]}, "no statement is about a latent atom of c"),
        (TWO + '1: s(x) => c(x)\ns("a")', {}, "no predicate is latent"),
    ],
)
@pytest.mark.parametrize("batch", [None, 2])
def test_distillation_names_what_is_missing(
    text: str, options: dict[str, Any], said: str, batch: int | None
) -> None:
    with pytest.raises(HerbrandError, match=said):
        hb.Model(hb.parse(text)).learn(method="distillation", batch=batch, **options)


BROKEN = {
    "hard: c(x)": 'not c\\("a"\\)',
    "hard: not s(x)": 's\\("a"\\)',
    'hard: not m(x) = "u"': 'm\\("a"\\) = "u"',
}


@pytest.mark.parametrize("method", ["pseudo-likelihood", "layers", "likelihood"])
@pytest.mark.parametrize("statement", BROKEN)
def test_facts_that_break_a_hard_statement_are_named_as_they_stand(method: str, statement: str) -> None:
    text = TWO + 'predicate m(p) in {"u", "v"}\ns("a")\nm("a") = "u"\n?: c(x) and s(x)\n?: m(x) = "v"\n'
    with pytest.raises(ContradictionError, match=BROKEN[statement]):
        hb.Model(hb.parse(text + statement)).learn(method=method)


@pytest.mark.parametrize(
    ("text", "method", "message"),
    [
        (
            "?: p(x) and q(x)",
            "pseudo-likelihood",
            "there is nothing to learn p from in world 2: type thing has ",
        ),
        ("?: p(x) and q(x)", "likelihood", "there is nothing to learn p from in world 2: type thing has no "),
        ("p(x) :- q(x) @ ?", "proof", "<text>:1:1: nothing else in the body binds x in world 2\n"),
    ],
)
def test_the_one_empty_world_is_named(text: str, method: str, message: str) -> None:
    full, empty = {"q": ["a", "b"], "p": ["a"]}, {"q": [], "p": []}
    with pytest.raises(hb.HerbrandError, match=message):
        hb.Model(hb.parse(text)).learn(method, worlds=[full, empty, full])
