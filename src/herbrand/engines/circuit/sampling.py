"""Exact samples: each walk down a circuit chooses one kid of every sum by its share of the weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from herbrand.answers.samples import DrawnAtom, World
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.constraints import FALSE, TRUE
from herbrand.engines.circuit.worlds import Worlds
from herbrand.language.show import show_atom
from herbrand.language.syntax import Value

NUMBERS_AT_ONCE = 1_000_000


def drawn(
    worlds: Worlds, atoms: Mapping[int, tuple[str, DrawnAtom]], circuit: Circuit, count: int, seed: int
) -> Iterator[World]:
    """Independent worlds, each with the atoms of these axes. The circuit tells of every choice."""
    weights = worlds.made.log_weights()
    values = circuit.values(weights)
    literals = [worlds.axis(axis) for axis in atoms]
    random = np.random.default_rng(seed)
    at_once = max(1, NUMBERS_AT_ONCE // max(1, circuit.variables))
    done = 0
    while done < count:
        worlds.budget.check()
        chosen = circuit.samples(
            weights, values, random.random((min(at_once, count - done), circuit.variables))
        )
        written = np.maximum(chosen, 0)
        totals = np.where(chosen >= 0, weights[np.arange(circuit.variables), written], 0.0).sum(axis=1)
        for row, total in zip(chosen, totals.tolist(), strict=True):
            true: list[str] = []
            found: dict[str, Value] = {}
            for (text, atom), own in zip(atoms.values(), literals, strict=True):
                held = [place for place, literal in enumerate(own) if _holds(row, literal)]
                if atom.values and held:
                    found[text] = atom.values[held[0]]
                elif not atom.values and held == [1]:
                    true.append(text)
            yield World(tuple(true), found, total + worlds.made.constant)
        done += len(chosen)


def _holds(row: np.ndarray, literal: int) -> bool:
    if literal in (TRUE, FALSE):
        return literal == TRUE
    return bool(row[literal >> 1] == 1 - (literal & 1))


def drawn_atom(worlds: Worlds, axis: int) -> tuple[str, DrawnAtom]:
    """An atom's text, and what it stands for."""
    name, row = worlds.atom(axis)
    predicate, facts = worlds.program.signature.predicates[name], worlds.program.facts
    arguments = tuple(facts.constants(predicate.types, row))
    if predicate.value_type is None:
        return show_atom(name, arguments), DrawnAtom(name, arguments)
    values = facts.domains[predicate.value_type]
    constants = tuple(values.value(i) for i in range(len(values)))
    return show_atom(name, arguments), DrawnAtom(name, arguments, constants)
