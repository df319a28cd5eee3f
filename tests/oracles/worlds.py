"""Markov logic by plain loops: every world of a theory, and the weight the statements give it.

The slow, obviously right version. It reads syntax and nothing else of the project: no program, no
contraction, no engine. Domains and facts come in as plain Python values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from herbrand.language import syntax as s

GroundAtom = tuple[str, tuple[s.Value, ...]]
World = Mapping[GroundAtom, object]


@dataclass
class Universe:
    """``domains`` by type; ``predicates``: name -> (argument types, values or None); ``known`` atoms;
    ``closed`` predicates, whose unlisted atoms are false; ``soft``: (atom, value, log-weight)."""

    domains: Mapping[str, Sequence[s.Value]]
    predicates: Mapping[str, tuple[Sequence[str], Sequence[s.Value] | None]]
    known: Mapping[GroundAtom, object] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    soft: Sequence[tuple[GroundAtom, object, float]] = ()
    excluded: Sequence[tuple[GroundAtom, object]] = ()

    def atoms(self) -> list[GroundAtom]:
        return [
            (name, arguments)
            for name, (types, _) in self.predicates.items()
            for arguments in itertools.product(*(self.domains[t] for t in types))
        ]

    def choices(self, atom: GroundAtom) -> Sequence[object]:
        if atom in self.known:
            return [self.known[atom]]
        if atom[0] in self.closed:
            return [False]
        values = self.predicates[atom[0]][1]
        return [False, True] if values is None else values

    def worlds(self) -> Iterator[World]:
        atoms = self.atoms()
        for values in itertools.product(*(self.choices(atom) for atom in atoms)):
            world = dict(zip(atoms, values, strict=True))
            if not any(world[atom] == value for atom, value in self.excluded):
                yield world

    def log_weight(self, world: World, statements: Sequence[s.WeightedFormula]) -> float:
        return self.weight_of_worlds(statements)(world)

    def weight_of_worlds(self, statements: Sequence[s.WeightedFormula]) -> Callable[[World], float]:
        """The log-weight of a world as a function: each statement is read once for each of its bindings."""
        instances = [
            (statement.weight, self.meaning(statement.formula, binding))
            for statement in statements
            for binding in self.bindings(statement)
        ]
        hard = [holds for weight, holds in instances if isinstance(weight, s.Hard)]
        weighted = [(weight, holds) for weight, holds in instances if isinstance(weight, float | int)]

        def log_weight(world: World) -> float:
            if not all(holds(world) for holds in hard):
                return -math.inf
            total = sum(weight for atom, value, weight in self.soft if world[atom] == value)
            return total + sum(weight * holds(world) for weight, holds in weighted)

        return log_weight

    def bindings(self, statement: s.WeightedFormula) -> Iterator[dict[str, s.Value]]:
        types = self.variable_types(statement.formula)
        free = list(dict.fromkeys(free_names(statement.formula)))
        for values in itertools.product(*(self.domains[types[name]] for name in free)):
            binding = dict(zip(free, values, strict=True))
            if all(self.holds(condition, {}, binding) for condition in statement.where):
                yield binding

    def variable_types(self, formula: s.Formula) -> dict[str, str]:
        types: dict[str, str] = {}
        for part in s.walk(formula):
            if isinstance(part, s.Atom | s.ValueIs | s.ValueIn):
                atom = part if isinstance(part, s.Atom) else part.atom
                for term, type_name in zip(atom.arguments, self.predicates[atom.predicate][0], strict=True):
                    if isinstance(term, s.Variable):
                        types[term.name] = type_name
                if isinstance(part, s.ValueIs) and isinstance(part.value, s.Variable):
                    types[part.value.name] = f"{atom.predicate} value"
        comparisons = [p for p in s.walk(formula) if isinstance(p, s.Comparison)]
        for _ in comparisons:
            for c in comparisons:
                if isinstance(c.left, s.Variable) and isinstance(c.right, s.Variable):
                    for a, b in ((c.left.name, c.right.name), (c.right.name, c.left.name)):
                        if a in types:
                            types.setdefault(b, types[a])
        return types

    def holds(self, formula: s.Formula, world: World, binding: Mapping[str, s.Value]) -> bool:
        return self.meaning(formula, binding)(world)

    def meaning(self, formula: s.Formula, binding: Mapping[str, s.Value]) -> Callable[[World], bool]:
        """The formula with its variables bound, as a function of the world that says whether it holds."""

        def value(term: s.Term) -> s.Value:
            return term.value if isinstance(term, s.Constant) else binding[term.name]

        def key(a: s.Atom) -> GroundAtom:
            return a.predicate, tuple(map(value, a.arguments))

        def parts(operands: Sequence[s.Formula]) -> list[Callable[[World], bool]]:
            return [self.meaning(operand, binding) for operand in operands]

        match formula:
            case s.Truth(value=truth):
                return lambda world: truth
            case s.Atom():
                atom = key(formula)
                return lambda world: world[atom] is True
            case s.ValueIs(atom=a, value=v):
                atom, wanted = key(a), value(v)
                return lambda world: world[atom] == wanted
            case s.ValueIn(atom=a, values=values):
                atom, listed = key(a), [v.value for v in values]
                return lambda world: world[atom] in listed
            case s.Comparison(operator=operator, left=left, right=right):
                truth = (value(left) == value(right)) == (operator == "=")
                return lambda world: truth
            case s.Not(operand=operand):
                inner = self.meaning(operand, binding)
                return lambda world: not inner(world)
            case s.And(operands=operands):
                each = parts(operands)
                return lambda world: all(part(world) for part in each)
            case s.Or(operands=operands):
                each = parts(operands)
                return lambda world: any(part(world) for part in each)
            case s.Xor(operands=operands):
                each = parts(operands)
                return lambda world: sum(part(world) for part in each) % 2 == 1
            case s.Implies(premise=a, conclusion=b):
                premise, conclusion = parts([a, b])
                return lambda world: not premise(world) or conclusion(world)
            case s.Iff(left=a, right=b):
                one, other = parts([a, b])
                return lambda world: one(world) == other(world)
            case s.Exists(variables=variables, body=body) | s.Forall(variables=variables, body=body):
                types = self.variable_types(body)
                names = [v.name for v in variables]
                rows = itertools.product(*(self.domains[types[name]] for name in names))
                each = [self.meaning(body, {**binding, **dict(zip(names, row, strict=True))}) for row in rows]
                among = any if isinstance(formula, s.Exists) else all
                return lambda world: among(part(world) for part in each)
        raise AssertionError(formula)


def free_names(formula: s.Formula, bound: frozenset[str] = frozenset()) -> Iterator[str]:
    if isinstance(formula, s.Exists | s.Forall):
        bound |= {v.name for v in formula.variables}
    for term in s.leaf_terms(formula):
        if isinstance(term, s.Variable) and term.name not in bound:
            yield term.name
    for part in s.children(formula):
        yield from free_names(part, bound)


def exact_answers(
    universe: Universe, statements: Sequence[s.WeightedFormula], queries: Sequence[s.Formula] = ()
) -> tuple[float, dict[tuple[GroundAtom, object], float], list[float]]:
    """Log Z, the probability of every atom's every value, and of closed formulas."""
    log_weight = universe.weight_of_worlds(statements)
    weighted = [(world, log_weight(world)) for world in universe.worlds()]
    largest = max((w for _, w in weighted), default=-math.inf)
    if largest == -math.inf:
        return -math.inf, {}, []
    z = sum(math.exp(w - largest) for _, w in weighted)
    marginals: dict[tuple[GroundAtom, object], float] = {}
    answers = [0.0] * len(queries)
    asked = [universe.meaning(query, {}) for query in queries]
    for world, w in weighted:
        share = math.exp(w - largest) / z
        for atom, value in world.items():
            marginals[atom, value] = marginals.get((atom, value), 0.0) + share
        for i, holds in enumerate(asked):
            answers[i] += share * holds(world)
    return largest + math.log(z), marginals, answers


def chosen_world(universe: Universe, rows: Iterable[Any]) -> dict[GroundAtom, Any]:
    """What is known, and what the rows of an answer, a most probable world, say of the rest."""
    chosen = dict(universe.known)
    for row in rows:
        assert row.predicate is not None and row.probability in (0.0, 1.0)
        if row.value is None:
            chosen[row.predicate, row.arguments] = row.probability == 1.0
        elif row.probability == 1.0:
            chosen[row.predicate, row.arguments] = row.value
    return {atom: chosen.get(atom, False) for atom in universe.atoms()}
