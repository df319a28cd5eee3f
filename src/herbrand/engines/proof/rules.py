"""Horn rules over known facts, ready to be planned: one variable for each constant, no equation left.

Takes a checked theory's rules; gives a :class:`HornProgram`. ``x = y`` becomes one variable, a constant
becomes a variable with a known index, a many-valued atom a relation with one more column.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"')
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> program = HornProgram.of(theory.rules, *load_facts((), check(theory), facts))
>>> print(program.clauses["uncle"][0])
uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.proof.clauses import (
    MIRRORED,
    OPPOSITES,
    ORDERS,
    Absence,
    Clause,
    Compared,
    Literal,
    Lookup,
    Measured,
    Never,
    OneOf,
)
from herbrand.engines.proof.relation import Relation
from herbrand.engines.proof.strata import check_strata
from herbrand.errors import LanguageError
from herbrand.facts.facts import Facts
from herbrand.language.names import shown_constant
from herbrand.language.scope import Renaming, variable_types
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Learned,
    Not,
    Rule,
    Term,
    Truth,
    ValueIn,
    ValueIs,
    Variable,
)


@dataclass(frozen=True, eq=False)
class HornProgram:
    """Clauses by the predicate they derive, and the facts; relations are made when first needed, and kept."""

    signature: Signature
    facts: Facts
    clauses: Mapping[str, tuple[Clause, ...]]
    rules: tuple[Rule, ...] = ()
    weighted: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, rules: Sequence[Rule], signature: Signature, facts: Facts) -> HornProgram:
        """Raises ``LanguageError`` where a predicate depends on its own negation, or texts are ordered."""
        check_strata(rules)
        weighted: list[Rule] = []
        clauses: dict[str, list[Clause]] = {}
        for rule in rules:
            known = clauses.setdefault(rule.head.predicate, [])
            place = None if rule.weight is None else len(weighted)
            if rule.weight is not None:
                weighted.append(rule)
            clause = _Reading(rule, signature, facts).clause()
            if clause is not None:
                known.append(replace(clause, weight=place, rule=rule))
        for name, known in clauses.items():
            if len(facts.tables[name].true) or len(facts.tables[name].soft):
                known.insert(0, stated_clause(name, signature))
        return cls(
            signature,
            facts,
            {name: tuple(known) for name, known in clauses.items()},
            tuple(rules),
            tuple(weighted),
        )

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many constants each type has."""
        return {name: len(domain) for name, domain in self.facts.domains.items()}

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """The constants of ordered types, filled when a comparison first needs them."""
        return {}

    def values(self, type_name: str) -> np.ndarray:
        """The constants of a type as an array that can be compared."""
        if type_name not in self.numbers:
            self.numbers[type_name] = self.facts.domains[type_name].values.to_numpy(zero_copy_only=False)
        return self.numbers[type_name]

    def is_derived(self, predicate: str) -> bool:
        return predicate in self.clauses

    def reached(self, clauses: Iterable[Clause]) -> set[str]:
        """The predicates that clauses rest on, through ``not`` too."""
        waiting, found = list(clauses), set[str]()
        while waiting:
            for name in waiting.pop().predicates() - found:
                found.add(name)
                waiting += self.clauses.get(name, ())
        return found

    def absences(self, clauses: Sequence[Clause]) -> Iterator[tuple[Clause, str]]:
        """What stands behind ``not`` in clauses and all they rest on, each with its clause."""
        reached = [clause for name in self.reached(clauses) for clause in self.clauses.get(name, ())]
        for clause in (*clauses, *reached):
            for part in clause.body:
                if isinstance(part, Absence):
                    yield clause, part.predicate

    def column_types(self, predicate: str) -> tuple[str, ...]:
        return self.signature.predicates[predicate].column_types

    def relation(self, predicate: str) -> Relation:
        """The stated facts of a predicate."""
        if predicate not in self._relations:
            sizes = tuple(self.sizes[name] for name in self.column_types(predicate))
            self._relations[predicate] = Relation.of(self.facts.tables[predicate], sizes)
        return self._relations[predicate]

    def all_positive(self, but: Collection[str] = (), rules: bool = True) -> bool:
        """Whether every weight is above 0: of the facts of all predicates but some, and of the ``rules``."""
        numbers = [rule.weight for rule in self.weighted if rules and not isinstance(rule.weight, Learned)]
        tables = [table for name, table in self.facts.tables.items() if name not in but]
        return all(number is None or number > 0 for number in numbers) and all(
            table.weights is None or not len(table.weights) or table.weights.min() > 0 for table in tables
        )


def body_of(rule: Rule, signature: Signature, facts: Facts) -> Clause:
    """A goal's rule as a clause. Its head derives nothing that the vocabulary knows; a body that cannot hold
    has a literal that says so."""
    return _Reading(rule, signature, facts).goal()


def stated_clause(predicate: str, signature: Signature) -> Clause:
    """What is stated of a predicate that rules derive too."""
    types = signature.predicates[predicate].column_types
    names = tuple(f"x{i}" for i in range(len(types)))
    return Clause(predicate, names, (Lookup(predicate, names, True),), dict(zip(names, types, strict=True)))


class _Reading:
    """One rule on its way to a clause: constants get names, equations merge them."""

    def __init__(self, rule: Rule, signature: Signature, facts: Facts) -> None:
        renaming = Renaming()
        self._rule, self._signature, self._facts = rule, signature, facts
        self._head = renaming.atom(rule.head)
        self._body = [renaming.formula(part) for part in rule.body]
        known = self._head.predicate in signature.predicates
        self._types = variable_types([self._head, *self._body] if known else self._body, signature)
        self._constants: dict[str, int] = {}
        self._same: dict[str, str] = {}
        self._possible = True

    def clause(self) -> Clause | None:
        """``None`` where the body cannot hold."""
        head = self._atom(self._head)
        parts = [part for literal in self._body for part in self._literals(literal)]  # type: ignore[arg-type]
        if not self._possible:
            return None
        body = tuple(self._rooted(part) for part in parts)
        return Clause(
            head.predicate, tuple(map(self._root, head.arguments)), body, self._types, self._constants
        )

    def goal(self) -> Clause:
        """The clause, with :class:`Never` in a body that cannot hold."""
        head = tuple(term.name for term in self._head.arguments if isinstance(term, Variable))
        parts = [p for part in self._body for p in self._literals(part)]  # type: ignore[arg-type]
        body = [self._rooted(part) for part in parts]
        if not self._possible:
            body.append(Never())
        names = tuple(map(self._root, head))
        return Clause(self._head.predicate, names, tuple(body), self._types, self._constants)

    def _rooted(self, part: Literal) -> Literal:
        """The literal over the variables that equations have left."""
        match part:
            case OneOf() | Measured():
                return replace(part, variable=self._root(part.variable))
            case Compared():
                return replace(part, left=self._root(part.left), right=self._root(part.right))
            case Lookup() | Absence():
                return replace(part, arguments=tuple(map(self._root, part.arguments)))
        return part

    def _literals(self, literal: BodyLiteral) -> list[Literal]:
        match literal:
            case Truth(value=value):
                self._possible &= value
                return []
            case Atom():
                return [self._atom(literal)]
            case ValueIs(atom=atom, value=value):
                return [self._valued(atom, value)]
            case ValueIn(atom=atom, values=values):
                name = f"{atom.predicate}`value{len(self._types)}"
                self._types[name] = self._signature.predicates[atom.predicate].column_types[-1]
                allowed = tuple(self._index(value, self._types[name]) for value in values)
                return [self._valued(atom, Variable(name)), OneOf(name, allowed)]
            case Comparison():
                return self._comparison(literal.operator, literal)
            case Not(operand=Comparison() as inner):
                return self._comparison(OPPOSITES[inner.operator], inner)
            case Not(operand=Truth(value=value)):
                self._possible &= not value
                return []
            case Not(operand=Atom() as inner):
                found = self._atom(inner)
                return [Absence(found.predicate, found.arguments)]
            case Not(operand=ValueIs(atom=atom, value=value)):
                found = self._valued(atom, value)
                return [Absence(found.predicate, found.arguments)]
            case Not(operand=ValueIn(atom=atom, values=values)):
                found = [self._valued(atom, value) for value in values]
                return [Absence(part.predicate, part.arguments) for part in found]
        raise LanguageError("a rule's body holds atoms, negated atoms and comparisons", span=self._rule.span)

    def _atom(self, atom: Atom) -> Lookup:
        types = self._signature.predicates[atom.predicate].types
        return Lookup(atom.predicate, tuple(map(self._name, atom.arguments, types)))

    def _valued(self, atom: Atom, value: Term) -> Lookup:
        types = self._signature.predicates[atom.predicate].column_types
        return Lookup(atom.predicate, tuple(map(self._name, (*atom.arguments, value), types)))

    def _name(self, term: Term, type_name: str) -> str:
        if isinstance(term, Variable):
            return term.name
        name = f"{shown_constant(term.value)}`{type_name}"
        self._types[name] = type_name
        self._constants[name] = self._index(term, type_name)
        return name

    def _index(self, constant: Constant, type_name: str) -> int:
        index = self._facts.domains[type_name].index_of(constant.value)
        assert index is not None, "constants of rules are in their domains"
        return index

    def _comparison(self, sign: str, part: Comparison) -> list[Literal]:
        sides = (part.left, part.right)
        if all(isinstance(side, Constant) for side in sides):
            left, right = (side.value for side in sides if isinstance(side, Constant))
            if isinstance(left, str) != isinstance(right, str):
                self._possible &= sign == "!="
            else:
                self._possible &= bool(ORDERS[sign](left, right))
            return []
        type_name = next(self._types[side.name] for side in sides if isinstance(side, Variable))
        domain = self._facts.domains[type_name]
        if sign not in ("=", "!="):
            return [self._ordered(sign, part, type_name)]
        for side in sides:
            if isinstance(side, Constant) and domain.index_of(side.value) is None:
                self._possible &= sign == "!="
                return []
        left, right = (self._name(side, type_name) for side in sides)
        if sign == "!=":
            return [Compared(sign, left, right)]
        self._merge(left, right)
        return []

    def _ordered(self, sign: str, part: Comparison, type_name: str) -> Literal:
        domain = self._facts.domains[type_name]
        texts = [s for s in (part.left, part.right) if isinstance(s, Constant) and isinstance(s.value, str)]
        if texts or (len(domain) and domain.kind == "text"):
            raise LanguageError(
                f"{sign} compares numbers, and {type_name} holds text",
                span=part.span,
                hint=f"declare the type of numbers: type {type_name} = number",
            )
        match part.left, part.right:
            case Variable(name=name), Constant(value=number):
                return Measured(name, sign, float(number))
            case Constant(value=number), Variable(name=name):
                return Measured(name, MIRRORED[sign], float(number))
            case Variable(name=left), Variable(name=right):
                return Compared(sign, left, right)
        raise AssertionError(part)

    def _merge(self, left: str, right: str) -> None:
        left, right = self._root(left), self._root(right)
        if left == right:
            return
        if left in self._constants and right in self._constants:
            self._possible &= self._constants[left] == self._constants[right]
        elif left in self._constants:
            self._same[right] = left
        else:
            self._same[left] = right

    def _root(self, name: str) -> str:
        while name in self._same:
            name = self._same[name]
        return name
