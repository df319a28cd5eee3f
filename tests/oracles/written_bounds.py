"""First-order bounds as the plain network that their groundings write, by loops over all constants.

Reads syntax and nothing else of the project. An observed atom becomes the truth value that it has, and stays
where it stood: nothing is simplified, so that a sentence speaks of all the atoms it was written with. Left
out are a grounding whose condition what is observed refutes, and an instance of a quantifier that it makes
neutral. Every type and predicate of a theory is declared, and every type lists its constants.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from herbrand.language import syntax as s
from tests.oracles.credal import Network, holds
from tests.oracles.worlds import GroundAtom, Universe

Binding = Mapping[str, s.Value]


def name_of(atom: GroundAtom) -> str:
    return "_".join((atom[0], *map(str, atom[1])))


def grounded(universe: Universe, formula: s.Formula, binding: Binding) -> s.Formula:
    """A formula over atoms without arguments."""

    def value(term: s.Term) -> s.Value:
        return term.value if isinstance(term, s.Constant) else binding[term.name]

    match formula:
        case s.Atom(predicate=name, arguments=arguments):
            atom = name, tuple(map(value, arguments))
            if name in universe.closed:
                return s.Truth(universe.known.get(atom, False) is True)
            return s.Atom(name_of(atom))
        case s.Comparison(operator=operator, left=left, right=right):
            return s.Truth((value(left) == value(right)) == (operator == "="))
        case s.Exists(variables=variables, body=body) | s.Forall(variables=variables, body=body):
            types = universe.variable_types(body)
            neutral = isinstance(formula, s.Forall)
            parts = []
            for row in itertools.product(*(universe.domains[types[v.name]] for v in variables)):
                chosen = dict(zip((v.name for v in variables), row, strict=True))
                part = grounded(universe, body, {**binding, **chosen})
                if settled(part) is not neutral:
                    parts.append(part)
            return (s.And if neutral else s.Or)((s.Truth(neutral), s.Truth(neutral), *parts))
    return s.with_children(formula, [grounded(universe, part, binding) for part in s.children(formula)])


def settled(formula: s.Formula) -> bool | None:
    """The truth value that what is observed gives a ground formula, whatever its atoms are."""
    match formula:
        case s.Truth(value=value):
            return value
        case s.Not(operand=operand):
            found = settled(operand)
            return None if found is None else not found
        case s.And(operands=operands) | s.Or(operands=operands):
            settling = isinstance(formula, s.Or)
            values = [settled(operand) for operand in operands]
            return settling if settling in values else (None if None in values else not settling)
        case s.Implies(premise=premise, conclusion=conclusion):
            return settled(s.Or((s.Not(premise), conclusion)))
        case s.Xor() | s.Iff():
            parts = list(s.children(formula))
            return None if None in map(settled, parts) else holds(formula, {})
    return None


def sentences(universe: Universe, bound: s.Bound) -> Iterator[s.Bound]:
    """The groundings of a bound, as written."""
    given = bound.given or s.Truth(True)
    for binding in universe.bindings(s.WeightedFormula(1.0, s.And((bound.event, given)))):
        condition = None if bound.given is None else grounded(universe, bound.given, binding)
        if condition is not None and settled(condition) is False:
            continue
        event = grounded(universe, bound.event, binding)
        yield s.Bound(event, condition, bound.lower, bound.upper, bound.independent)


def written_network(universe: Universe, bounds: list[s.Bound]) -> Network:
    """The network of all groundings; every open atom is in it."""
    everything = [
        s.Bound(s.Atom(name_of(atom)), None, 0.0, 1.0)
        for atom in universe.atoms()
        if atom[0] not in universe.closed
    ]
    return Network((*everything, *(one for bound in bounds for one in sentences(universe, bound))))
