"""Rules over known facts by plain loops: apply every rule to every assignment until nothing is new.

The slow, obviously right version: strata of rules in the order given, all constants for all variables.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from herbrand.language import syntax as s
from tests.oracles.proofs import Places, compares, ranges

Atoms = set[tuple[str, tuple[s.Value, ...]]]


def least_model(
    strata: Sequence[Sequence[s.Rule]],
    facts: Atoms,
    constants: Sequence[s.Value],
    places: Places | None = None,
) -> Atoms:
    """All atoms that follow; a variable ranges over what may stand in the ``places`` that an atom has it in,
    or over all constants."""
    known, places = set(facts), places or {}
    for rules in strata:
        while True:
            new = {atom for rule in rules for atom in _conclusions(rule, known, constants, places)} - known
            if not new:
                break
            known |= new
    return known


def _conclusions(rule: s.Rule, known: Atoms, constants: Sequence[s.Value], places: Places) -> Atoms:
    negated = [part.operand for part in rule.body if isinstance(part, s.Not)]
    positive = [part for part in rule.body if not isinstance(part, s.Not)]
    parts = [rule.head, *positive]
    names = _names(parts)
    found: Atoms = set()
    for values in itertools.product(*ranges(names, parts, constants, places)):
        binding = dict(zip(names, values, strict=True))
        if not all(_holds(part, binding, known) for part in positive):
            continue
        if not any(_some(part, binding, known, constants, places) for part in negated):
            found.add(_ground(rule.head, binding))
    return found


def _some(
    part: s.Formula,
    binding: dict[str, s.Value],
    known: Atoms,
    constants: Sequence[s.Value],
    places: Places,
) -> bool:
    """Whether some assignment of the variables that only this part has makes it true."""
    own = [name for name in _names([part]) if name not in binding]
    return any(
        _holds(part, {**binding, **dict(zip(own, values, strict=True))}, known)
        for values in itertools.product(*ranges(own, [part], constants, places))
    )


def _names(parts: Sequence[s.Formula]) -> list[str]:
    terms = (term for part in parts for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, s.Variable)))


def _value(term: s.Term, binding: dict[str, s.Value]) -> s.Value:
    return term.value if isinstance(term, s.Constant) else binding[term.name]


def _ground(atom: s.Atom, binding: dict[str, s.Value]) -> tuple[str, tuple[s.Value, ...]]:
    return atom.predicate, tuple(_value(term, binding) for term in atom.arguments)


def _holds(part: s.Formula, binding: dict[str, s.Value], known: Atoms) -> bool:
    if isinstance(part, s.Atom):
        return _ground(part, binding) in known
    assert isinstance(part, s.Comparison)
    return compares(part.operator, _value(part.left, binding), _value(part.right, binding))
