"""What rules derive in a database, against plain loops that apply every rule to every assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import HealthCheck, Phase, settings

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError, LanguageError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from herbrand.relations.database import DuckDB
from tests.laws import law
from tests.oracles.least_model import least_model
from tests.program.test_derive import CONSTANTS, first, links, second

SOME = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def derived_in(database: DuckDB, theory: Theory, facts: Any = None) -> dict[str, set[tuple[s.Value, ...]]]:
    """The rows of every derived predicate, as constants."""
    evidence = hb.Model(theory, facts, on="duckdb:unused").stored.evidence_of(database)
    found = {}
    for name in dict.fromkeys(rule.head.predicate for rule in theory.rules):
        predicate, tables = evidence.program.signature.predicates[name], evidence.tables(name)
        assert evidence.program.table(name).world == "closed"
        columns = ", ".join(f"a{place}" for place in range(predicate.arity)) or "1"
        rows = database.rows(f"SELECT {columns} FROM {tables.true}")
        domains = [evidence.program.domain(kind) for kind in predicate.types]
        listed = [tuple(d.value(i) for d, i in zip(domains, row, strict=False)) for row in rows]
        assert len(set(listed)) == len(listed) == tables.counts[0], "every row once"
        found[name] = set(listed)
    return found


@law(first, second, links)
def check_least_model(lower: list[s.Rule], upper: list[s.Rule], edges: set[tuple[int, int]]) -> None:
    declared = (
        s.TypeDeclaration("t", tuple(map(s.Constant, CONSTANTS))),
        s.PredicateDeclaration("e", ("t", "t"), role="observed"),
        s.PredicateDeclaration("p", ("t", "t")),
        s.PredicateDeclaration("q", ("t", "t")),
    )
    theory = Theory((*declared, *upper, *lower))
    with DuckDB() as database:
        found = derived_in(database, theory, {"e": sorted(edges)} if edges else None)
    expected = least_model([lower, upper], {("e", edge) for edge in edges}, CONSTANTS)  # type: ignore[arg-type]
    for name, rows in found.items():
        assert rows == {row for predicate, row in expected if predicate == name}


def test_least_models() -> None:
    check_least_model.holds(SOME)


@pytest.mark.slow
def test_more_least_models() -> None:
    check_least_model.holds(SOME, max_examples=150)


RULES = "near(x, y) :- road(x, y)\nnear(x, z) :- near(x, y), road(y, z)\nbusy :- near(x, x)"
ROADS = {"road": [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]}


def test_recursion_and_no_arguments() -> None:
    with DuckDB() as database:
        found = derived_in(database, hb.parse(RULES), ROADS)
        assert found["near"] == {(a, b) for a in "abcd" for b in "abc"}
        assert found["busy"] == {()}
        left = {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}
        assert not {name for name in left if name.startswith(("proofs", "complete"))}
    with DuckDB() as database:
        assert derived_in(database, hb.parse(RULES), {"road": [("a", "b")]})["busy"] == set()


NEGATED_UNDER_RECURSION = """
p(x, y) :- e(x, y)
p(x, y) :- p(x, z), e(z, y)
q(x, y) :- e(y, x), not p(x, y)
q(x, y) :- q(x, z), q(z, y), not p(y, z)
r(x, y) :- q(x, y), not p(x, y)
r(x, y) :- r(x, z), p(z, y), not q(x, y)
"""


def test_a_recursive_predicate_negates_a_recursive_one() -> None:
    """Each waits for the one below to be complete, while its own tables hold what it has so far."""
    theory = hb.parse(NEGATED_UNDER_RECURSION)
    for shown in ("ab bc ca", "ab bc cd", "aa ba cb dc"):
        edges = [tuple(link) for link in shown.split()]
        with DuckDB() as database:
            found = derived_in(database, theory, {"e": edges})
            tables = {name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")}
        assert not {name for name in tables if name.startswith(("proofs", "complete"))}
        strata = [[rule for rule in theory.rules if rule.head.predicate == name] for name in "pqr"]
        expected = least_model(strata, {("e", edge) for edge in edges}, sorted(set("".join(shown.split()))))
        for name, rows in found.items():
            assert rows == {row for predicate, row in expected if predicate == name}


@pytest.mark.parametrize("stated", [[("a", "b")], [("d", "d"), ("a", "a")]])
def test_facts_of_what_is_derived_hold_too(stated: list[tuple[str, str]]) -> None:
    """And what follows from them does."""
    with DuckDB() as database:
        found = derived_in(database, hb.parse(RULES), {"road": [("a", "b"), ("b", "c")], "near": stated})
    edges = {("road", ("a", "b")), ("road", ("b", "c")), *(("near", row) for row in stated)}
    expected = least_model([list(hb.parse(RULES).rules)], edges, "abcd")
    assert found["near"] == {row for predicate, row in expected if predicate == "near"}


@pytest.mark.parametrize(
    ("text", "facts", "kind", "said"),
    [
        ('p(x) :- q(x)\n1.0: q(x) and r(x)\nr("a")', {}, UnsupportedError, "derives from q, which is open"),
        (
            "p(x) :- e(x)",
            {"e": ["a"], "p": pandas.DataFrame({"t": ["b"], "probability": [0.4]})},
            UnsupportedError,
            "p is derived, and some of its facts have probabilities",
        ),
        ('p(x) :- e(x)\nnot p("a")', {"e": ["a"]}, ContradictionError, r'this rule derives p\("a"\)'),
        ("p :- e(x)\nnot p", {"e": ["a"]}, ContradictionError, "this rule derives p, which is stated"),
        (
            'p(x) :- e(x)\np(x) :- f(x)\nnot p("a")',
            {"e": ["a"], "f": ["a"]},
            ContradictionError,
            r'the rules derive p\("a"\)',
        ),
        ("p(x) :- e(x), not q(x)\nq(x) :- e(x), not p(x)", {"e": ["a"]}, LanguageError, "own negation"),
    ],
)
def test_refusals(text: str, facts: dict[str, Any], kind: type[Exception], said: str) -> None:
    with DuckDB() as database, pytest.raises(kind, match=said):
        derived_in(database, hb.parse(text), facts)


@pytest.mark.parametrize("given", ['near("c", "a")', 'not near("a", "c")', 'near("z", "a")'])
def test_what_is_given_of_derived_atoms_has_to_agree(given: str, tmp_path: Path) -> None:
    """What is given of them is evidence, which had been one more fact here."""
    theory, facts = hb.parse(RULES + "\n0.4: near(x, y) and old(y)"), {"road": [("a", "b"), ("b", "c")]}
    for options in ({}, {"on": f"duckdb:{tmp_path}/world.duckdb"}):
        model = hb.Model(theory, facts, **options)
        with pytest.raises(ContradictionError, match="the evidence has probability 0"):
            model.infer(given=given, engine="bp")
        agreeing = model.infer(given=['near("a", "c")', 'not near("c", "a")'], engine="bp")
        assert agreeing.to_dict()["marginals"] == model.infer(engine="bp").to_dict()["marginals"]


WITHOUT_A_VALUE = """
predicate area(paper) in {"ai", "db"}: observed
predicate read(paper): observed
predicate liked(paper)
area("a") = "ai"
read("b")
"""


@pytest.mark.parametrize(
    "rule", ['known(x) :- area(x) = "ai"', 'known(x) :- read(x), count(y: area(y) = "ai") >= 1']
)
def test_rules_need_the_value_of_each_observed_atom(rule: str, tmp_path: Path) -> None:
    """Where worlds are weighed, that is: goals are answered of what is listed, in both places."""
    text = f"{WITHOUT_A_VALUE}predicate known(paper)\n{rule}"
    for options in ({}, {"on": f"duckdb:{tmp_path}/world.duckdb"}):
        weighed = hb.Model(hb.parse(f"{text}\nP(liked(x) | known(x)) <= 0.3"), **options)
        with pytest.raises(FactsError, match=r"no value( for 1 atom)?, though"):
            weighed.bound(engine="ariel")
        (found,) = hb.Model(hb.parse(text), **options).query("known(x)").to_dict()["answers"]
        assert found["bindings"] == {"x": "b" if "count" in rule else "a"}
