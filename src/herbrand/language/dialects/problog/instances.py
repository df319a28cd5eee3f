"""What a query, or evidence, with a body stands for: its instances where the body holds of facts of the file.

>>> from herbrand.language.formulas import Atom, Constant, Variable
>>> from herbrand.language.dialects.problog.goals import PrologClause
>>> facts = [PrologClause((Atom("node", (Constant(name),)),), ()) for name in "ab"]
>>> x = Variable("X")
>>> [str(each.arguments[0].value) for each in instances(Atom("reached", (x,)), (Atom("node", (x,)),), facts)]
['a', 'b']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from herbrand.errors import LanguageError
from herbrand.language.dialects.problog.goals import Body, PrologClause
from herbrand.language.formulas import Atom, Comparison, Constant, Not, Term, Truth, Variable, compares
from herbrand.language.show import show_formula

Values = Mapping[str, Term]


def instances(atom: Atom, body: Body, clauses: Sequence[PrologClause]) -> Iterator[Atom]:
    """The atoms that are asked for, or observed, in the order of the facts: one for each way in which the
    body holds where every choice is made."""
    body = tuple(part for part in body if part != Truth(True))
    if not body:
        yield atom
    if not body or Truth(False) in body:
        return
    atoms = [part for part in body if isinstance(part, Atom)]
    tests = [part for part in body if isinstance(part, Comparison)]
    absent = [part.operand for part in body if isinstance(part, Not) and isinstance(part.operand, Atom)]
    derived = {head.predicate for clause in clauses if not clause.is_fact for head in clause.heads}
    made = _holding({part.predicate for part in atoms} & derived, clauses)
    known = len(atoms) + len(tests) + len(absent) == len(body)
    if made is None or not known or any(part.predicate in derived for part in absent):
        raise LanguageError(
            "the body of a query, or of evidence, names facts, negates facts alone, and compares constants",
            span=atom.span,
            hint="name each instance without a body, as in query(p(a)). query(p(b)).",
        )
    facts = dict.fromkeys([*(clause.heads[0] for clause in clauses if clause.is_fact), *made])
    found: list[Values] = [dict(pair for test in tests for pair in _given(test))]
    for part in atoms:
        own = [fact for fact in facts if fact.predicate == part.predicate]
        found = [more for values in found for fact in own if (more := _bound(part, fact, values)) is not None]
    for values in found:
        if all(_passes(test, values) for test in tests) and not any(
            _bound(part, fact, values) is not None
            for part in absent
            for fact in facts
            if fact.predicate == part.predicate
        ):
            yield replace(atom, arguments=tuple(_value(term, values) for term in atom.arguments))


def possible(atom: Atom, clauses: Sequence[PrologClause]) -> Iterator[Atom]:
    """The instances of an atom that clauses can make true: those that hold where every choice is made."""
    holding = _holding({atom.predicate}, clauses)
    if holding is None:
        hint = "its clauses negate or compute, or hold of anything; name each instance: evidence(a(1), true)."
        raise LanguageError("evidence is a ground atom", span=atom.span, hint=hint)
    yield from instances(atom, (atom,), [PrologClause((each,), ()) for each in holding])


def _holding(named: Collection[str], clauses: Sequence[PrologClause]) -> Collection[Atom] | None:
    """All that predicates, and those they rest on, have where every choice is made; ``None`` if a clause
    negates or computes, or leaves an argument to anything."""
    named, used = set(named), list[PrologClause]()
    while len(found := [each for each in clauses if any(h.predicate in named for h in each.heads)]) > len(
        used
    ):
        used = found
        named |= {part.predicate for clause in used for part in clause.body if isinstance(part, Atom)}
    if any(not isinstance(part, Atom | Comparison | Truth) for clause in used for part in clause.body):
        return None
    holding: dict[Atom, None] = {}
    before = -1
    while len(holding) > before:
        before, facts = len(holding), [PrologClause((each,), ()) for each in holding]
        for clause in used:
            for head in clause.heads:
                holding |= dict.fromkeys(instances(head, clause.body, facts))
    return None if any(isinstance(term, Variable) for each in holding for term in each.arguments) else holding


def _given(test: Comparison) -> Iterator[tuple[str, Term]]:
    """The variable that a test gives a constant."""
    if test.operator == "=" and isinstance(test.left, Variable) and isinstance(test.right, Constant):
        yield test.left.name, test.right


def _bound(pattern: Atom, fact: Atom, values: Values) -> Values | None:
    """The values with those that a fact gives, one for all constants none; ``None`` where it does not fit."""
    if len(pattern.arguments) != len(fact.arguments):
        return None
    found = dict(values)
    for term, value in zip(pattern.arguments, fact.arguments, strict=True):
        if not isinstance(value, Constant):
            continue
        known = found.setdefault(term.name, value) if isinstance(term, Variable) else term
        if known != value:
            return None
    return found


def _value(term: Term, values: Values) -> Term:
    return values.get(term.name, term) if isinstance(term, Variable) else term


def _passes(test: Comparison, values: Values) -> bool:
    """Whether constants compare so."""
    left, right = _value(test.left, values), _value(test.right, values)
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        raise LanguageError(f"{show_formula(test)} has no values to compare", span=test.span)
    return compares(test.operator, left.value, right.value)
