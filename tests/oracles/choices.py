"""Choices ``::``, rules, weighted formulas and evidence: every world by plain loops, and its weight.

What a theory of choices means, slowly. A world of the predicates that nothing derives (their facts, soft
evidence and open atoms: :mod:`tests.oracles.worlds`) is extended stratum by stratum: rules add what follows,
and each ground instance of a choice whose body holds picks one of its heads or none. The chance of a world is
the product of what was picked, its weight that times the weights of formulas. Facts of derived predicates are
evidence: worlds in which they do not hold count 0. So do worlds that give one many-valued atom two values; an
atom that none gives a value has none, and its world maps it to ``None``.

>>> from herbrand.language.parse import parse_theory
>>> worlds = worlds_of(parse_theory("0.5 :: a\\n0.3 :: b\\nq :- a, b\\np :- true, not q"))
>>> round(worlds.probability(s.Atom("p")), 12)
0.85
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from herbrand.language import syntax as s
from herbrand.language.check import check
from herbrand.language.scope import Renaming
from herbrand.language.theory import Theory
from tests.oracles.proofs import compares
from tests.oracles.worlds import GroundAtom, Universe, World

Binding = dict[str, s.Value]


class Literal(NamedTuple):
    """Holds if one of these (atom, value) is in the model, or if none is."""

    anyone: tuple[tuple[GroundAtom, object], ...]
    positive: bool


class Instance(NamedTuple):
    """A ground rule or choice: heads with their chances; a rule has one, of chance 1."""

    heads: tuple[tuple[float, tuple[GroundAtom, object]], ...]
    body: tuple[Literal, ...]


@dataclass
class ChoiceWorlds:
    """``universe``: domains and all predicates; its known, closed and soft are those of what nothing derives.

    ``evidence``: (atom, value, chance): a derived atom has this value, with 1 surely, with 0 surely not;
    between these, worlds that have it count by the chance and others by the rest.
    """

    universe: Universe
    rules: Sequence[s.Rule]
    choices: Sequence[s.Choice]
    formulas: Sequence[s.WeightedFormula] = ()
    evidence: Sequence[tuple[GroundAtom, object, float]] = ()

    def probability(self, query: s.Formula) -> float:
        """Of a closed formula; ``ZeroDivisionError`` where the evidence has none."""
        return self.probabilities([query])[0]

    def probabilities(self, queries: Sequence[s.Formula]) -> list[float]:
        found = [0.0] * len(queries)
        asked = [self.universe.meaning(query, {}) for query in queries]
        for world, weight in self.weighted:
            for i, holds in enumerate(asked):
                found[i] += weight * holds(world)
        return [each / self.total for each in found]

    def marginals(self) -> dict[tuple[GroundAtom, object], float]:
        """Of every value of every atom; the values of an atom that is true or false are True and False."""
        found: dict[tuple[GroundAtom, object], float] = {}
        for world, weight in self.weighted:
            for each in world.items():
                found[each] = found.get(each, 0.0) + weight / self.total
        return found

    @cached_property
    def total(self) -> float:
        """The sum of all weights: the partition function."""
        return sum(weight for _, weight in self.weighted)

    @cached_property
    def weighted(self) -> list[tuple[World, float]]:
        """All worlds that weigh anything."""
        return [
            (world, weight)
            for base in self._base.worlds()
            for chance, model in self._models(base)
            if (world := self._world(base, model)) is not None
            if (weight := chance * self._weight(world)) > 0
        ]

    @cached_property
    def heads(self) -> set[str]:
        alternatives = (alternative for choice in self.choices for alternative in choice.alternatives)
        return {rule.head.predicate for rule in self.rules} | {a.predicate for a in alternatives}

    @cached_property
    def _base(self) -> Universe:
        """The same without what is derived."""
        u = self.universe
        predicates = {name: shape for name, shape in u.predicates.items() if name not in self.heads}
        return Universe(u.domains, predicates, u.known, u.closed, u.soft, u.excluded)

    @cached_property
    def _log_weight(self) -> Callable[[World], float]:
        return self.universe.weight_of_worlds(self.formulas)

    def _weight(self, world: World) -> float:
        weight = math.exp(self._log_weight(world))
        for atom, value, chance in self.evidence:
            weight *= chance if world[atom] == value else 1 - chance
        return weight

    @cached_property
    def _underived(self) -> dict[GroundAtom, object]:
        """The atoms of heads, as they are where nothing derives them."""
        shapes = self.universe.predicates
        derived = (atom for atom in self.universe.atoms() if atom[0] in self.heads)
        return {atom: None if shapes[atom[0]][1] else False for atom in derived}

    def _world(self, base: World, model: Iterable[tuple[GroundAtom, object]]) -> World | None:
        """All atoms with their values; nothing where one has two."""
        world = {**base, **self._underived}
        for atom, value in model:
            if world[atom] not in (None, False, value):
                return None
            world[atom] = value
        return world

    def _models(self, base: World) -> Iterator[tuple[float, set[tuple[GroundAtom, object]]]]:
        """The least models over a world of the rest, with their chances."""
        known = {(atom, value) for atom, value in base.items() if value is not False}
        statements = (*self.rules, *self.choices)
        instances = [i for statement in statements for i in self._instances(statement, base)]
        strata = _strata(_possible(instances, known))
        for chance, model in _extended(known, strata, 0, frozenset()):
            yield chance, model - known

    def _instances(self, statement: s.Rule | s.Choice, base: World) -> Iterator[Instance]:
        """Ground instances whose comparisons and literals of what nothing derives hold."""
        for binding in self._bindings(statement, base):
            literals = [self._literal(part, binding) for part in statement.body]
            body = tuple(literal for literal in literals if literal is not None)
            heads = tuple(
                (_number(chance, binding), self._ground(head, binding))
                for chance, _, head in _heads(statement)
            )
            assert sum(chance for chance, _ in heads) <= 1 + 1e-9, "chances of one choice add up to 1 at most"
            yield Instance(heads, body)

    def _bindings(self, statement: s.Rule | s.Choice, base: World) -> Iterator[Binding]:
        """Of all variables that stand outside ``not``."""
        heads: list[s.Formula] = [head for _, _, head in _heads(statement)]
        outside = [*heads, *(part for part in statement.body if not isinstance(part, s.Not))]
        types = self._types(statement)
        names = dict.fromkeys(
            term.name for part in outside for term in s.leaf_terms(part) if isinstance(term, s.Variable)
        )
        for partial in self._matched(statement.body, base, {}):
            rest = [name for name in names if name not in partial]
            for values in itertools.product(*(self.universe.domains[types[name]] for name in rest)):
                binding = partial | dict(zip(rest, values, strict=True))
                if all(_compared(part, binding) for part in statement.body):
                    yield binding

    def _matched(self, body: Sequence[s.Formula], base: World, binding: Binding) -> Iterator[Binding]:
        """Bindings under which the atoms of what nothing derives are in this world: one after the other."""
        at = next((i for i, part in enumerate(body) if self._matches_base(part)), None)
        if at is None:
            yield binding
            return
        part, rest = body[at], [*body[:at], *body[at + 1 :]]
        atom = _atom(part)
        for (predicate, arguments), value in base.items():
            if atom is not None and predicate == atom.predicate and value is not False:
                row = (*arguments, value) if isinstance(part, s.ValueIs) else arguments
                extended = _unified(s.leaf_terms(part), row, binding)
                if extended is not None:
                    yield from self._matched(rest, base, extended)

    def _matches_base(self, part: s.Formula) -> bool:
        atom = _atom(part) if isinstance(part, s.Atom | s.ValueIs) else None
        return atom is not None and atom.predicate not in self.heads

    def _literal(self, part: s.Formula, binding: Binding) -> Literal | None:
        """A literal of a body; nothing for a comparison, which was looked at before."""
        positive = not isinstance(part, s.Not)
        inner = part.operand if isinstance(part, s.Not) else part
        if isinstance(inner, s.Comparison):
            return None
        if isinstance(inner, s.Truth):
            return Literal((), positive != inner.value)
        atom = _atom(inner)
        assert atom is not None
        types = self._literal_types(inner, atom)
        free = [name for name in types if name not in binding]
        anyone = []
        for values in itertools.product(*(self.universe.domains[types[name]] for name in free)):
            full = binding | dict(zip(free, values, strict=True))
            if isinstance(inner, s.ValueIn):
                anyone += [(self._ground(atom, full)[0], value.value) for value in inner.values]
            else:
                anyone.append(self._ground(inner, full))
        return Literal(tuple(anyone), positive)

    def _literal_types(self, part: s.Formula, atom: s.Atom) -> dict[str, str]:
        columns = [*self.universe.predicates[atom.predicate][0], f"{atom.predicate} value"]
        terms = s.leaf_terms(part)
        return {t.name: c for t, c in zip(terms, columns, strict=False) if isinstance(t, s.Variable)}

    def _types(self, statement: s.Rule | s.Choice) -> dict[str, str]:
        parts = [*statement.body, *(head for _, _, head in _heads(statement))]
        types: dict[str, str] = {}
        for part in parts:
            atom = _atom(part)
            if atom is not None:
                types |= self._literal_types(part.operand if isinstance(part, s.Not) else part, atom)
        equal = [p for p in parts if isinstance(p, s.Comparison)]
        for _ in equal:
            for part in equal:
                names = [term.name for term in (part.left, part.right) if isinstance(term, s.Variable)]
                if len(names) == 2:
                    for one, other in (names, reversed(names)):
                        if other in types:
                            types.setdefault(one, types[other])
        return types

    def _ground(self, head: s.Formula, binding: Binding) -> tuple[GroundAtom, object]:
        atom = _atom(head)
        assert atom is not None
        value = _value(head.value, binding) if isinstance(head, s.ValueIs) else True
        return (atom.predicate, tuple(_value(term, binding) for term in atom.arguments)), value


def _possible(instances: Sequence[Instance], known: set[tuple[GroundAtom, object]]) -> list[Instance]:
    """Those whose positive literals may hold in some world, whatever is absent."""
    may_hold, found = set(known), list[Instance]()
    while True:
        more = [
            instance
            for instance in instances
            if instance not in found
            and all(_holds(literal, may_hold) for literal in instance.body if literal.positive)
        ]
        if not more:
            return [instance for instance in instances if instance in found]
        found += more
        may_hold |= {head for instance in more for _, head in instance.heads}


def _strata(instances: Sequence[Instance]) -> list[list[Instance]]:
    """Ground instances in layers: the atoms that a body negates are complete in the layers before."""
    level = dict.fromkeys((head for instance in instances for _, head in instance.heads), 0)
    for _ in range(len(level) + 1):
        before = dict(level)
        for instance in instances:
            needed = [
                level[each] + (not literal.positive)
                for literal in instance.body
                for each in literal.anyone
                if each in level
            ]
            for _, head in instance.heads:
                level[head] = max([level[head], *needed])
        if level == before:
            break
    else:
        raise ValueError("an atom negates itself")
    layers: dict[int, list[Instance]] = {}
    for instance in instances:
        # Its body is complete there, and the other heads of a choice are asked for later.
        layers.setdefault(min(level[head] for _, head in instance.heads), []).append(instance)
    return [layers[number] for number in sorted(layers)]


def _extended(
    known: set[tuple[GroundAtom, object]],
    strata: Sequence[Sequence[Instance]],
    at: int,
    decided: frozenset[int],
) -> Iterator[tuple[float, set[tuple[GroundAtom, object]]]]:
    """All ways on from what is known: rules are followed, choices branch, stratum after stratum."""
    known = set(known)
    while at < len(strata):
        for number, instance in enumerate(strata[at]):
            if number in decided or not all(_holds(literal, known) for literal in instance.body):
                continue
            decided |= {number}
            if len(instance.heads) == 1 and instance.heads[0][0] == 1:
                known.add(instance.heads[0][1])
                break
            none = 1 - sum(chance for chance, _ in instance.heads)
            for chance, head in [*instance.heads, (none, None)]:
                if chance > 0:
                    for rest, model in _extended(known | ({head} - {None}), strata, at, decided):
                        yield chance * rest, model
            return
        else:
            at, decided = at + 1, frozenset()
    yield 1.0, known


def _holds(literal: Literal, known: set[tuple[GroundAtom, object]]) -> bool:
    return any(each in known for each in literal.anyone) == literal.positive


def _heads(statement: s.Rule | s.Choice) -> list[tuple[s.Chance, s.Atom, s.Atom | s.ValueIs]]:
    """Each head with its chance and its atom without a value."""
    if isinstance(statement, s.Rule):
        assert statement.weight is None, "weights of proofs have another meaning"
        return [(1.0, statement.head, statement.head)]
    return [(each.probability, each.atom, each.head) for each in statement.alternatives]


def _atom(part: s.Formula) -> s.Atom | None:
    match part:
        case s.Atom():
            return part
        case s.ValueIs(atom=atom) | s.ValueIn(atom=atom):
            return atom
        case s.Not(operand=operand):
            return _atom(operand)
    return None


def _unified(terms: Sequence[s.Term], row: Sequence[object], binding: Binding) -> Binding | None:
    found = dict(binding)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, s.Variable):
            if found.setdefault(term.name, value) != value:  # type: ignore[arg-type]
                return None
        elif term.value != value:
            return None
    return found


def _compared(part: s.Formula, binding: Binding) -> bool:
    if not isinstance(part, s.Comparison):
        return True
    return compares(part.operator, _value(part.left, binding), _value(part.right, binding))


def _value(term: s.Term, binding: Binding) -> s.Value:
    return term.value if isinstance(term, s.Constant) else binding[term.name]


def _number(chance: s.Chance, binding: Binding) -> float:
    assert not isinstance(chance, s.Learned), "a probability that is to be learned"
    number = binding[chance.name] if isinstance(chance, s.Variable) else chance
    assert not isinstance(number, str) and 0 <= number <= 1
    return float(number)


def worlds_of(theory: Theory, open_predicates: Iterable[str] = ()) -> ChoiceWorlds:
    """The worlds of a theory with its own facts.

    Closed are declared predicates that are observed, and undeclared ones, unless named as open.
    """
    signature = check(theory)
    domains: dict[str, dict[s.Value, None]] = {
        name: dict.fromkeys((*(known.values or ()), *signature.mentioned.get(name, ())))
        for name, known in signature.types.items()
    }
    for rows in theory.facts:
        for name, column in zip(signature.predicates[rows.predicate].column_types, rows.columns, strict=True):
            domains[name].update(dict.fromkeys(column))
    predicates: Mapping[str, tuple[Sequence[str], Sequence[s.Value] | None]] = {
        p.name: (p.types, None if p.value_type is None else tuple(domains[p.value_type]))
        for p in signature.predicates.values()
    }
    ranges = {f"{p.name} value": domains[p.value_type] for p in signature.predicates.values() if p.value_type}
    known: dict[GroundAtom, object] = {}
    soft: list[tuple[GroundAtom, object, float]] = []
    excluded: list[tuple[GroundAtom, object]] = []
    evidence: list[tuple[GroundAtom, object, float]] = []
    for rows in theory.facts:
        for index in range(rows.row_count):
            row = rows.row(index)
            value: object = row[-1] if rows.valued else True
            atom = rows.predicate, row[:-1] if rows.valued else row
            chance = (
                {"true": 1.0, "false": 0.0}.get(rows.kind) if rows.kind != "soft" else rows.numbers[index]
            )
            assert chance is not None, "a weight of proofs"
            if rows.predicate in theory.derived or atom in known:
                evidence.append((atom, value, chance))
            elif chance == 1:
                known[atom] = value
            elif chance == 0 and not rows.valued:
                known[atom] = False
            elif chance == 0:
                excluded.append((atom, value))
            else:
                others = len(predicates[rows.predicate][1] or (0, 0)) - 1
                soft.append((atom, value, math.log(chance) - math.log((1 - chance) / others)))
    observed = {p.name for p in signature.predicates.values() if p.role == "observed" or not p.declared}
    closed = frozenset(observed - theory.derived.keys() - set(open_predicates))
    universe = Universe(
        {**{name: tuple(d) for name, d in domains.items()}, **{k: tuple(d) for k, d in ranges.items()}},
        predicates,
        known,
        closed,
        soft,
        excluded,
    )
    rules = [replace(rule, body=_without_anonymous(rule.body)) for rule in theory.rules]
    choices = [replace(choice, body=_without_anonymous(choice.body)) for choice in theory.choices]
    return ChoiceWorlds(universe, rules, choices, theory.formulas, evidence)


def _without_anonymous(body: Sequence[s.BodyLiteral]) -> tuple[s.BodyLiteral, ...]:
    renaming = Renaming()
    return tuple(renaming.formula(part) for part in body)  # type: ignore[misc]
