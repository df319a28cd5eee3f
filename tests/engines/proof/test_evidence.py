"""Evidence that a goal is asked under: probabilities are conditional; other algebras refuse it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError
from tests.engines.proof.test_against_proofs import told

EDGES = """
edge("a", "b") @ 0.5
edge("b", "c") @ 0.5
edge("a", "c") @ 0.5
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
"""
WET = "rain @ 0.3\nsprinkler @ 0.5\nwet :- rain\nwet :- sprinkler\n"
AREAS = """
type paper = {"p"}
predicate area(paper) in {"ai", "db", "theory"}
predicate both
predicate any
predicate other
both :- area("p") = "ai", area("p") = "db"
any :- area("p") = "ai"
any :- area("p") = "db"
other :- not area("p") in {"ai", "db"}
"""
STATED = 'area("p") = "ai" ~ 0.3\narea("p") = "db" ~ 0.7\n'


def chance(text: str, goal: str, given: Sequence[str] = ()) -> float:
    found = [
        told(hb.Model(hb.parse(text)).query(goal, given=given, algebra="probability", depth=depth))
        for depth in (10, "fixpoint")
    ]
    assert found[0] == found[1]
    return found[0].get((), 0.0)


@pytest.mark.parametrize(
    ("goal", "expected"),
    [("wet and not rain", 0.35), ("not rain", 0.7), ("not wet", 0.35), ("not rain and rain", 0)],
)
def test_not_in_goals(goal: str, expected: float) -> None:
    assert chance(WET, goal) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("stated", "given", "expected"),
    [
        (STATED, [], {"both": 0, "any": 1, "other": 0, 'area("p") = "ai"': 0.3, 'not area("p") = "ai"': 0.7}),
        (STATED, ['not area("p") = "ai"'], {"any": 1, 'area("p") = "db"': 1}),
        ('area("p") = "ai" ~ 0.3\n', [], {"both": 0, "any": 0.65, "other": 0.35}),
        (
            'area("p") = "ai" ~ 0.3\n',
            ["any"],
            {'area("p") = "ai"': 0.3 / 0.65, 'area("p") = "db"': 0.35 / 0.65},
        ),
        ('area("p") = "ai" ~ 0.3\nnot area("p") = "db"\n', [], {"any": 0.3 / 0.65, "other": 0.35 / 0.65}),
        ('area("p") = "ai"\n', [], {"any": 1, "both": 0, "other": 0}),
        ("", ['area("p") = "db"'], {"any": 1, "both": 0, "other": 0}),
        ("", [], {"any": 0, "both": 0, "other": 1}),
    ],
)
def test_the_values_of_an_atom_exclude_each_other(
    stated: str, given: list[str], expected: dict[str, float]
) -> None:
    for goal, wanted in expected.items():
        assert chance(AREAS + stated, goal, given) == pytest.approx(wanted), goal


@pytest.mark.parametrize("values", [{"ai": 0.6, "db": 0.6}, {"ai": 0.3, "db": 0.3, "theory": 0.3}])
def test_probabilities_of_values_add_up_to_1(values: dict[str, float]) -> None:
    stated = "".join(f'area("p") = "{value}" ~ {p}\n' for value, p in values.items())
    model = hb.Model(hb.parse(f"{AREAS}{stated}predicate sun\npredicate day\nsun ~ 0.5\nday :- sun"))
    with pytest.raises(UnsupportedError, match=r'the probabilities of the values of area\("p"\) add up to'):
        model.query("any", algebra="probability")
    assert told(model.query("day", algebra="probability")) == {(): 0.5}


@pytest.mark.parametrize(
    ("stated", "given", "goal", "expected"),
    [
        ("", ['path("a", "c")'], 'edge("a", "b")', 0.6),
        ("", ['not path("a", "c")'], 'edge("a", "b")', 1 / 3),
        ('not path("a", "c")', [], 'edge("a", "b")', 1 / 3),
        ('path("a", "c")', [], 'edge("a", "b")', 0.6),
        ('path("a", "c") ~ 0.5', [], 'edge("a", "b")', 0.5),
        ('path("a", "c") @ 0.5', [], 'path("a", "c")', 1 - 0.375 / 2),
        ("", ['edge("a", "b")'], 'path("a", "c")', 0.75),
        ("", ['not edge("a", "b")'], 'path("a", "c")', 0.5),
        ("", ['edge("b", "d")'], 'path("a", "d")', 0.5),
        ("", ['not edge("c", "a")'], 'path("a", "c")', 0.625),
        ('edge("c", "d") @ 0.5', ['not edge("c", "d")'], 'path("a", "d")', 0),
    ],
)
def test_what_is_known_conditions(stated: str, given: list[str], goal: str, expected: float) -> None:
    assert chance(EDGES + stated, goal, given) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("stated", "given", "named"),
    [
        ("", ['path("c", "a")'], r'path\("c", "a"\)$'),
        ('not path("a", "c")', ['edge("a", "c")', 'edge("a", "b")'], r'(?=.*not path\("a", "c"\))(?!.*"b")'),
        ('sure("x")\nunsure(x) :- sure(x)', ['not unsure("x")'], r'not unsure\("x"\)$'),
        ('edge("c", "d")', ['not edge("c", "d")'], r'not edge\("c", "d"\), which is stated to be true$'),
        ('not edge("c", "d")', ['edge("c", "d")'], r'edge\("c", "d"\), which is stated to be false$'),
    ],
)
def test_evidence_of_probability_0_is_named(stated: str, given: list[str], named: str) -> None:
    """The evidence that excludes itself is named, and none that is not needed for it."""
    with pytest.raises(ContradictionError, match=f"(?m)^the evidence has probability 0: {named}"):
        chance(EDGES + stated, 'edge("a", "b")', given)


def test_evidence_far_away_cancels() -> None:
    """Its probability alone would be below the smallest float."""
    coins = "".join(f'coin("c{n}") @ 0.5\ntails("c{n}")\n' for n in range(1200))
    assert chance(f"{coins}tails(x) :- coin(x)\nrain @ 0.25\nwet :- rain", "wet") == 0.25


@pytest.mark.parametrize("algebra", ["count", "boolean", "max", "independent"])
def test_other_algebras_refuse_evidence_on_what_rules_derive(algebra: str) -> None:
    model = hb.Model(hb.parse(EDGES))
    for given in ('path("a", "c")', 'not path("a", "c")', 'not path("c", "a")'):
        with pytest.raises(
            UnsupportedError, match=r"rules derive path(.|\n)*--algebra probability conditions"
        ):
            model.query('edge("a", y)', given=given, algebra=algebra)
    assert ("d",) in told(model.query('path("c", y)', given='edge("c", "d")', algebra=algebra))
    denied = hb.Model(hb.parse(EDGES + 'not path("a", "c")\nlone(x) :- edge(x, "b")'))
    with pytest.raises(
        UnsupportedError, match=r'path\("a", "c"\) is stated to be false, and rules derive it'
    ):
        denied.query('path("b", y)', algebra=algebra)
    assert told(denied.query("lone(x)", algebra=algebra)) == {("a",): 1.0 if algebra == "boolean" else 0.5}
    harmless = hb.Model(hb.parse(EDGES + 'not path("c", "a")'))
    assert told(harmless.query('path("b", y)', algebra=algebra))


def test_a_database_refuses_evidence_on_what_rules_derive(tmp_path: Path) -> None:
    model = hb.Model(hb.parse(EDGES), on=f"duckdb:{tmp_path}/one.duckdb")
    with pytest.raises(UnsupportedError, match="rules derive path"):
        model.query('path("a", y)', given='not path("a", "c")')
    denied = hb.Model(
        hb.parse(EDGES + 'not path("a", "c")\nnot path("c", "a")'), on=f"duckdb:{tmp_path}/two.duckdb"
    )
    with pytest.raises(
        UnsupportedError, match=r'path\("a", "c"\) is stated to be false, and rules derive it'
    ):
        denied.query('path("b", y)')
    harmless = hb.Model(hb.parse(EDGES + 'not path("c", "a")'), on=f"duckdb:{tmp_path}/three.duckdb")
    assert told(harmless.query('path("a", "c")')) == {(): 0.75}


def test_only_what_a_goal_rests_on_is_checked() -> None:
    text = f'{WET}heavy("a") @ 3\ntwo(x) :- heavy(x)\nthree :- two(x) @ 4\nnone :- wet, not three\n'
    assert chance(text, "wet") == pytest.approx(0.65)
    with pytest.raises(UnsupportedError, match="which is no probability"):
        chance(text, "none")
