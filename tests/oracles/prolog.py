"""What Prolog answers to a program without arithmetic: goals from left to right, a table for each call.

Clauses are ``(head, body)``; an atom or a test is a tuple of a name and its terms. A term that is a text
with a capital first letter is a variable. Tests: ``=`` gives values, ``==`` and ``\\==`` compare what the
variables are by then, ``\\=`` asks whether they could not be made equal. ``("\\+", name, terms...)`` holds
where a goal has no answer; that goal rests on nothing that negates it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, product

Term = str
Goal = tuple[Term, ...]
Clause = tuple[Goal, Sequence[Goal]]
Values = dict[Term, Term]
TESTS = ("=", "==", "\\==", "\\=")


def is_variable(term: Term) -> bool:
    return term[:1].isupper() or term[:1] == "_"


def walked(term: Term, values: Values) -> Term:
    while is_variable(term) and term in values:
        term = values[term]
    return term


def unified(left: Sequence[Term], right: Sequence[Term], values: Values) -> Values | None:
    values = dict(values)
    for one, other in zip(left, right, strict=True):
        a, b = walked(one, values), walked(other, values)
        if a == b:
            continue
        if is_variable(a):
            values[a] = b
        elif is_variable(b):
            values[b] = a
        else:
            return None
    return values


def renamed(goal: Goal) -> Goal:
    """A call or an answer with its variables numbered as they come."""
    names: dict[Term, Term] = {}
    return (goal[0], *(names.setdefault(t, f"_{len(names)}") if is_variable(t) else t for t in goal[1:]))


class Tables:
    """The answers of each call so far."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        self.answers: dict[Goal, set[Goal]] = {}
        self.fresh = count()

    def of(self, goal: Goal) -> set[Goal]:
        """The answers to a goal, once no call has another one."""
        self.answers.setdefault(renamed(goal), set())
        while True:
            before = sum(map(len, self.answers.values())), len(self.answers)
            for call in list(self.answers):
                self.answers[call] |= set(self.once(call))
            if before == (sum(map(len, self.answers.values())), len(self.answers)):
                return self.answers[renamed(goal)]

    def once(self, call: Goal) -> Iterator[Goal]:
        for clause in self.clauses:
            if clause[0][0] == call[0] and len(clause[0]) == len(call):
                head, body = self.apart(clause)
                values = unified(head[1:], call[1:], {})
                for found in () if values is None else self.solved(body, values):
                    yield renamed((call[0], *(walked(term, found) for term in call[1:])))

    def apart(self, clause: Clause) -> Clause:
        number = next(self.fresh)
        head, *body = (
            (goal[0], *(f"{t}.{number}" if is_variable(t) else t for t in goal[1:]))
            for goal in (clause[0], *clause[1])
        )
        return head, body

    def solved(self, body: Sequence[Goal], values: Values) -> Iterator[Values]:
        if not body:
            yield values
            return
        for found in self.goal(body[0], values):
            yield from self.solved(body[1:], found)

    def goal(self, goal: Goal, values: Values) -> Iterator[Values]:
        name, *terms = (goal[0], *(walked(term, values) for term in goal[1:]))
        if name in TESTS:
            together = unified(terms[:1], terms[1:], values)
            same = terms[0] == terms[1]
            if name == "=":
                yield from () if together is None else (together,)
            elif {"==": same, "\\==": not same, "\\=": together is None}[name]:
                yield values
            return
        if name == "\\+":
            if not Tables(self.clauses).of(tuple(terms)):
                yield values
            return
        call = renamed((name, *terms))
        for answer in set(self.answers.setdefault(call, set())):
            ((_, *given), _) = self.apart((answer, ()))
            found = unified(terms, given, values)
            if found is not None:
                yield found


def chance(facts: Sequence[tuple[float, Goal]], clauses: Sequence[Clause], goal: Goal) -> dict[Goal, float]:
    """The probability of each answer, each fact a choice of its own."""
    found: dict[Goal, float] = {}
    for taken in product([True, False], repeat=len(facts)):
        weight = 1.0
        for (probability, _), holds in zip(facts, taken, strict=True):
            weight *= probability if holds else 1 - probability
        world: list[Clause] = [(fact, ()) for (_, fact), holds in zip(facts, taken, strict=True) if holds]
        for answer in Tables([*world, *clauses]).of(goal):
            found[answer] = found.get(answer, 0.0) + weight
    return found
