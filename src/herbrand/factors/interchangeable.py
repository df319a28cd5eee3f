"""Classes of constants that no statement and no fact distinguishes.

Two constants are interchangeable if swapping them changes no fact and no statement. A constant that a
statement names is a class by itself; the others are compared by all facts about them. Reads facts, not ground
atoms.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse('1: s(x) and f(x, y) => s(y)\\ntype t = {"a", "b", "c"}\\npredicate s(t)\\n'
...     'predicate f(t, t)\\ns("b")'))
>>> interchangeable(model.program)["t"].of.tolist()
[0, 1, 0]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.factors.graph import Array
from herbrand.factors.refinement import mixed
from herbrand.program.program import Conjunction, Program

WHO = np.uint64(0x632BE59BD9B4E019)
"""Hash in place of the constant whose signature is computed."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Class of each constant of a type, numbered in the order of their first constants."""

    of: Array

    @cached_property
    def sizes(self) -> list[int]:
        return np.bincount(self.of).tolist() if len(self.of) else []

    @cached_property
    def members(self) -> list[Array]:
        order = np.argsort(self.of, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1]) if len(self.of) else []

    def __len__(self) -> int:
        return len(self.sizes)


def interchangeable(program: Program) -> dict[str, Classes]:
    """Classes of interchangeable constants of each type."""
    named = _named(program)
    signatures = {
        name: np.zeros(len(domain), dtype=np.uint64) for name, domain in program.facts.domains.items()
    }
    for number, (types, rows, payload) in enumerate(_facts(program)):
        _sign(signatures, types, rows, payload, np.uint64(number + 1))
    return {name: _classes(signature, named[name]) for name, signature in signatures.items()}


def _classes(signature: Array, named: set[int]) -> Classes:
    keys = np.zeros((len(signature), 2), dtype=np.uint64)
    keys[:, 0] = signature
    for alone, constant in enumerate(sorted(named)):
        keys[constant, 1] = alone + 1
    _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return Classes(rank[of.reshape(-1)])


def _facts(program: Program) -> Iterator[tuple[tuple[str, ...], Array, Array]]:
    """Yield every table of facts: argument types, rows, and a hash of each row's value and log-odds."""
    for name, predicate in program.signature.predicates.items():
        table, width = program.table(name), len(predicate.types)
        for rows, log_odds in (
            (table.true, None),
            (table.false, None),
            (table.soft, table.log_odds),
        ):
            payload = np.zeros(len(rows), dtype=np.uint64)
            for column in range(width, rows.shape[1]):
                payload = mixed(payload, rows[:, column].astype(np.uint64))
            if log_odds is not None:
                payload = mixed(payload, np.asarray(log_odds, float).view(np.uint64))
            yield predicate.types, rows[:, :width], payload


def _sign(
    signatures: dict[str, Array], types: tuple[str, ...], rows: Array, payload: Array, number: np.uint64
) -> None:
    """Add a hash of each fact to the signature of each constant in it, with the constant itself left out."""
    for place, type_name in enumerate(types):
        about = rows[:, place]
        mark = mixed(np.full(len(rows), number), payload)
        for other, other_type in enumerate(types):
            column = rows[:, other].astype(np.uint64)
            itself = (rows[:, other] == about) & (other_type == type_name)
            mark = mixed(mark, np.where(itself, WHO, column))
        # Hashes are added up, so that the order of facts does not matter and repeated ones count.
        np.add.at(signatures[type_name], about, mark)


def _named(program: Program) -> dict[str, set[int]]:
    """Constants that statements name, by type."""
    constants: dict[str, set[int]] = defaultdict(set)

    def look(conjunction: Conjunction, types: dict[str, str]) -> None:
        types = {**types, **conjunction.types}
        for literal in conjunction.literals:
            for argument, name in zip(
                literal.arguments, program.signature.predicates[literal.predicate].types, strict=True
            ):
                if isinstance(argument, int):
                    constants[name].add(argument)
        for left, right in conjunction.distinct:
            if isinstance(right, int) and isinstance(left, str):
                constants[types[left]].add(right)
            elif isinstance(left, int) and isinstance(right, str):
                constants[types[right]].add(left)
        for block in conjunction.blocks:
            for piece in block.pieces:
                look(piece, types)

    for template in program.templates:
        look(template.conjunction, {})
    return constants
