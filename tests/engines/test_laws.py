"""Laws that every engine of ``infer`` obeys: what cannot change an answer does not.

Random theories with evidence of all kinds are said another way, and each engine that calls its answer exact
must give the same one. The oracle is another run, mostly, so no engine's name is special.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.engines.registry import INFERENCE
from herbrand.errors import ContradictionError, HerbrandError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests import changed_theories as changed
from tests.oracles.worlds import Universe, exact_answers
from tests.program_generators import PREDICATES, models

random_theories = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Key = tuple[str | None, tuple[s.Value, ...], object]
Drawn = tuple[Theory, Universe]
NO_WORLD, NOT_EXACT = "no world", "not exact"
CAN_BE_EXACT = ["exact", "lifted", "regions", "bp"]
SAME: dict[str, changed.Change] = {
    "in halves": changed.in_halves,
    "in unequal parts": changed.in_unequal_parts,
    "doubly negated": changed.doubly_negated,
    "with itself": changed.with_itself,
    "absorbed": changed.absorbed,
    "not otherwise": changed.not_otherwise,
    "beside nothing": changed.beside_nothing,
}
SHIFTED: dict[str, tuple[changed.Change, Callable[[float], float]]] = {
    "about the opposite": (changed.about_the_opposite, lambda weight: -weight),
    "beside a tautology": (changed.beside_a_tautology, lambda weight: 3.0),
}
CONSTANTS: dict[s.Value, s.Value] = {
    "c1": 'quo"ted\\',
    "c2": "ünïcödé 東京",
    "d1": "",
    "a": "true",
    "b": "x",
    "c": "_",
}
NAMES = {"p": "not", "q": "exists", "f": "ünder score", "g": "P", "rain": "true", "area": "type"}


def answered(theory: Theory, engine: str, **options: Any) -> Marginals | str:
    """The answer where it is exact; else that no world is left, or that no exact answer is given."""
    try:
        answer = hb.Model(theory).infer(engine=engine, **options)
    except ContradictionError:
        return NO_WORLD
    except HerbrandError:
        assert engine != "exact"
        return NOT_EXACT
    return answer if answer.guarantee is Guarantee.EXACT else NOT_EXACT


def by_atom(answer: Marginals) -> dict[Key, float]:
    return {(row.predicate, row.arguments, row.value): row.probability for row in answer.rows()}


def assert_same(
    one: Marginals | str,
    two: Marginals | str,
    spelt: Callable[[Key], Key] = lambda key: key,
    factor: float = 1.0,
    shift: float = 0.0,
) -> None:
    """The same marginals, atoms ``spelt`` as in the second; log Z times ``factor`` + ``shift``."""
    if NOT_EXACT in (one, two):
        return
    assert (one == NO_WORLD) == (two == NO_WORLD)
    if isinstance(one, str) or isinstance(two, str):
        return
    expected = {spelt(key): p for key, p in by_atom(one).items()}
    found = by_atom(two)
    assert {key: found.get(key) for key in expected} == pytest.approx(expected, abs=1e-8)
    if one.log_partition_guarantee is PartitionGuarantee.EXACT is two.log_partition_guarantee:
        assert one.log_partition is not None
        assert two.log_partition == pytest.approx(factor * one.log_partition + shift, abs=1e-8)


def with_another(theory: Theory, *statements: s.Statement) -> Theory:
    return Theory((*theory.statements, *statements))


def said_another_way(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    theory, _ = drawn
    other = changed.rewritten(theory, SAME[data.draw(st.sampled_from(sorted(SAME)))])
    assert_same(answered(theory, engine), answered(other, engine))


def a_constant_moves_the_partition_alone(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    theory, universe = drawn
    change, a_grounding = SHIFTED[data.draw(st.sampled_from(sorted(SHIFTED)))]
    shift = sum(
        a_grounding(statement.weight) * len(list(universe.bindings(statement)))
        for statement in theory.formulas
        if isinstance(statement.weight, float | int)
    )
    other = changed.rewritten(theory, change)
    assert_same(answered(theory, engine), answered(other, engine), shift=shift)


def the_order_of_statements_is_no_matter(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    other = changed.shuffled(drawn[0], data.draw(st.integers(0, 99)))
    assert_same(answered(drawn[0], engine), answered(other, engine))


def names_are_no_matter(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    theory, _ = drawn
    other = changed.renamed(theory, NAMES, CONSTANTS)

    def spelt(key: Key) -> Key:
        predicate, arguments, value = key
        new = tuple(CONSTANTS[argument] for argument in arguments)
        return NAMES[str(predicate)], new, None if value is None else CONSTANTS[str(value)]

    assert_same(answered(theory, engine), answered(other, engine), spelt)
    assert_same(answered(other, engine), answered(hb.parse(hb.show(other)), engine))


def what_is_not_touched_is_no_matter(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    """A copy in other words is independent: the same marginals twice, twice the log-partition."""
    theory, _ = drawn
    prime = {name: f"{name}_too" for name in PREDICATES}
    copied = changed.renamed(theory, prime).statements
    both = with_another(theory, *(x for x in copied if not isinstance(x, s.TypeDeclaration)))
    one, two = answered(theory, engine), answered(both, engine)
    assert_same(one, two, factor=2.0)
    assert_same(one, two, lambda key: (prime[str(key[0])], *key[1:]), factor=2.0)


def evidence_is_evidence_however_it_is_given(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    """A fact, ``--given`` and a hard formula agree with worlds; two facts that contradict each other are an
    error of theirs, so that the value is one that the theory's own facts leave possible."""
    theory, universe = drawn
    free = [atom for atom in universe.atoms() if len(universe.choices(atom)) > 1]
    assume(free)
    name, arguments = data.draw(st.sampled_from(free))
    columns, values = tuple((a,) for a in arguments), universe.predicates[name][1]
    atom = s.Atom(name, tuple(map(s.Constant, arguments)))
    if values is None:
        holds = data.draw(st.booleans())
        formula: s.Formula = atom if holds else s.Not(atom)
        row = s.FactRows(name, columns, 1, "true" if holds else "false")
    else:
        left = [value for value in values if ((name, arguments), value) not in universe.excluded]
        assume(left)
        value = data.draw(st.sampled_from(left))
        formula = s.ValueIs(atom, s.Constant(value))
        row = s.FactRows(name, (*columns, (value,)), 1, "true", (), True)
    hard = s.WeightedFormula(s.Hard(), formula)
    log_z, marginals, _ = exact_answers(universe, [*theory.formulas, hard])
    for found in (
        answered(with_another(theory, row), engine),
        answered(with_another(theory, hard), engine),
        answered(theory, engine, given=hb.show(Theory((row,))).strip()),
    ):
        assert (found == NO_WORLD) == (log_z == -math.inf) or found == NOT_EXACT
        if isinstance(found, Marginals):
            for (predicate, constants, value), p in by_atom(found).items():
                key = (str(predicate), constants), True if value is None else value
                assert p == pytest.approx(marginals.get(key, 0.0), abs=1e-8)


def an_opinion_is_a_weight(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    p = data.draw(st.floats(0.01, 0.99))
    atom = data.draw(st.sampled_from(['p("c1")', "rain"]))
    bare = [
        x for x in drawn[0].statements if not (isinstance(x, s.FactRows) and x.predicate in ("p", "rain"))
    ]
    told = Theory((*bare, *hb.parse(f"{atom} ~ {p!r}").statements))
    weighed = Theory((*bare, *hb.parse(f"{math.log(p / (1 - p))!r}: {atom}").statements))
    assert_same(answered(told, engine), answered(weighed, engine))


def a_query_is_an_atom_that_it_defines(drawn: Drawn, engine: str, data: st.DataObject) -> None:
    """P(F) is the probability of a new atom tied to F by a hard equivalence."""
    theory, _ = drawn
    asked = data.draw(
        st.sampled_from(
            [
                's: p("c1") and not q("c2")',
                "s: exists x: p(x) and f(x, x)",
                "s: forall x, y: f(x, y) => f(y, x) or rain",
                's: area("d1") in {"a", "b"} xor rain',
                "s: exists x, y: x != y and (q(x) <=> q(y))",
            ]
        )
    ).removeprefix("s: ")
    defined = with_another(theory, *hb.parse(f"predicate asked\nhard: asked <=> ({asked})").statements)
    two = answered(defined, engine, query="asked")
    one = answered(theory, "exact", query=asked)
    if isinstance(one, Marginals) and isinstance(two, Marginals):
        assert two["asked"] == pytest.approx(one[next(one.rows()).atom], abs=1e-8)


LAWS = {
    law.__name__: law
    for law in (
        said_another_way,
        a_constant_moves_the_partition_alone,
        the_order_of_statements_is_no_matter,
        names_are_no_matter,
        what_is_not_touched_is_no_matter,
        evidence_is_evidence_however_it_is_given,
        an_opinion_is_a_weight,
        a_query_is_an_atom_that_it_defines,
    )
}


@pytest.mark.parametrize("law", LAWS)
@random_theories
@given(models(hard=True), st.sampled_from(CAN_BE_EXACT), st.data())
def test_law(law: str, drawn: Drawn, engine: str, data: st.DataObject) -> None:
    LAWS[law](drawn, engine, data)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@settings(random_theories, max_examples=200)
@given(models(hard=True), st.sampled_from(CAN_BE_EXACT), st.data())
def test_law_at_length(law: str, drawn: Drawn, engine: str, data: st.DataObject) -> None:
    LAWS[law](drawn, engine, data)


def assert_sound(drawn: Drawn, engine: str) -> None:
    """Probabilities are probabilities, a many-valued atom's add up to 1, and guarantees hold."""
    theory, universe = drawn
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    assume(log_z > -math.inf)
    try:
        answer = hb.Model(theory).infer(engine=engine, seed=3)
    except HerbrandError:
        return
    shares: dict[str, float] = {}
    for row in answer.rows():
        assert 0.0 <= row.probability <= 1.0
        if row.value is not None:
            shares[row.atom] = shares.get(row.atom, 0.0) + row.probability
        if answer.guarantee is Guarantee.EXACT:
            key = (str(row.predicate), row.arguments), True if row.value is None else row.value
            assert row.probability == pytest.approx(marginals.get(key, 0.0), abs=1e-6)
    assert shares == pytest.approx(dict.fromkeys(shares, 1.0), abs=1e-6)
    told, figure = answer.log_partition_guarantee, answer.log_partition
    if told is PartitionGuarantee.LOWER:
        assert figure is not None and figure <= log_z + 1e-8
    if told is PartitionGuarantee.UPPER:
        assert figure is not None and figure >= log_z - 1e-8
    if told is PartitionGuarantee.EXACT:
        assert figure == pytest.approx(log_z, abs=1e-6)


@pytest.mark.parametrize("engine", ["mean-field", "bp", "regions"])
@random_theories
@given(models(hard=True))
def test_guarantees_hold(engine: str, drawn: Drawn) -> None:
    assert_sound(drawn, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["mean-field", "bp", "regions"])
@settings(random_theories, max_examples=300)
@given(models(hard=True))
def test_guarantees_hold_at_length(engine: str, drawn: Drawn) -> None:
    assert_sound(drawn, engine)


@pytest.mark.parametrize("engine", INFERENCE)
@settings(random_theories, max_examples=3)
@given(models(), st.integers(0, 2**31 - 1))
def test_a_seed_reproduces_to_the_bit(engine: str, drawn: Drawn, seed: int) -> None:
    options: Mapping[str, Any] = {"samples": 200} if engine == "gibbs" else {}
    found: list[object] = []
    for _ in range(2):
        try:
            answer = hb.Model(drawn[0]).infer(engine=engine, seed=seed, **options)
        except HerbrandError as error:
            found.append(str(error))
        else:
            found.append((by_atom(answer), answer.log_partition))
    assert found[0] == found[1]
