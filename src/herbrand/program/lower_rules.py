"""Lower rules to clauses: a variable for each constant, equations eliminated.

``x = y`` merges two variables, a constant becomes a variable with a known index, a many-valued atom a
relation with one more column, ``not`` an absence. Every evaluation of rules starts from these clauses.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"')
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> print(rule_clause(theory.rules[0], *load_facts((), check(theory), facts)))
uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from herbrand.errors import LanguageError
from herbrand.facts.domain import absence
from herbrand.facts.facts import Facts
from herbrand.graphs import Classes
from herbrand.language.formulas import (
    OPPOSITES,
    ORDERS,
    Atom,
    Comparison,
    Constant,
    Formula,
    Not,
    Term,
    Truth,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    leaf_terms,
    unvalued,
)
from herbrand.language.names import wrong_moment
from herbrand.language.scope import Renaming, variable_types
from herbrand.language.signature import Signature
from herbrand.language.syntax import BodyLiteral, Rule
from herbrand.language.totals import MIRRORED
from herbrand.program.clauses import (
    Absence,
    Clause,
    Compared,
    Literal,
    Lookup,
    Measured,
    Never,
    OneOf,
    constant_name,
    renamed,
)

NO_TYPES: Mapping[str, str] = {}


def rule_clause(rule: Rule, signature: Signature, facts: Facts) -> Clause | None:
    """Clause of a theory's rule, with its weight's index not set; ``None`` if its body cannot hold."""
    return _Lowering(rule, signature, facts).clause()


def goal_clause(
    rule: Rule, signature: Signature, facts: Facts, types: Mapping[str, str] = NO_TYPES, renamed: bool = False
) -> Clause:
    """Clause of a goal's rule. Its head need not be a predicate of the signature; a body that cannot hold
    gets the literal :class:`Never`. ``types``: types of variables that no atom of the body gives; of all
    variables if they are already renamed apart (``renamed``)."""
    return _Lowering(rule, signature, facts, types, renamed).goal()


def stated_clause(predicate: str, signature: Signature) -> Clause:
    """Clause that derives a predicate from its facts, for predicates that rules derive too."""
    types = signature.predicates[predicate].column_types
    names = tuple(f"x{i}" for i in range(len(types)))
    return Clause(predicate, names, (Lookup(predicate, names, True),), dict(zip(names, types, strict=True)))


class _Lowering:
    """Lowers one rule to a clause: constants get names, equations merge them."""

    def __init__(
        self,
        rule: Rule,
        signature: Signature,
        facts: Facts,
        types: Mapping[str, str] = NO_TYPES,
        renamed: bool = False,
    ) -> None:
        self._rule, self._signature, self._facts = rule, signature, facts
        self._head, self._body, self._types = rule.head, list[Formula](rule.body), dict(types)
        if not renamed:
            renaming = Renaming()
            self._head = renaming.atom(rule.head)
            self._body = [renaming.formula(part) for part in rule.body]
            known = self._head.predicate in signature.predicates
            self._types |= variable_types([self._head, *self._body] if known else self._body, signature)
        self._constants: dict[str, int] = {}
        self._same: Classes[str] = Classes()
        self._possible, self._equated = True, set[str]()

    def clause(self) -> Clause | None:
        """The clause; ``None`` if the body cannot hold."""
        clause = self._clause(self._lookup(self._head).arguments, self._rule)
        return clause if self._possible else None

    def goal(self) -> Clause:
        """The clause, with :class:`Never` in a body that cannot hold."""
        clause = self._clause([t.name for t in self._head.arguments if isinstance(t, Variable)])
        return clause if self._possible else replace(clause, body=(*clause.body, Never()))

    def _clause(self, head: Iterable[str], rule: Rule | None = None) -> Clause:
        """Head and body with merged variables replaced by their representative."""
        body = [part for literal in self._body for part in self._literals(literal)]  # type: ignore[arg-type]
        names = tuple(map(self._same.leader, head))
        if self._equated:
            body = [renamed(part, self._same.leader) for part in body]
            body += self._kept_apart(names, body)
        return Clause(self._head.predicate, names, tuple(body), self._types, self._constants, rule=rule)

    def _kept_apart(self, head: Iterable[str], body: Iterable[Literal]) -> list[Literal]:
        """A test for each variable of an equation that only absences have besides. It is not theirs alone, so
        that it ranges over its type, while a variable that stands in an absence alone is any there."""
        known = {*head, *self._constants}
        absent: dict[str, None] = {}
        for part in body:
            if isinstance(part, Absence):
                absent |= dict.fromkeys(part.arguments)
            else:
                known.update(part.arguments)
        alone = (name for name in absent if name not in known)
        equated = set(map(self._same.leader, self._equated))
        return [Compared("=", name, name) for name in alone if name in equated]

    def _literals(self, literal: BodyLiteral) -> list[Literal]:
        match literal:
            case Truth(value=value):
                self._possible &= value
                return []
            case Atom() | ValueIs():
                return [self._lookup(literal)]
            case ValueIn(atom=atom, values=values):
                name = f"{atom.predicate}`value{len(self._types)}"
                self._types[name] = self._signature.predicates[atom.predicate].column_types[-1]
                allowed = tuple(self._index(value, self._types[name]) for value in values)
                return [self._lookup(ValueIs(atom, Variable(name))), OneOf(name, allowed)]
            case Comparison():
                return self._comparison(literal.operator, literal)
            case Not(operand=Comparison() as inner):
                return self._comparison(OPPOSITES[inner.operator], inner)
            case Not(operand=Truth(value=value)):
                self._possible &= not value
                return []
            case Not(operand=Atom() | ValueIs() as inner):
                return [self._absence(inner)]
            case Not(operand=ValueIn(atom=atom, values=values)):
                return [self._absence(ValueIs(atom, value)) for value in values]
        raise LanguageError("a rule's body holds atoms, negated atoms and comparisons", span=self._rule.span)

    def _lookup(self, leaf: Atom | ValueIs) -> Lookup:
        """Lookup of an atom's row; the value of a many-valued atom is one more argument."""
        predicate = unvalued(leaf).predicate
        types = self._signature.predicates[predicate].column_types
        return Lookup(predicate, tuple(map(self._name, leaf_terms(leaf), types)))

    def _absence(self, leaf: Atom | ValueIs) -> Absence:
        atom = self._lookup(leaf)
        return Absence(atom.predicate, atom.arguments)

    def _name(self, term: Term, type_name: str) -> str:
        if isinstance(term, Variable):
            return term.name
        name = constant_name(term, type_name)
        self._types[name] = type_name
        self._constants[name] = self._index(term, type_name)
        return name

    def _index(self, constant: Constant, type_name: str) -> int:
        domain = self._facts.domains[type_name]
        index = domain.index_of(constant.value)
        if index is None:  # a question named it: constants of a theory's rules are in their domains
            raise LanguageError([absence(constant.value, domain, constant.span)])
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
        name = next(side.name for side in sides if isinstance(side, Variable))
        type_name = self._types.get(name)
        if type_name is None:
            raise LanguageError(
                f"{name} stands in no atom, so it has no type",
                span=part.span,
                hint="write its value where the variable stands",
            )
        domain = self._facts.domains[type_name]
        self._refuse_no_moment(sides, type_name)
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

    def _refuse_no_moment(self, sides: Iterable[Term], type_name: str) -> None:
        """Raise LanguageError if a variable of a date or time type is compared with something else."""
        known = self._signature.types.get(type_name)
        calendar = None if known is None else known.calendar
        for side in sides:
            if calendar and isinstance(side, Constant) and (wrong := wrong_moment(calendar, side.value)):
                raise LanguageError(wrong[0], span=side.span, hint=wrong[1])

    def _ordered(self, sign: str, part: Comparison, type_name: str) -> Literal:
        domain = self._facts.domains[type_name]
        constants = [side for side in (part.left, part.right) if isinstance(side, Constant)]
        texts = [side for side in constants if isinstance(side.value, str)]
        if texts or (constants and len(domain) and domain.kind == "text"):
            raise LanguageError(
                f"{sign} compares numbers, and {type_name} holds text",
                span=part.span,
                hint=f"declare the type of numbers: type {type_name} = number",
            )
        match part.left, part.right:
            case Variable(name=name), Constant(value=number):
                return Measured(name, sign, _limit(number))
            case Constant(value=number), Variable(name=name):
                return Measured(name, MIRRORED[sign], _limit(number))
            case Variable(name=left), Variable(name=right):
                return Compared(sign, left, right)
        raise AssertionError(part)

    def _merge(self, left: str, right: str) -> None:
        self._equated |= {left, right}
        left, right = self._same.leader(left), self._same.leader(right)
        if left == right:
            return
        if left in self._constants and right in self._constants:
            self._possible &= self._constants[left] == self._constants[right]
        elif left in self._constants:
            self._same.join(right, left)
        else:
            self._same.join(left, right)


def _limit(number: Value) -> int | float:
    """The number to compare with: an ``int`` if floats may round it, else a ``float``."""
    assert not isinstance(number, str), "text is compared apart"
    return number if isinstance(number, int) and abs(number) >= 2**53 else float(number)
