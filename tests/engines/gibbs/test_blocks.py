"""Blocks of atoms beside worlds: choosing a state for each block is choosing a world that is possible."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.gibbs import blocks as module
from herbrand.engines.gibbs.blocks import Blocks, ImpossibleError, TooLargeError, blocks_of, freed
from herbrand.errors import ContradictionError, FactsError, UnsupportedError
from herbrand.factors import pieces
from herbrand.factors.graph import FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.program.ground import Ground, ground
from tests.engines.belief.energies import latent_atoms
from tests.engines.unseen import theory
from tests.oracles.worlds import Universe

State = tuple[tuple[int, ...], ...]


def blocks_in(text: str) -> tuple[Blocks, Ground, FactorGraph]:
    program = ground(hb.Model(hb.parse(text)).program, UNLIMITED)
    graph = freed(ground_graph(program).graph)
    return blocks_of(graph, program.atoms.count), program, graph


def listed(blocks: Blocks) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Each block's atoms and states."""
    found = []
    for block in range(len(blocks)):
        atoms = blocks.atoms[blocks.pointers[block] : blocks.pointers[block + 1]]
        count, start = int(blocks.state_counts[block]), int(blocks.state_starts[block])
        states = blocks.states[start : start + count * len(atoms)].reshape(count, len(atoms))
        found.append((tuple(atoms.tolist()), [tuple(state) for state in states.tolist()]))
    return found


def assert_states_are_worlds(text: str, universe: Universe) -> int:
    """How many blocks are of several atoms."""
    log_weight = universe.weight_of_worlds(hb.parse(text).formulas)
    try:
        blocks, program, graph = blocks_in(text)
    except (ContradictionError, FactsError):
        return 0
    except ImpossibleError:
        assert all(log_weight(world) == -math.inf for world in universe.worlds())
        return 0
    parts = listed(blocks)
    assert sorted(atom for atoms, _ in parts for atom in atoms) == list(range(program.atoms.count))
    assert all(len(set(states)) == len(states) for _, states in parts)
    atoms = latent_atoms(program.evidence)
    numbers = [int(program.atoms.numbers(name, np.array([code]))[0]) for name, code, _ in atoms]
    choices = {n: list(universe.choices(atom)) for n, (*_, atom) in zip(numbers, atoms, strict=True)}
    possible = set()
    for world in universe.worlds():
        if log_weight(world) > -math.inf:
            values = {n: choices[n].index(world[atom]) for n, (*_, atom) in zip(numbers, atoms, strict=True)}
            possible.add(tuple(values[n] for n in range(len(atoms))))
    chosen = set()
    for states in itertools.product(*(states for _, states in parts)):
        pairs = zip(parts, states, strict=True)
        values = {a: v for (its, _), state in pairs for a, v in zip(its, state, strict=True)}
        if all(graph.unary[graph.starts[atom] + value] > -math.inf for atom, value in values.items()):
            chosen.add(tuple(values[n] for n in range(len(atoms))))
    assert chosen == possible
    return sum(len(its) > 1 for its, _ in parts)


@pytest.mark.parametrize("most_entries", [pieces.MOST_ENTRIES, 3])
def test_a_state_of_each_block_is_a_possible_world(
    most_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every possible world is one; with hard statements as tables, and as helpers."""
    monkeypatch.setattr(pieces, "MOST_ENTRIES", most_entries)
    monkeypatch.setattr(pieces, "LARGEST_TABLE", most_entries)
    hard = [seed for seed in range(700) if "hard: " in theory(seed)[0]][:14]
    assert sum(assert_states_are_worlds(*theory(seed)) for seed in hard) > 2


T = 'type t = {"a", "b", "c"}\npredicate p(t)\npredicate q(t)\n'


@pytest.mark.parametrize(
    ("stated", "widths"),
    [
        ("1: p(x)", [1] * 6),
        ("5: p(x) <=> q(x)", [1] * 6),
        ("hard: p(x) <=> q(x)", [2, 2, 2]),
        ('hard: p(x) <=> q(x) where x != "a"', [1, 1, 2, 2]),
        ('hard: p(x) <=> q(x)\np("b")', [1, 2, 2]),
        ('hard: p(x) or q(x)\np("b")', [1, 2, 2]),
        ("hard: exists x: p(x)", [1, 1, 1, 3]),
        ("hard: exists x: p(x) and q(x)", [6]),
        ("hard: forall x: p(x)", [1] * 6),
        ("hard: p(x) => q(y)", [6]),
        ('hard: p("a") => q("b")\nhard: q("b") => p("c")', [1, 1, 1, 3]),
        ("0: p(x)\nhard: p(x) or not p(x)", [1] * 6),
    ],
)
def test_what_hard_statements_tie(stated: str, widths: list[int]) -> None:
    """Facts untie what they settle; weighted statements tie nothing, however heavy."""
    blocks, _, _ = blocks_in(T + stated)
    assert sorted(len(atoms) for atoms, _ in listed(blocks)) == widths


def test_states_of_a_block_are_those_that_are_possible() -> None:
    blocks, program, _ = blocks_in(T + "hard: p(x) => q(x)\n0.4: p(x)")
    p = program.atoms.start["p"]
    for atoms, states in listed(blocks):
        order = sorted(range(2), key=lambda place: atoms[place])
        ordered = sorted(tuple(state[place] for place in order) for state in states)
        assert ordered == ([(0, 0), (0, 1), (1, 1)] if p == 0 else [(0, 0), (1, 0), (1, 1)])


def test_values_of_a_free_atom_are_its_states() -> None:
    blocks, _, _ = blocks_in('type t = {"a"}\npredicate c(t) in {"x", "y", "z"}\npredicate p(t)\n1: p(x)')
    assert sorted(tuple(states) for _, states in listed(blocks)) == [((0,), (1,)), ((0,), (1,), (2,))]


def test_excluded_values_are_no_states_of_a_block() -> None:
    text = 'type t = {"a"}\npredicate c(t) in {"x", "y", "z"}\npredicate p(t)\nnot c("a") = "y"\n'
    blocks, program, _ = blocks_in(text + 'hard: c(i) = "x" => p(i)')
    ((atoms, states),) = listed(blocks)
    place = atoms.index(program.atoms.start["c"])
    assert {state[place] for state in states} == {0, 2} and len(states) == 3


def test_nothing_latent_is_no_block() -> None:
    blocks, _, _ = blocks_in('predicate p(t): observed\np("a")\n1: p(x)')
    assert len(blocks) == 0 and len(blocks.atoms) == 0 and len(blocks.states) == 0


MANY = "type t = {" + ", ".join(f'"c{i}"' for i in range(30)) + "}\n"


def test_what_must_be_false_of_all_ties_nothing() -> None:
    """Thirty atoms of three values would have many joint states; only the two of each constant are tied."""
    text = MANY + 'predicate c(t) in {"x", "y", "z"}\npredicate p(t)\n'
    text += 'hard: forall x: c(x) in {"x", "y"}\nhard: not exists x: p(x) and c(x) = "x"\n0.4: c(x) = "y"'
    blocks, program, graph = blocks_in(text)
    assert sorted(len(atoms) for atoms, _ in listed(blocks)) == [2] * 30
    assert graph.axis_count > program.atoms.count
    model = hb.Model(hb.parse(text))
    answer, exact = (model.infer(['p("c7")', 'c("c7")'], engine=name) for name in ("gibbs", "exact"))
    for one, other in zip(answer.rows(), exact.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=0.03)


def test_what_must_be_false_at_every_depth() -> None:
    text = T + "hard: forall x: (forall y: p(y) or q(x)) and not (p(x) and q(x))"
    possible = {("".join("01"[v] for v in world)) for world in itertools.product((0, 1), repeat=6)}
    expected = {
        w
        for w in possible
        if all((w[:3] == "111" or w[3 + i] == "1") and w[i] + w[3 + i] != "11" for i in range(3))
    }
    model = hb.Model(hb.parse(text + "\n0.3: p(x)"))
    answer, exact = (model.infer(engine=name) for name in ("gibbs", "exact"))
    assert exact.log_partition == pytest.approx(
        math.log(sum(math.exp(0.3 * w[:3].count("1")) for w in expected))
    )
    for one, other in zip(answer.rows(), exact.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=0.04)


def test_no_possible_state_is_told() -> None:
    with pytest.raises(ImpossibleError):
        blocks_in("hard: p <=> q\nhard: p xor q")


def test_what_ties_too_many_atoms_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STATES", 7)
    blocks_in(T + "hard: p(x) <=> q(x)\n")
    with pytest.raises(TooLargeError) as told:
        blocks_in(T + "hard: p(x) or p(y) where x != y\n0.5: q(x) or p(x)")
    assert told.value.atoms == 3 and len(told.value.factors) == 3 and not len(told.value.axes)
    with pytest.raises(TooLargeError) as told:
        blocks_in(T + "hard: exists x: p(x)")
    assert told.value.atoms == 3 and len(told.value.axes) == 1


@pytest.mark.parametrize("stated", ["hard: p(x) or p(y) where x != y", "hard: exists x: p(x)"])
def test_the_refusal_names_the_statement_and_what_to_do(stated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however many groundings tie; not the hard statements that tie nothing, nor weighted ones."""
    monkeypatch.setattr(module, "MOST_STATES", 7)
    monkeypatch.setattr("herbrand.engines.gibbs.chains.MOST_STATES", 7)
    with pytest.raises(UnsupportedError) as told:
        hb.Model(hb.parse(f'{T}{stated}\n0.3: p(x)\nhard: q("a") <=> q("b")')).infer(engine="gibbs")
    (mistake,) = told.value.mistakes
    assert mistake.message == (
        "gibbs cannot mix over this hard statement, which ties 3 atoms together (at most 7 joint states are "
        "sampled at once)"
    )
    assert mistake.hint == "use --engine exact, lifted or bp, or give it a large weight instead"
    assert mistake.span is not None and mistake.span.line == 4


def test_a_refused_statement_that_stands_in_no_text_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.changed_theories import renamed

    monkeypatch.setattr(module, "MOST_STATES", 7)
    with pytest.raises(UnsupportedError, match=r"sampled at once\): hard: exists x: p\(x\)"):
        hb.Model(renamed(hb.parse(T + "hard: exists x: p(x)"))).infer(engine="gibbs")
