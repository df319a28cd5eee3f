"""Rules and choices lowered for grounding: slots for variables, heads, and a body in a good order.

Every statement becomes alternatives over one body; a rule has one, which holds whenever the body does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.language.formulas import ORDERS, unvalued
from herbrand.language.names import shown_constant
from herbrand.language.scope import Renaming, variable_types
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Aggregate,
    Atom,
    BodyLiteral,
    Chance,
    Choice,
    Computed,
    Constant,
    Learned,
    Not,
    Operator,
    Rule,
    Term,
    Value,
    ValueIs,
    Variable,
    leaf_terms,
)
from herbrand.language.totals import as_written, compared_totals
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
)
from herbrand.program.lower_rules import goal_clause
from herbrand.quick_values import quickly_made

Uncertain = Rule | Choice
Binding = tuple[int, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Head:
    """An atom that an alternative makes true. ``slots``: the place of each argument in a binding.

    ``chance``: its probability for a binding; ``None`` if it is certain.
    """

    predicate: str
    slots: tuple[int, ...]
    chance: Callable[[Binding], float] | None


@quickly_made
@dataclass(frozen=True, slots=True)
class Find:
    """A step that joins rows of a predicate; ``slots``: those of its arguments."""

    predicate: str
    slots: tuple[int, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Any:
    """A step that enumerates the constants of a type, for a variable that nothing else binds."""

    slot: int
    count: int


@quickly_made
@dataclass(frozen=True, slots=True)
class Check:
    """A step that tests a binding by a comparison."""

    slots: tuple[int, ...]
    holds: Callable[[Binding], bool]


@quickly_made
@dataclass(frozen=True, slots=True)
class Counted:
    """Atoms that are counted or whose amounts are added up; ``slots`` of their arguments, -1 for any."""

    predicate: str
    slots: tuple[int, ...]
    amount: Callable[[tuple[int, ...]], Fraction]
    """Amount that an atom with these arguments adds where it holds."""


@quickly_made
@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A comparison of a number with counts and sums over atoms that hold, the ``parts`` added up."""

    parts: tuple[Counted, ...]
    operator: Operator
    number: Callable[[Binding], Fraction]


Step = Find | Any | Check


@quickly_made
@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A statement over slots. ``start``: the constants, -1 for variables; ``absent``: patterns that no row
    may match (-1: any); ``columns``: name, slot and type of each variable outside ``not``; equations give two
    of them one slot."""

    number: int
    statement: Uncertain
    heads: tuple[Head, ...]
    start: Binding
    finds: tuple[Find, ...]
    checks: tuple[Check, ...]
    absent: tuple[Find, ...]
    totals: tuple[Total, ...]
    sizes: tuple[int, ...]
    """Number of constants of each slot."""
    own: frozenset[int]
    """Slots used only by absent atoms, which match any constant there."""
    columns: tuple[tuple[str, int, str], ...]
    level: int | None = None
    """Distinguishes copies of a statement with renamed heads and bodies; they share their choices."""

    @property
    def has_no_body(self) -> bool:
        """Whether it has one instance, which needs nothing."""
        return not (self.finds or self.checks or self.absent or self.totals) and -1 not in self.start

    @property
    def chosen(self) -> Iterator[tuple[str, Binding]]:
        """Patterns of the heads that a choice makes true; -1 matches any constant."""
        for head in self.heads:
            if head.chance is not None:
                yield head.predicate, tuple([self.start[slot] for slot in head.slots])

    def gives_one_value(self, predicate: str) -> bool:
        """Whether no two instances give values to one atom of a many-valued predicate: its arguments contain
        all variables."""
        heads = [head for head in self.heads if head.predicate == predicate]
        variables = {slot for slot, value in enumerate(self.start) if value < 0} - self.own
        return (
            all(variables <= set(head.slots[:-1]) for head in heads)
            and len({head.slots[:-1] for head in heads}) == 1
        )

    def steps(self, bound: Collection[int]) -> tuple[Step, ...]:
        """The body, ordered for a call that binds these slots: steps that share bound variables come before
        steps that share none, which would multiply rows."""
        known = {slot for slot, value in enumerate(self.start) if value >= 0} | set(bound)
        finds, checks = list(self.finds), list(self.checks)
        steps: list[Step] = []
        while True:
            ready = [check for check in checks if known.issuperset(check.slots)]
            steps += ready
            checks = [check for check in checks if check not in ready]
            if finds:
                best = min(finds, key=lambda find: self._freedom(find, known))
                finds.remove(best)
                steps.append(best)
                known |= set(best.slots)
                continue
            free = [s for s in range(len(self.start)) if s not in known and s not in self.own]
            if not free:
                return tuple(steps)
            steps.append(Any(free[0], self.sizes[free[0]]))
            known.add(free[0])

    def _freedom(self, find: Find, known: Collection[int]) -> tuple[bool, int, int]:
        """Sort key of a step, smaller where fewer rows are expected: no free slot first, then most slots
        bound by shared variables, then by constants."""
        bound = [slot for slot in find.slots if slot in known]
        return len(bound) < len(find.slots), -sum(self.start[slot] < 0 for slot in bound), -len(bound)


def lowered(number: int, statement: Uncertain, signature: Signature, facts: Facts) -> Lowered | None:
    """Lower a statement over slots; ``None`` where its body cannot hold."""
    heads = _stated_heads(statement)
    if not statement.body and all(map(_names_no_variable, heads)):
        return _lowered_constants(number, statement, heads, signature, facts)
    renaming = Renaming()
    heads = [(_renamed(head, renaming), chance) for head, chance in heads]
    parts = cast("tuple[BodyLiteral, ...]", tuple([renaming.formula(part) for part in statement.body]))
    body = tuple([part for part in parts if not isinstance(part, Computed)])
    types = variable_types([*(head for head, _ in heads), *body], signature)
    named = [term for one in heads for term in _terms(*one)]
    named += [term for part in body if not isinstance(part, Not) for term in leaf_terms(part)]
    variables = tuple({term.name: term for term in named if isinstance(term, Variable)}.values())
    clause = goal_clause(Rule(Atom("", variables), body), signature, facts, types, renamed=True)
    if any(isinstance(part, Never) for part in clause.body):
        return None
    types.update(clause.types)
    slots = _Slots(clause, dict(zip((v.name for v in variables), clause.head, strict=True)), facts)
    lowered_heads = tuple(
        Head(
            unvalued(head).predicate,
            slots.of_terms(leaf_terms(head), signature.predicates[unvalued(head).predicate].column_types),
            _chance(chance, slots, types, statement, facts),
        )
        for head, chance in heads
    )
    finds, checks, absent, own = _body(clause, slots, facts)
    totals = tuple([_total(p, slots, types, signature, facts) for p in parts if isinstance(p, Computed)])
    start, sizes = tuple(slots.start), slots.sizes(types)
    columns = tuple(
        (variable.name, slots.numbers[root], types[variable.name])
        for variable, root in zip(variables, clause.head, strict=True)
        if root in slots.numbers
    )
    return Lowered(
        number, statement, lowered_heads, start, finds, checks, absent, totals, sizes, own, columns
    )


def _lowered_constants(
    number: int,
    statement: Uncertain,
    heads: Sequence[tuple[Atom | ValueIs, Chance | None]],
    signature: Signature,
    facts: Facts,
) -> Lowered:
    """Lower a statement without a body and variables; each argument has a slot of its own, as there may be
    many thousands of such statements."""
    start: list[int] = []
    lowered_heads: list[Head] = []
    for head, chance in heads:
        name, first = unvalued(head).predicate, len(start)
        for term, type_name in zip(leaf_terms(head), signature.predicates[name].column_types, strict=True):
            start.append(_index(term, type_name, facts))
        slots = tuple(range(first, len(start)))
        lowered_heads.append(Head(name, slots, _fixed_chance(chance, statement)))
    return Lowered(number, statement, tuple(lowered_heads), tuple(start), (), (), (), (), (), frozenset(), ())


def _names_no_variable(stated: tuple[Atom | ValueIs, Chance | None]) -> bool:
    return Variable not in map(type, _terms(*stated))


def _terms(head: Atom | ValueIs, chance: Chance | None) -> tuple[object, ...]:
    return *leaf_terms(head), chance


def lowered_clause(number: int, clause: Clause, facts: Facts, weight: float | None) -> Lowered:
    """Lower a clause over slots. ``weight``: the probability of each of its instances, if it is not
    certain."""
    slots = _Slots(clause, {}, facts)
    chance = None if weight is None else lambda binding: weight
    heads = (Head(clause.predicate, slots.of_names(clause.head), chance),)
    finds, checks, absent, own = _body(clause, slots, facts)
    statement = clause.rule or Rule(Atom(clause.predicate, ()), ())
    start, sizes = tuple(slots.start), slots.sizes(clause.types)
    columns = tuple((name, slot, clause.types[name]) for name, slot in slots.numbers.items())
    return Lowered(number, statement, heads, start, finds, checks, absent, (), sizes, own, columns)


def stated_name(predicate: str) -> str:
    """Name under which bodies look up the facts of a predicate that rules derive as well."""
    return f"{predicate}`"


def _body(
    clause: Clause, slots: _Slots, facts: Facts
) -> tuple[tuple[Find, ...], tuple[Check, ...], tuple[Find, ...], frozenset[int]]:
    """The body's finds, checks and absent patterns, and the slots used only by absent atoms."""
    finds: list[Find] = []
    checks: list[Check] = []
    for part in clause.body:
        if isinstance(part, Lookup):
            name = stated_name(part.predicate) if part.stated else part.predicate
            finds.append(Find(name, slots.of_names(part.arguments)))
        elif not isinstance(part, Absence):
            checks.append(_check(part, slots.of_names(part.arguments), clause, facts))
    slots.of_names(clause.head)  # a variable that the head has too is no absent atom's own
    outside = len(slots.start)
    absences = [part for part in clause.body if isinstance(part, Absence)]
    absent = tuple([Find(part.predicate, slots.of_names(part.arguments)) for part in absences])
    own = frozenset([slot for slot in range(outside, len(slots.start)) if slots.start[slot] < 0])
    return tuple(finds), tuple(checks), absent, own


class _Slots:
    """Numbers of variables and constants in the order they are met; ``start``: the constants' indices, -1 for
    variables."""

    def __init__(self, clause: Clause, roots: Mapping[str, str], facts: Facts) -> None:
        self._clause, self._roots, self._facts = clause, roots, facts
        self.numbers: dict[str, int] = {}
        self.start: list[int] = []

    def of_names(self, names: Sequence[str]) -> tuple[int, ...]:
        """Slots of a clause's names; constants have names too."""
        known = self._clause.constants
        return tuple([self._number(name, known.get(name, -1)) for name in names])

    def of_terms(self, terms: Sequence[Term], types: Sequence[str]) -> tuple[int, ...]:
        """Slots of a head's terms, given the types of its arguments."""
        return tuple([self._of_term(term, name) for term, name in zip(terms, types, strict=True)])

    def sizes(self, types: Mapping[str, str]) -> tuple[int, ...]:
        """Number of constants of each slot."""
        kinds = map(types.get, self.numbers)
        return tuple([len(self._facts.domains[kind]) if kind else 1 for kind in kinds])

    def of_variable(self, variable: Variable) -> int:
        (slot,) = self.of_names([self._roots[variable.name]])
        return slot

    def _of_term(self, term: Term, type_name: str) -> int:
        if isinstance(term, Variable):
            return self.of_variable(term)
        return self._number(constant_name(term, type_name), _index(term, type_name, self._facts))

    def _number(self, name: str, constant: int) -> int:
        if name not in self.numbers:
            self.numbers[name] = len(self.start)
            self.start.append(constant)
        return self.numbers[name]


def _index(term: Term, type_name: str, facts: Facts) -> int:
    """Index of a statement's constant in its domain."""
    assert isinstance(term, Constant)
    index = facts.domains[type_name].index_of(term.value)
    assert index is not None, "constants of statements are in their domains"
    return index


def _stated_heads(statement: Uncertain) -> list[tuple[Atom | ValueIs, Chance | None]]:
    if isinstance(statement, Rule):
        return [(statement.head, None)]
    return [(alternative.head, alternative.probability) for alternative in statement.alternatives]


def _renamed(head: Atom | ValueIs, renaming: Renaming) -> Atom | ValueIs:
    return cast(Atom | ValueIs, renaming.formula(head))


def _chance(
    chance: Chance | None, slots: _Slots, types: Mapping[str, str], statement: Uncertain, facts: Facts
) -> Callable[[Binding], float] | None:
    """The probability of a head as a function of the binding; ``None`` for a rule."""
    if not isinstance(chance, Variable):
        return _fixed_chance(chance, statement)
    slot, type_name = slots.of_variable(chance), types[chance.name]
    domain = facts.domains[type_name]

    def at(binding: Binding) -> float:
        value = domain.value(binding[slot])
        if isinstance(value, str) or not 0 <= value <= 1:
            shown = shown_constant(value)
            raise UnsupportedError(
                f"{chance.name} is {shown} in an instance of this statement, which is no probability",
                span=statement.span,
                hint=f"if they are numbers, declare `type {type_name} = number`"
                if isinstance(value, str)
                else "expected numbers from 0 to 1",
            )
        return float(value)

    return at


def _fixed_chance(chance: Chance | None, statement: Uncertain) -> Callable[[Binding], float] | None:
    """The same for a probability that no variable gives."""
    if chance is None:
        return None
    if isinstance(chance, Learned):
        raise UnsupportedError(
            "a probability that is to be learned has no value yet",
            span=statement.span,
            hint="learn the theory first, or put a number in its place",
        )
    assert not isinstance(chance, Variable)
    number = float(chance)
    return lambda binding: number


def _total(
    part: Computed, slots: _Slots, types: Mapping[str, str], signature: Signature, facts: Facts
) -> Total:
    """Lower a comparison of counts and sums, each over one atom, the only form that lowered rules have."""
    totals = compared_totals(part, types)
    assert totals is not None, "rules compare totals with a number or a variable that their head has"
    parts = tuple(_counted(times, one, slots, signature, facts) for times, one in totals.totals)
    number = totals.number
    if isinstance(number, Constant):
        value = _number(number.value, part)
        return Total(parts, totals.operator, lambda binding: value)
    slot, domain = slots.of_variable(number), facts.domains[types[number.name]]
    return Total(parts, totals.operator, lambda binding: _number(domain.value(binding[slot]), part))


def _counted(times: float, one: Aggregate, slots: _Slots, signature: Signature, facts: Facts) -> Counted:
    atom = one.body[0]
    assert isinstance(atom, Atom), "rules count atoms"
    types = signature.predicates[atom.predicate].types
    free = one.terms[one.function == "sum" :]
    columns = zip(atom.arguments, types, strict=True)
    places = tuple(-1 if term in free else slots.of_terms([term], [kind])[0] for term, kind in columns)
    first = one.terms[0] if one.function == "sum" else Constant(1)
    factor = as_written(times)
    if isinstance(first, Constant):
        value = factor * _number(first.value, one)
        return Counted(atom.predicate, places, lambda row: value)
    assert isinstance(first, Variable), "what is computed has a variable"
    place = atom.arguments.index(first)
    domain = facts.domains[types[place]]
    return Counted(atom.predicate, places, lambda row: factor * _number(domain.value(row[place]), one))


def _number(value: Value, part: Computed | Aggregate) -> Fraction:
    if isinstance(value, str):
        what = "a total is compared with" if isinstance(part, Computed) else "a sum adds up"
        raise UnsupportedError(f"{what} {shown_constant(value)}, which is text", span=part.span)
    return as_written(value)


def _check(part: Literal, slots: tuple[int, ...], clause: Clause, facts: Facts) -> Check:
    match part:
        case Never():
            return Check(slots, lambda binding: False)
        case OneOf(allowed=allowed):
            among = frozenset(allowed)
            return Check(slots, lambda binding: binding[slots[0]] in among)
        case Measured(variable=name, operator=sign, number=number):
            domain, order = facts.domains[clause.types[name]], ORDERS[sign]
            return Check(slots, lambda binding: bool(order(domain.value(binding[slots[0]]), number)))
        case Compared(operator="!="):
            return Check(slots, lambda binding: binding[slots[0]] != binding[slots[1]])
        case Compared(operator=sign, left=left):
            domain, order = facts.domains[clause.types[left]], ORDERS[sign]
            return Check(
                slots,
                lambda binding: order(domain.value(binding[slots[0]]), domain.value(binding[slots[1]])),
            )
    raise AssertionError(part)
