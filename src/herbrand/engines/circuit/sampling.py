"""Exact samples: each walk down a circuit chooses one kid of every sum by its share of the weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from herbrand.answers.samples import World
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.constraints import FALSE, TRUE
from herbrand.engines.circuit.worlds import Worlds
from herbrand.language.show import show_atom
from herbrand.language.syntax import Value

NUMBERS_AT_ONCE = 1_000_000


def drawn(worlds: Worlds, axes: tuple[int, ...], circuit: Circuit, count: int, seed: int) -> Iterator[World]:
    """Independent worlds, each with the atoms of these axes. The circuit tells of every choice."""
    weights = worlds.made.log_weights()
    values = circuit.values(weights)
    labels = [_label(worlds, axis) for axis in axes]
    literals = [worlds.axis(axis) for axis in axes]
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
            for (text, constants), own in zip(labels, literals, strict=True):
                held = [place for place, literal in enumerate(own) if _holds(row, literal)]
                if constants is not None and held:
                    found[text] = constants[held[0]]
                elif constants is None and held == [1]:
                    true.append(text)
            yield World(tuple(true), found, total + worlds.made.constant)
        done += len(chosen)


def _holds(row: np.ndarray, literal: int) -> bool:
    if literal in (TRUE, FALSE):
        return literal == TRUE
    return bool(row[literal >> 1] == 1 - (literal & 1))


def _label(worlds: Worlds, axis: int) -> tuple[str, list[Value] | None]:
    """An atom's text, and its values if it has many."""
    name, row = worlds.atom(axis)
    predicate, facts = worlds.program.signature.predicates[name], worlds.program.facts
    arguments = facts.constants(predicate.types, row)
    if predicate.value_type is None:
        return show_atom(name, arguments), None
    values = facts.domains[predicate.value_type]
    return show_atom(name, arguments), [values.value(i) for i in range(len(values))]
