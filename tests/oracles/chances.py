"""Probabilities of atoms over independent facts, by every world: each fact and rule instance in or out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from herbrand.language import syntax as s
from tests.oracles.least_model import least_model
from tests.oracles.proofs import Facts, Row


def chances(
    rules: Sequence[s.Rule], facts: Facts, constants: Sequence[s.Value]
) -> dict[tuple[str, Row], float]:
    """The probability of every atom. A weighted rule needs, for each of its instances, a choice that is an
    observed fact of its own."""
    certain = [(name, row, weight) for name, rows in facts.items() for row, weight in rows.items()]
    spelled: list[s.Rule] = []
    for number, rule in enumerate(rules):
        if isinstance(rule.weight, float):
            names = _names(rule)
            choice = f"choice {number}"
            chosen = itertools.product(constants, repeat=len(names))
            certain += [(choice, row, rule.weight) for row in chosen]
            atom = s.Atom(choice, tuple(map(s.Variable, names)))
            spelled.append(s.Rule(rule.head, (*rule.body, atom)))
        else:
            spelled.append(rule)
    found: dict[tuple[str, Row], float] = {}
    for kept in itertools.product((True, False), repeat=len(certain)):
        chance = 1.0
        for present, (_, _, weight) in zip(kept, certain, strict=True):
            chance *= weight if present else 1 - weight
        if chance:
            world = {(name, row) for present, (name, row, _) in zip(kept, certain, strict=True) if present}
            for atom in least_model([spelled], world, constants):
                found[atom] = found.get(atom, 0.0) + chance
    return found


def of_predicate(found: Mapping[tuple[str, Row], float], predicate: str) -> dict[Row, float]:
    return {row: chance for (name, row), chance in found.items() if name == predicate}


def _names(rule: s.Rule) -> list[str]:
    terms = (term for part in (rule.head, *rule.body) for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, s.Variable)))
