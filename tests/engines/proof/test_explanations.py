"""Explanations of answers: trees in the user's words, heaviest first, and what they leave of the weight."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation, Reason
from herbrand.engines.proof.request import Request
from herbrand.errors import LanguageError, UnsupportedError
from tests.engines.proof.explained import explained
from tests.engines.proof.test_single_proofs import proof_of

TEXT = """\
predicate e(person, person): observed
predicate u(person): observed
predicate area(person) in {"ai", "db"}: observed
predicate p(person, person)
predicate far(person, person)
predicate expert(person)
predicate r
p(x, y) :- e(x, y)
p(x, y) :- e(x, z), p(z, y) @ 0.5
far(x, y) :- p(x, y), u(y), e(y, w), u(w)
expert(x) :- area(x) = "ai", not u(x)
r :- p(x, x), u(x)
e("a", "b") @ 2
e("b", "a")
e("b", "c") @ -1
u("a")
u("b") @ 3
area("c") = "ai"
p("a", "d") @ 4
"""


def why(goal: str, **options: object) -> Explanation:
    rules = proof_of(hb.Model(hb.parse(TEXT)))
    return explained(rules, goal, Request.of({"depth": 3, **options}))


Tree = tuple[str, dict[str, object], float, list["Tree"]]


def tree(reason: Reason) -> Tree:
    return reason.statement, dict(reason.grounding), reason.contribution, list(map(tree, reason.parts))


CALL = "p(x, y) :- e(x, z), p(z, y) @ 0.5"
BASE = "p(x, y) :- e(x, y)"
CASES: list[tuple[str, float, list[Tree]]] = [
    ('e("a", "b")', 2.0, [('e("a", "b") @ 2.0', {}, 2.0, [])]),
    ('u("a")', 1.0, [('u("a")', {}, 1.0, [])]),
    ('area("c") = "ai"', 1.0, [('area("c") = "ai"', {}, 1.0, [])]),
    ('area("c") in {"ai", "db"}', 1.0, [('area("c") = "ai"', {}, 1.0, [])]),
    ('p("c", "a")', 0.0, []),
    (
        'p("a", "b")', 3.0,
        [
            (BASE, {"x": "a", "y": "b"}, 2.0, [('e("a", "b") @ 2.0', {}, 2.0, [])]),
            (
                CALL, {"x": "a", "z": "b", "y": "b"}, 1.0,
                [
                    ('e("a", "b") @ 2.0', {}, 2.0, []),
                    (
                        CALL, {"x": "b", "z": "a", "y": "b"}, 1.0,
                        [
                            ('e("b", "a")', {}, 1.0, []),
                            (BASE, {"x": "a", "y": "b"}, 2.0, [('e("a", "b") @ 2.0', {}, 2.0, [])]),
                        ],
                    ),
                ],
            ),
        ],
    ),
    ('p("a", "d")', 6.0, [
        ('p("a", "d") @ 4.0', {}, 4.0, []),
        (CALL, {"x": "a", "z": "b", "y": "d"}, 2.0, [
            ('e("a", "b") @ 2.0', {}, 2.0, []),
            (CALL, {"x": "b", "z": "a", "y": "d"}, 2.0, [
                ('e("b", "a")', {}, 1.0, []), ('p("a", "d") @ 4.0', {}, 4.0, []),
            ]),
        ]),
    ]),
    (
        'expert("c")', 1.0,
        [('expert(x) :- area(x) = "ai", not u(x)', {"x": "c"}, 1.0, [('area("c") = "ai"', {}, 1.0, [])])],
    ),
    ('u("a") and 1 < 2', 1.0, [('u("a")', {}, 1.0, [])]),
    ('not u("c")', 1.0, [('not u("c")', {}, 1.0, [])]),
    (
        'u("a") and u("b") and not u("c")', 3.0,
        [
            (
                'u("a") and u("b") and not u("c")', {}, 3.0,
                [('u("a")', {}, 1.0, []), ('u("b") @ 3.0', {}, 3.0, [])],
            )
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("goal", "value", "reasons"), CASES, ids=[goal for goal, _, _ in CASES])
def test_the_trees_of_an_answer(goal: str, value: float, reasons: list[Tree]) -> None:
    told = why(goal)
    assert told.value == pytest.approx(value) and told.subject == goal
    assert list(map(tree, told.reasons)) == reasons
    assert told.remainder == 0.0 and told.engine == "proof"


def test_the_subject_is_written_as_answers_are() -> None:
    told = why('u( "a" )and not u("c")')
    assert told.subject == 'u("a") and not u("c")' == told.to_dict()["subject"]


def statements(reasons: Sequence[Reason]) -> list[str]:
    return [text for reason in reasons for text in (reason.statement, *statements(reason.parts))]


@pytest.mark.parametrize(
    "goal", ['far("a", "a")', "r", 'p("a", "b") and u("b") and p("b", "b")', 'p("a", _)', "p(_, _)"]
)
def test_no_name_that_only_the_engine_knows_is_told(goal: str) -> None:
    told = why(goal, top=50)
    assert told.reasons and not any("`" in text or "?" in text for text in statements(told.reasons))
    names = {name for reason in told.reasons for name in reason.grounding}
    assert names <= {"x", "y", "z", "w"}


@pytest.mark.parametrize("top", [1, 2, 4])
def test_the_heaviest_come_first_and_the_rest_is_a_number(top: int) -> None:
    """By what they weigh, with or without a sign; what is left is what the others add up to."""
    every, some = why('p("a", "c")', depth=5, top=100), why('p("a", "c")', depth=5, top=top)
    listed = [reason.contribution for reason in every.reasons]
    assert listed == sorted(listed, key=abs, reverse=True) and every.remainder == 0.0
    assert [reason.contribution for reason in some.reasons] == listed[:top]
    assert some.remainder == pytest.approx(sum(listed[top:])) and some.value == pytest.approx(sum(listed))


def test_deeper_proofs_are_spoken_of_where_there_are_some() -> None:
    note = "deeper proofs are not counted; allow more by --depth"
    assert why('p("a", "b")').note == note and why('u("a")').note == "" and why('p("c", "a")').note == ""
    assert why('far("a", "a")', depth=0).note == note


@pytest.mark.parametrize(
    ("goal", "options", "message"),
    [
        (
            'p("a", y)',
            {},
            "one answer is explained at a time, and y is a variable\n  put a constant for y, or _",
        ),
        ('p("a", "b")', {"algebra": "max"}, "proofs are explained in the count algebra and within a depth"),
        (
            'p("a", "b")',
            {"depth": "fixpoint"},
            "proofs are explained in the count algebra and within a depth",
        ),
    ],
)
def test_what_is_not_explained(goal: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        why(goal, **options)


def test_wrong_goals_are_told_as_in_a_query() -> None:
    with pytest.raises(LanguageError, match='"nobody" is no constant of type person'):
        why('p("nobody", "a")')
    with pytest.raises(LanguageError, match="there is no predicate 'q'"):
        why('q("a")')


def test_a_constant_of_another_inferred_type_has_no_proof() -> None:
    model = hb.Model(hb.parse('p(x, y) :- e(x, y)\ne("a", "b")\nf("c")'))
    told = explained(proof_of(model), 'p("c", "b")', Request())
    assert told.value == 0.0 and told.reasons == ()


@pytest.mark.parametrize(
    ("kind", "parts"), [("{1, 2, 3}", ["on(2)"]), ("1..3", ["on(2)"]), ("number", ["on(2)", "1 = 2 - 1"])]
)
def test_a_value_that_is_no_argument_is_no_part(kind: str, parts: list[str]) -> None:
    """With a closed type a part was `i - 1` = 2 - 1, which says nothing."""
    text = (
        f"type n = {kind}\npredicate on(n): observed\npredicate up(n)\non(2)\nup(i) :- on(i), not on(i - 1)"
    )
    found = hb.Model(hb.parse(text)).explain("up(2)")
    assert isinstance(found, Explanation)
    (reason,) = found.reasons
    assert [part.statement for part in reason.parts] == parts
