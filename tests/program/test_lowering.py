"""Lowering keeps the meaning: every world weighs the same by its templates as by its formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.language.theory import Theory
from herbrand.program.absent_rows import AbsentRows
from herbrand.program.program import Argument, Conjunction, Literal, Program
from tests.laws import tries
from tests.oracles.worlds import Universe, World
from tests.program_generators import models

MOST_WORLDS = 300
generated = settings(
    max_examples=tries(80),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Reading:
    """Templates read literally: loops over assignments, no grounding, no arrays."""

    def __init__(self, program: Program, world: World) -> None:
        self.program, self.world = program, world

    def constant(self, type_name: str, argument: Argument, binding: Mapping[str, int]) -> object:
        return self.program.domain(type_name).value(
            binding[argument] if isinstance(argument, str) else argument
        )

    def holds(self, literal: Literal, binding: Mapping[str, int]) -> bool:
        predicate = self.program.signature.predicates[literal.predicate]
        arguments = tuple(
            self.constant(t, a, binding) for t, a in zip(predicate.types, literal.arguments, strict=True)
        )
        value = self.world[literal.predicate, arguments]  # type: ignore[index]
        if predicate.value_type is None:
            return int(value is True) in literal.allowed
        return self.program.domain(predicate.value_type).index_of(value) in literal.allowed  # type: ignore[arg-type]

    def assignments(self, conjunction: Conjunction, outer: Mapping[str, int]):
        names = [name for name, _ in conjunction.variables]
        ranges = [range(len(self.program.domain(t))) for _, t in conjunction.variables]
        for indices in itertools.product(*ranges):
            binding = {**outer, **dict(zip(names, indices, strict=True))}
            if self.satisfied(conjunction, binding):
                yield binding

    def satisfied(self, conjunction: Conjunction, binding: Mapping[str, int]) -> bool:
        def index(argument: Argument) -> int:
            return binding[argument] if isinstance(argument, str) else argument

        return (
            all(index(a) != index(b) for a, b in conjunction.distinct)
            and all(self.holds(literal, binding) for literal in conjunction.literals)
            and all(
                block.some == any(any(True for _ in self.assignments(p, binding)) for p in block.pieces)
                for block in conjunction.blocks
            )
        )

    def log_weight(self) -> float:
        total = 0.0
        for template in self.program.templates:
            count = sum(1 for _ in self.assignments(template.conjunction, {}))
            if template.weight is not None:
                total += template.sign * self.program.weights[template.weight].value * count
            elif count:
                return -math.inf
        return total


@generated
@given(models(hard=True))
def test_every_world_weighs_the_same(model: tuple[Theory, Universe]) -> None:
    assert_same_weights(*model)


@pytest.mark.slow
@settings(generated, max_examples=3000)
@given(models(hard=True))
def test_every_world_weighs_the_same_at_length(model: tuple[Theory, Universe]) -> None:
    assert_same_weights(*model)


def assert_same_weights(theory: Theory, universe: Universe) -> None:
    program = hb.Model(theory).program
    log_weight = universe.weight_of_worlds(theory.formulas)
    for world in itertools.islice(universe.worlds(), MOST_WORLDS):
        soft = sum(weight for atom, value, weight in universe.soft if world[atom] == value)
        expected = log_weight(world)
        assert Reading(program, world).log_weight() + soft == pytest.approx(expected, abs=1e-9)


@generated
@given(models())
def test_no_two_literals_are_one_atom(model: tuple[Theory, Universe]) -> None:
    program = hb.Model(model[0]).program
    world = next(model[1].worlds())
    for template in program.templates:
        _check_atoms_differ(template.conjunction, Reading(program, world), {})


def _check_atoms_differ(conjunction: Conjunction, reading: Reading, outer: Mapping[str, int]) -> None:
    """Whatever the constants: different literals of a latent predicate are different ground atoms."""
    names = [name for name, _ in conjunction.variables]
    ranges = [range(len(reading.program.domain(t))) for _, t in conjunction.variables]
    for indices in itertools.product(*ranges):
        binding = {**outer, **dict(zip(names, indices, strict=True))}

        def index(argument: Argument, binding: Mapping[str, int] = binding) -> int:
            return binding[argument] if isinstance(argument, str) else argument

        if not all(index(a) != index(b) for a, b in conjunction.distinct):
            continue
        atoms = [
            (x.predicate, tuple(map(index, x.arguments)))
            for x in conjunction.literals
            if reading.program.is_open(x.predicate)
        ]
        assert len(set(atoms)) == len(atoms), conjunction
        for block in conjunction.blocks:
            for piece in block.pieces:
                _check_atoms_differ(piece, reading, binding)


@pytest.mark.parametrize(
    "formula",
    [
        'p(y) and (exists x: x = y and x = "c2" and q(x))',
        "p(y) and p(z) and (exists x: x = y and x = z and q(x))",
        "p(y) and p(z) and (forall x: x = y or x != z or q(x))",
        'p(y) and (exists x: p(x) and (forall z: (z = x and z = y and q(z)) or z = "c1"))',
    ],
)
def test_a_quantified_variable_equal_to_two_things_of_outside(formula: str) -> None:
    text = f'type t = {{"c1", "c2"}}\npredicate p(t)\npredicate q(t)\n1.5: {formula}'
    theory = hb.parse(text)
    program = hb.Model(theory).program
    universe = Universe({"t": ("c1", "c2")}, {"p": (("t",), None), "q": (("t",), None)})
    for world in universe.worlds():
        expected = universe.log_weight(world, theory.formulas)
        assert Reading(program, world).log_weight() == pytest.approx(expected, abs=1e-9)
        for template in program.templates:
            assert not template.conjunction.equal


def steps(count: int) -> str:
    """A tracker: how likely each step is stands in a table."""
    rows = "".join(f"step({p}, {(p + d) % count}, {p + d / 4})\n" for p in range(count) for d in (0, 1))
    return f"""type place = 0..{count - 1}
type time = 0..2
predicate at(time) in place
predicate step(place, place, worth): observed
predicate lost(time)
1 * w: step(p, q, w) and at(t) = p and at(t + 1) = q
0.3 * w: step(p, q, w) and at(t) = p => lost(t)
hard: step(p, q, 0.25) and at(t) = p => not at(t) = q
0.7: at(0) = 1
{rows}"""


def test_values_that_no_row_has_make_no_templates() -> None:
    """Each number was a formula for each pair of places: a table of 441 steps became 39,000 templates."""
    program = hb.Model(hb.parse(steps(6))).program
    first = min(template.statement for template in program.templates)
    counted = [template for template in program.templates if template.statement == first]
    assert len(counted) == 12 - 1  # the row whose number is 0 weighs nothing


@pytest.mark.parametrize("engine", ["exact", "circuit", "lifted"])
def test_what_no_row_has_changes_no_answer(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = hb.Model(hb.parse(steps(4))).infer(engine=engine)
    monkeypatch.setattr(AbsentRows, "decided", lambda self, formula: None)
    expected = hb.Model(hb.parse(steps(4))).infer(engine=engine)
    assert found.log_partition == pytest.approx(expected.log_partition)
    for one, other in zip(found.rows(), expected.rows(), strict=True):
        assert (one.atom, one.value) == (other.atom, other.value)
        assert one.probability == pytest.approx(other.probability)
