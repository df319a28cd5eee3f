"""A model: what its facts and options make of the worlds of predicates, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.engines.engine import Cost
from herbrand.engines.registry import INFERENCE
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.program.knowledge import MOST_WORLDS

SMOKES = "1.5: smokes(x) and friends(x, y) => smokes(y)"
FRIENDS = {"friends": [("anna", "bob")]}


def latent(model: hb.Model, **options: object) -> set[str]:
    return {row.atom for row in model.infer(**options).rows()}  # type: ignore[arg-type]


def test_undeclared_with_facts_is_closed_without_is_open() -> None:
    assert latent(hb.Model(hb.parse(SMOKES), FRIENDS)) == {'smokes("anna")', 'smokes("bob")'}


def test_a_query_keeps_an_undeclared_predicate_open() -> None:
    model = hb.Model(hb.parse(SMOKES), FRIENDS)
    assert 'friends("bob", "anna")' in latent(model, query="friends")


def test_plans_of_queries_are_kept_for_the_latest_evidence() -> None:
    """And an answer is the same whether its plan was kept or not."""
    model = hb.Model(hb.parse("near(x, y) :- road(x, y)"), {"road": [("a", "b")]})
    given = [f'road("a", "{number}")' for number in range(2 * MOST_WORLDS)]
    for _ in range(2):
        answers = [model.query('near("a", y)', given=[one]).to_dict()["answers"] for one in given]
        assert [{row["bindings"]["y"] for row in rows} for rows in answers] == [
            {"b", str(number)} for number in range(len(given))
        ]
    assert len(model.query('near("a", y)')) == 1 and len(model._queried) == MOST_WORLDS


def test_open_and_closed_override() -> None:
    assert len(latent(hb.Model(hb.parse(SMOKES), FRIENDS, open="friends"))) == 2 + 3
    assert latent(hb.Model(hb.parse(SMOKES), FRIENDS, closed="smokes")) == set()


def test_declared_is_open_unless_observed() -> None:
    declared = "predicate smokes(t)\npredicate friends(t, t)\n"
    assert len(latent(hb.Model(hb.parse(declared + SMOKES), FRIENDS))) == 2 + 3
    observed = declared.replace("friends(t, t)", "friends(t, t): observed")
    assert len(latent(hb.Model(hb.parse(observed + SMOKES), FRIENDS))) == 2


def test_an_mln_declaration_does_not_tell_the_world(tmp_path: Path) -> None:
    (tmp_path / "s.mln").write_text("Smokes(p)\nFriends(p, p)\n1.5 Smokes(x) ^ Friends(x, y) => Smokes(y)\n")
    (tmp_path / "s.db").write_text("Friends(Anna, Bob)\n")
    theory = hb.read(tmp_path / "s.mln")
    model = hb.Model(theory, tmp_path / "s.db")
    assert latent(model) == {'Smokes("Anna")', 'Smokes("Bob")'}
    assert latent(model, given='Smokes("Anna")') == {'Smokes("Bob")'}
    assert len(latent(hb.Model(theory, tmp_path / "s.db", open="Friends"))) == 2 + 3


def test_constants_come_from_facts_formulas_and_given() -> None:
    model = hb.Model(hb.parse('predicate p(t)\n1.0: p("a")'), None)
    assert latent(model) == {'p("a")'}
    assert latent(model, given='not p("b")') == {'p("a")'}
    with pytest.raises(LanguageError, match='"c" is no constant of type t'):
        model.infer('p("c")')


def test_ignored_kinds_are_checked() -> None:
    with pytest.raises(UnsupportedError, match="cannot ignore 'weight'"):
        hb.Model(hb.parse("1: p"), ignore="weight")


@pytest.mark.parametrize(
    ("ask", "theory"),
    [
        (lambda model: model.infer(ignore="bounds"), "1: p(x)\nP(p(x)) = 0.3"),
        (lambda model: model.bound(ignore="weights"), "1: p(x)\nP(p(x)) = 0.3"),
        (lambda model: model.query("p(x)", ignore="weights"), "1: p(x)"),
    ],
)
def test_statements_are_ignored_by_the_model_and_not_by_a_call(ask: Any, theory: str) -> None:
    """The call was told what it had done already: "leave such statements out by --ignore weights"."""
    with pytest.raises(UnsupportedError, match="has no option 'ignore'\n  Model takes it"):
        ask(hb.Model(hb.parse(theory)))


@pytest.mark.parametrize(
    ("theory", "query", "options", "command"),
    [
        ("P(a) = 0.3", "P(a)", {"proofs": 3}, "bound"),
        ("P(a) = 0.3", "a", {"damping": 0.5}, "bound"),
        ("1: a", "a", {"mode": "sound"}, "infer"),
        ("e(1)\np(x) :- e(x)", "p(1)", {"damping": 0.5}, "query"),
        ("e(1)\np(x) :- e(x)", "p(1)", {"proofs": 3}, "query"),
    ],
)
def test_an_option_of_explain_is_not_said_to_be_one_where_it_is_refused(
    theory: str, query: str, options: dict[str, Any], command: str
) -> None:
    with pytest.raises(UnsupportedError) as told:
        hb.Model(hb.parse(theory)).explain(query, **options)
    (mistake,) = told.value.mistakes
    assert mistake.message == f"{command} has no option '{next(iter(options))}'"
    assert mistake.hint.endswith(f"{command} explains this: leave it out") and "explain," not in mistake.hint


def test_representations() -> None:
    answer = hb.Model(hb.parse('1.0: p("a")\npredicate p(t)')).infer()
    assert repr(answer) == 'exact marginals\natom    probability\np("a")       0.7311'
    assert answer._repr_html_().count("<tr>") == len(answer) + 1
    frame = answer.to_pandas()
    assert list(frame.columns) == ["atom", "predicate", "argument_1", "probability", "value"]
    assert answer.to_polars().height == 1
    assert answer.to_dict()["marginals"][0]["atom"] == 'p("a")'
    with pytest.raises(KeyError, match="is not among the answers"):
        answer['p("b")']


def test_size_report_counts_exactly() -> None:
    theory = hb.parse(
        'predicate p(t)\npredicate f(t, t): observed\n1.0: p(x) and f(x, y) => p(y) where x != y\np("a")\n'
    )
    report = hb.size_report(hb.Model(theory, {"f": [("a", "b"), ("b", "c")]}))
    assert report.constants == {"t": 3}
    assert [(s.predicate, s.atoms, s.latent) for s in report.predicates] == [("p", 3, 2), ("f", 9, 0)]
    assert report.formulas == (("1.0: p(x) and f(x, y) => p(y) where x != y", 6),)
    assert isinstance(report.engines["exact"], Cost)
    assert report.declarations.startswith("type t\n")


def test_compare_runs_all_engines() -> None:
    comparison = hb.compare(hb.Model(hb.parse("1.0: a => b")))
    assert comparison.largest_difference("exact") == 0.0
    told = comparison.to_dict()
    assert [e["engine"] for e in told["engines"]] == list(INFERENCE)
    assert [row["atom"] for row in told["marginals"]] == ["a", "b"]


@pytest.mark.parametrize("more", ["1.5: s(x) and e(x, y) => s(y)", 'hard: not s("b")', 'P(s("b")) <= 0.2'])
def test_proofs_do_not_explain_what_formulas_and_bounds_leave_open(more: str) -> None:
    """``explain`` showed the weight 0 where ``infer`` and ``bound`` refuse the rule."""
    facts = 'e("a", "b")\ns("a")\n'
    rule = "predicate e(n, n)\npredicate s(n)\npredicate q(n)\nq(x) :- s(x)\n"
    with pytest.raises(UnsupportedError, match="this rule derives from s, which is open"):
        hb.Model(hb.parse(f"{rule}{facts}{more}\n")).explain('q("b")')
    known = hb.Model(hb.parse(f"{rule}{facts}{more}\n".replace("s(n)", "s(n): observed")))
    assert known.explain('q("a")').to_dict()["guarantee"] == "exact"


@pytest.mark.parametrize("more", ["2.0: a", "hard: a", "?: a", "0.3 :: b", "r(x) :- e(x) @ 0.4\ne(1)"])
def test_an_explained_interval_is_refused_where_bound_refuses(more: str) -> None:
    """``explain`` left what weighs out, in silence, and called the interval exact."""
    model, asked = hb.Model(hb.parse(f"P(a) in [0.2, 0.3]\n{more}\n")), "r(1)" if "r(" in more else "a"
    with pytest.raises(UnsupportedError) as bound:
        model.bound(asked)
    with pytest.raises(UnsupportedError, match=re.escape(str(bound.value))):
        model.explain(f"P({asked})")


WRONG_KINDS = {
    "the text of a theory, not PosixPath\n  hb.read": lambda: hb.parse(Path("a.hb")),  # type: ignore[arg-type]
    "the text of a theory, not NoneType": lambda: hb.formatted(None),  # type: ignore[arg-type]
    "paths of theory files, not int\n  hb.parse": lambda: hb.read(["a.hb", 3]),  # type: ignore[list-item]
    "paths of theory files, not NoneType": lambda: hb.read(None),  # type: ignore[arg-type]
    "paths of theory files, not the text '1: a'\n  hb.parse": lambda: hb.read("1: a\n"),
    "compare takes a model, not str\n  hb.Model": lambda: hb.compare("a.hb"),  # type: ignore[arg-type]
    "size_report takes a model, not Theory": lambda: hb.size_report(hb.parse("1: a")),  # type: ignore[arg-type]
    "lint takes a model, not Theory": lambda: hb.lint(hb.parse("1: a")),  # type: ignore[arg-type]
    "LogicLayer takes a model, not Theory": lambda: hb.nn.LogicLayer(hb.parse("1: a")),  # type: ignore[arg-type]
    "QueryLayer takes a model, not str": lambda: hb.nn.QueryLayer("a.hb", "p(x)"),  # type: ignore[arg-type]
    "--worlds is a whole number from 1 on, not None": lambda: hb.Model(hb.parse("1: a")).sample(None),  # type: ignore[arg-type]
    "--rows is a whole number from 0 on": lambda: hb.Model(hb.parse("1: a")).infer().plot(rows=-1),
}


@pytest.mark.parametrize("message", WRONG_KINDS)
def test_what_is_of_a_wrong_kind_is_refused_by_what_it_is(message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        WRONG_KINDS[message]()


def test_bound_names_the_way_for_choices() -> None:
    with pytest.raises(UnsupportedError, match=r"0\.3 :: rain[^$]*P\(head \| body\) = 0\.3"):
        hb.Model(hb.parse("0.3 :: rain\nP(wet) >= 0.2")).bound()


def test_a_model_is_shown_by_its_size() -> None:
    assert repr(hb.Model(hb.parse("1: a"))) == "<Model of 1 statement>"
    assert repr(hb.Model(hb.parse("1: a\n2: b"))) == "<Model of 2 statements>"
