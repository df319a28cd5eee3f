"""Grounding keeps the meaning: by rows of atom numbers a world weighs what its formulas say."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import BudgetError, ContradictionError
from herbrand.language.theory import Theory
from herbrand.program.evidence import Evidence
from herbrand.program.ground import (
    SATISFIED,
    Ground,
    GroundConjunction,
    GroundTemplate,
    LatentAtoms,
    ground,
)
from tests.laws import tries
from tests.oracles.worlds import GroundAtom, Universe, World
from tests.program_generators import PREDICATES, models

generated = settings(
    max_examples=tries(40),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def latent(found: Ground) -> list[GroundAtom]:
    """The atom of every number."""
    listed: list[GroundAtom] = []
    for name, codes in found.atoms.codes.items():
        columns = found.evidence.atom_arguments(name, codes)
        rows = zip(*columns, strict=True) if columns else [()] * len(codes)
        listed += [(name, tuple(row)) for row in rows]
    return listed


def numbered(world: World, atoms: list[GroundAtom]) -> list[int]:
    """The value of every latent atom, as a number."""
    return [
        int(bool(world[atom]))
        if PREDICATES[atom[0]][1] is None
        else PREDICATES[atom[0]][1].index(world[atom])  # type: ignore[union-attr]
        for atom in atoms
    ]


def holding(conjunction: GroundConjunction, values: list[int]) -> list[int]:
    """The rows that hold."""
    return [row for row in range(len(conjunction)) if _holds(conjunction, row, values)]


def _holds(conjunction: GroundConjunction, row: int, values: list[int]) -> bool:
    atoms = conjunction.atoms[row].tolist()
    said = all(
        atom == SATISFIED or values[atom] in allowed
        for atom, allowed in zip(atoms, conjunction.allowed, strict=True)
    )
    return said and all(
        block.some
        == any(piece.origin[inner] == row for piece in block.pieces for inner in holding(piece, values))
        for block in conjunction.blocks
    )


def row_weight(template: GroundTemplate, values: list[int], found: Ground) -> float:
    rows = len(holding(template.conjunction, values)) * template.multiplicity
    if template.template.weight is None:
        return -math.inf if rows else 0.0
    return rows * template.template.sign * found.program.weights[template.template.weight].value


@generated
@given(models(hard=True))
def test_every_world_weighs_the_same(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    log_weight = universe.weight_of_worlds(theory.formulas)
    try:
        found = ground(hb.Model(theory).program, UNLIMITED)
    except ContradictionError:
        assert all(log_weight(world) == -math.inf for world in universe.worlds())
        return
    atoms = latent(found)
    for world in itertools.islice(universe.worlds(), 100):
        values = numbered(world, atoms)
        said = sum(row_weight(template, values, found) for template in found.templates)
        soft = sum(weight for atom, value, weight in universe.soft if world[atom] == value)
        assert said + soft == pytest.approx(log_weight(world), abs=1e-9)


@generated
@given(models())
def test_latent_atoms_are_those_that_may_be_either(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    found = ground(hb.Model(theory).program, UNLIMITED)
    atoms = latent(found)
    assert len(set(atoms)) == len(atoms) == found.atoms.count
    expected = {
        atom for atom in universe.atoms() if atom not in universe.known and atom[0] not in universe.closed
    }
    assert set(atoms) == expected
    counts = found.atoms.value_counts.tolist()
    assert counts == [len(PREDICATES[name][1] or "10") for name, _ in atoms]
    for name, codes in found.atoms.codes.items():
        first = atoms.index(next(atom for atom in atoms if atom[0] == name))
        assert found.atoms.numbers(name, codes).tolist() == list(range(first, first + len(codes)))


def test_only_some_predicates_may_be_numbered() -> None:
    text = "type t = 1..3\npredicate p(t)\npredicate q(t)\n1.0: p(x)"
    evidence = Evidence(hb.Model(hb.parse(text)).program)
    assert LatentAtoms(evidence, UNLIMITED).count == 6
    assert LatentAtoms(evidence, UNLIMITED, only={"q"}).count == 3
    assert list(LatentAtoms(evidence, UNLIMITED, only=set()).codes) == []


@pytest.mark.parametrize(
    ("formula", "rows"),
    [
        ("p(x)", 4),
        ("p(x) or (q(y) and not q(y))", 16),
        ("a where x != y", 12),
        ("p(x) where x = y", 4),
        ("a", 1),
    ],
)
def test_variables_that_nothing_names_are_counted_not_written(formula: str, rows: int) -> None:
    declared = "type t = 1..4\npredicate p(t)\npredicate q(t)\npredicate f(t, t)\npredicate a\n"
    where = formula.partition(" where ")[2]
    vacuous = " and (f(x, y) or not f(x, y))" if where else ""
    body = formula.partition(" where ")[0]
    text = f"{declared}1.0: {body}{vacuous}{' where ' + where if where else ''}"
    found = ground(hb.Model(hb.parse(text)).program, UNLIMITED)
    everything = [1] * found.atoms.count
    assert sum(row_weight(template, everything, found) for template in found.templates) == rows


class TestRefusals:
    def test_facts_that_contradict_a_hard_statement_are_named(self) -> None:
        declared = 'predicate p(t)\npredicate m(t) in {"u", "v"}\n'
        text = declared + 'hard: p(x) => not m(x) = "u"\np("k")\nm("k") = "u"'
        with pytest.raises(ContradictionError) as error:
            ground(hb.Model(hb.parse(text)).program, UNLIMITED)
        (mistake,) = error.value.mistakes
        assert mistake.message == 'the facts p("k"), m("k") = "u" contradict this hard statement'
        assert mistake.span is not None and mistake.span.line == 3

    def test_a_statement_that_never_holds_is_named(self) -> None:
        with pytest.raises(ContradictionError, match="this hard statement never holds"):
            ground(hb.Model(hb.parse("predicate p(t)\nhard: p(x) and not p(x)\np(1)")).program, UNLIMITED)

    def test_it_is_no_contradiction_over_no_constants(self) -> None:
        found = ground(hb.Model(hb.parse("predicate p(t)\nhard: p(x) and not p(x)")).program, UNLIMITED)
        assert found.atoms.count == 0

    def test_more_atoms_than_memory(self) -> None:
        text = "type t = 1..1000\npredicate p(t)\npredicate f(t, t)\n1.0: p(x)"
        with pytest.raises(BudgetError) as error:
            ground(hb.Model(hb.parse(text)).program, Budget(10_000_000))
        (mistake,) = error.value.mistakes
        assert mistake.message == (
            "there are 1,001,000 latent ground atoms, 1,000,000 of them of f: about 171.8 MB, and 9.5 MB are "
            "allowed"
        )
        assert mistake.hint.startswith("declare f as observed")

    def test_one_atom_more_than_memory(self) -> None:
        with pytest.raises(BudgetError, match="there is 1 latent ground atom, 1 of them of p: about 180 B"):
            ground(hb.Model(hb.parse("1.0: p")).program, Budget(10))

    def test_of_derived_atoms_more_than_can_be_numbered(self) -> None:
        text = "type t = 1..100000\npredicate e(t, t): observed\npredicate r(t, t, t, t)\n"
        text += "0.5 :: r(x, y, z, w) :- e(x, y), e(z, w)"
        with pytest.raises(BudgetError) as error:
            ground(hb.Model(hb.parse(text)).program, Budget(10_000_000))
        assert error.value.mistakes[0].hint.startswith("rules derive r: give its arguments types of fewer")

    def test_more_rows_than_an_engine_takes(self) -> None:
        text = "type t = 1..100\npredicate p(t)\npredicate q(t)\n1.0: p(x) and q(y)"
        program = hb.Model(hb.parse(text)).program
        assert len(ground(program, UNLIMITED, most_rows=10_000).templates) == 1
        with pytest.raises(BudgetError, match="grounding needs 10,000 rows, and at most 9,999 are taken"):
            ground(program, UNLIMITED, most_rows=9_999)
