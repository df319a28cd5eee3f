"""Instances of a query or of evidence, for which its body or its clauses can hold.

Goals are tried as in Prolog, from left to right, with a table of answers for each call. A choice may be made
or not, so an answer is one in some world, and a negated goal fails only if its atom holds in all worlds.

>>> from herbrand.language.dialects.problog.goals import PrologClause
>>> facts = [PrologClause((Atom("node", (Constant(name),)),), ()) for name in "ab"]
>>> x = Variable("X")
>>> found = Solutions(facts, {}).instances(Atom("reached", (x,)), (Atom("node", (x,)),))
>>> [str(each.arguments[0].value) for each in found]
['a', 'b']
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count

from herbrand.errors import LanguageError, Span
from herbrand.language.comparisons import assigned, variables_of
from herbrand.language.dialects.problog.counting import counts_on
from herbrand.language.dialects.problog.early import holds_without, passes
from herbrand.language.dialects.problog.goals import Body, PrologClause, no_value_yet, value_of, walked
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Computed,
    Constant,
    Not,
    Term,
    Truth,
    Variable,
    compares,
)

Values = Mapping[str, Term]
MOST_NUMBERS = 100_000
"""Most numbers that are computed for one query; an endless recursion gets there within seconds."""


@dataclass(frozen=True)
class _Goal:
    """A clause under evaluation: its next goal is at ``place`` of ``body``, with ``values`` of its variables.

    ``call``: the call that it answers. ``counts``: its goal that makes the next answer to that call from an
    answer to it, whatever that is.
    """

    call: Atom
    head: Atom
    body: Body
    place: int
    values: Values
    counts: Computed | None = None


@dataclass
class _Table:
    """Answers to a call so far, and the goals that continue with each of them."""

    answers: dict[Atom, None] = field(default_factory=dict)
    waiting: list[_Goal] = field(default_factory=list)


class Solutions:
    """Evaluation of a program's goals. ``tests``: names of comparisons that give no variable a value.
    ``most``: most numbers that are computed for one query."""

    def __init__(
        self, clauses: Sequence[PrologClause], tests: Mapping[Span, str], most: int | None = None
    ) -> None:
        self._program, self.tests = clauses, tests
        self.computed, self.most = 0, MOST_NUMBERS if most is None else most
        self._listed = dict[tuple[str, int], dict[Term | None, list[tuple[Atom, PrologClause]]]]()
        self._known: dict[tuple[Atom, bool], Collection[Atom] | None] = {}
        self._negated = list[Atom]()
        self.numbers = count(1)

    @cached_property
    def _clauses(self) -> Mapping[str, list[tuple[Atom, PrologClause]]]:
        """Heads and clauses of each predicate; cached, as only queries with bodies or variables need them."""
        by_predicate = defaultdict[str, list[tuple[Atom, PrologClause]]](list)
        for clause in self._program:
            for head in clause.heads:
                by_predicate[head.predicate].append((head, clause))
        return by_predicate

    def instances(self, atom: Atom, body: Body) -> Iterator[Atom]:
        """Yield the instances of an atom for which the body can hold; without a body the atom itself."""
        if not body:
            yield atom
            return
        self.computed = 0
        run = _Run(self, certain=False)
        for answer in run.answers_of(Atom("", atom.arguments, atom.span), body):
            pairs = zip(atom.arguments, answer.arguments, strict=True)
            terms = tuple([t if isinstance(v, Variable) else v for t, v in pairs])
            yield Atom(atom.predicate, terms, atom.span)

    def possible(self, atom: Atom) -> list[Atom]:
        """Instances of an atom that clauses can make true; refuse those that are not ground."""
        atoms = list(self.instances(atom, (atom,)))
        if any(isinstance(term, Variable) for each in atoms for term in each.arguments):
            hint = "its clauses hold of anything; name each instance: evidence(a(1), true)."
            raise LanguageError("evidence is a ground atom", span=atom.span, hint=hint)
        return atoms

    def answers(self, call: Atom, certain: bool) -> Collection[Atom]:
        """Answers to a call in some world; ``certain``: only those in every world.

        Raises LanguageError if the call depends on its own negation.
        """
        key = call, certain
        if key not in self._known:
            self._negated.append(call)
            self._known[key] = None  # under evaluation: whoever asks again meanwhile depends on itself
            try:
                self._known[key] = _Run(self, certain).answers_to(call)
            except RecursionError:
                hint = "name each instance without a body"
                raise LanguageError(
                    "negated goals call each other too often here", span=call.span, hint=hint
                ) from None
        atoms = self._known[key]
        if atoms is None:
            raise LanguageError(
                f"{call.predicate} depends on its own negation", span=call.span, hint="break the cycle"
            )
        return atoms

    def calls(self, queries: Iterable[Atom]) -> Collection[Atom]:
        """All calls that queries make in some world, those of negated goals among them."""
        run = _Run(self, certain=False)
        for call in chain([_called(atom, {}) for atom in queries], self._negated):  # these become more
            run.answers_to(call)
        return run.tables

    def fitting(self, call: Atom, certain: bool) -> Iterator[tuple[Atom, Body]]:
        """Yield head and body of the clauses that may answer a call, by an index on its first constant.

        ``certain``: leave out choices.
        """
        own = self._clauses[call.predicate]
        place = next((i for i, term in enumerate(call.arguments) if isinstance(term, Constant)), None)
        if place is not None:
            listed = self._by_constant(call.predicate, place)
            own = [*listed.get(call.arguments[place], ()), *listed.get(None, ())]
        return ((head, clause.body) for head, clause in own if not (certain and clause.chances))

    def _by_constant(self, name: str, place: int) -> Mapping[Term | None, list[tuple[Atom, PrologClause]]]:
        """Clauses of a predicate by the constant at a position of their heads; ``None`` for a variable."""
        if (name, place) not in self._listed:
            listed = self._listed[name, place] = defaultdict(list)
            for head, clause in self._clauses[name]:
                term = head.arguments[place]
                listed[term if isinstance(term, Constant) else None].append((head, clause))
        return self._listed[name, place]


class _Run:
    """Tabled evaluation of calls that depend on each other, until none has a new answer."""

    def __init__(self, known: Solutions, certain: bool) -> None:
        self._known, self._certain = known, certain
        self.tables: dict[Atom, _Table] = {}
        self._goals = deque[_Goal]()

    def answers_to(self, call: Atom) -> Collection[Atom]:
        self._table(call)
        self._finish()
        return self.tables[call].answers

    def answers_of(self, head: Atom, body: Body) -> Collection[Atom]:
        """Answers of a clause that no other clause calls."""
        call = Atom(head.predicate, ())
        table = self.tables[call] = _Table()
        self._goals.append(_Goal(call, head, body, 0, {}))
        self._finish()
        return table.answers

    def _finish(self) -> None:
        while self._goals:
            goal = self._goals.popleft()
            if goal.place == len(goal.body):
                self._answered(goal)
            else:
                self._tried(goal)

    def _tried(self, goal: _Goal) -> None:
        literal = goal.body[goal.place]
        match literal:
            case Atom():
                self._called(goal, literal)
                return
            case Not(operand=Atom() as atom):
                call = _called(atom, goal.values)
                after = None if self._known.answers(call, not self._certain) else goal.values
            case Truth(value=holds):
                after = goal.values if holds else None
            case Computed():
                after = self._compared(literal, goal.values)
            case Comparison(span=span):
                test = self._known.tests.get(span) if span is not None else None
                after = _tested(literal, goal.values, test)
            case _:
                raise AssertionError(literal)
        if after is not None:
            self._goals.append(_next(goal, after))

    def _called(self, goal: _Goal, atom: Atom) -> None:
        call = _called(atom, goal.values)
        if call == goal.call and goal.counts is None:
            others = (*goal.body[: goal.place], *goal.body[goal.place + 1 :])
            goal = replace(goal, counts=counts_on(goal.head, atom, others))
        elif call not in self.tables:
            step = counts_on(atom, goal.head, goal.body[: goal.place])
            if step is not None:
                raise _endless(step)
        table = self._table(call)
        table.waiting.append(goal)
        for answer in table.answers:
            self._went_on(goal, answer)

    def _table(self, call: Atom) -> _Table:
        """Table of a call; for a new call, its clauses become goals to be tried."""
        if call not in self.tables:
            self.tables[call] = _Table()
            for head, body in self._known.fitting(call, self._certain):
                values = unified(head.arguments, call.arguments, {})
                if values is not None:
                    self._goals.append(_Goal(call, head, body, 0, values))
        return self.tables[call]

    def _answered(self, goal: _Goal) -> None:
        answer, table = _called(goal.head, goal.values), self.tables[goal.call]
        if answer not in table.answers and not _contradicts_itself(goal):
            if goal.counts is not None:
                raise _endless(goal.counts)
            table.answers[answer] = None
            for waiting in table.waiting:
                self._went_on(waiting, answer)

    def _went_on(self, goal: _Goal, answer: Atom) -> None:
        atom = goal.body[goal.place]
        assert isinstance(atom, Atom)
        terms = answer.arguments
        if any(isinstance(term, Variable) for term in terms):
            own = next(self._known.numbers)
            terms = tuple(Variable(f"{t.name} of {own}") if isinstance(t, Variable) else t for t in terms)
        after = unified(atom.arguments, terms, goal.values)
        if after is not None:
            self._goals.append(_next(goal, after))

    def _compared(self, test: Computed, values: Values) -> Values | None:
        """Values of variables after a computed test; ``None`` if it fails."""
        known = {name for name in variables_of(test) if isinstance(walked(Variable(name), values), Constant)}
        if (given := assigned(test, known)) is None:
            holds = compares(test.operator, value_of(test.left, values), value_of(test.right, values))
            return values if holds else None
        self._known.computed += 1
        if self._known.computed > self._known.most:
            raise _endless(test)
        return unified((Variable(given[0]),), (Constant(value_of(given[1], values)),), values)


def _contradicts_itself(goal: _Goal) -> bool:
    """Whether a body calls an atom and its negation: it holds in no world."""
    negated = {
        _called(part.operand, goal.values)
        for part in goal.body
        if isinstance(part, Not) and isinstance(part.operand, Atom)
    }
    atoms = [part for part in goal.body if isinstance(part, Atom)] if negated else []
    return any(_called(atom, goal.values) in negated for atom in atoms)


def _endless(test: Computed) -> LanguageError:
    """The error of a recursion whose numbers have no end, at the goal that computes them."""
    message = f"more than {MOST_NUMBERS:,} numbers are computed here: the recursion has no end"
    return LanguageError(message, span=test.span, hint="name each instance without a body")


def _next(goal: _Goal, values: Values) -> _Goal:
    return _Goal(goal.call, goal.head, goal.body, goal.place + 1, values, goal.counts)


def unified(left: Sequence[Term], right: Sequence[Term], values: Values) -> Values | None:
    """Bindings of variables that make both sequences equal; ``None`` if there are none."""
    bound = dict(values)
    for one, other in zip(left, right, strict=True):
        one, other = walked(one, bound), walked(other, bound)
        if one == other or Variable("_") in (one, other):
            continue
        if isinstance(one, Variable):
            bound[one.name] = other
        elif isinstance(other, Variable):
            bound[other.name] = one
        else:
            return None
    return bound


def _called(atom: Atom, values: Values) -> Atom:
    """The atom with the values of its variables; variables without one are renamed to numbers in order."""
    names, terms = dict[str, Term](), list[Term]()
    for place, term in enumerate(atom.arguments):
        term = walked(term, values)
        if isinstance(term, Variable):
            term = names.setdefault(f"_{place}" if term.anonymous else term.name, Variable(f"{len(names)}"))
        terms.append(term)
    return Atom(atom.predicate, tuple(terms), atom.span)


def _tested(test: Comparison, values: Values, test_name: str | None) -> Values | None:
    """Values of variables after a comparison; ``None`` if it fails.

    ``test_name``: name of the comparison if it gives no variable a value.
    """
    left, right = walked(test.left, values), walked(test.right, values)
    if test_name is None and test.operator == "=":
        return unified((left,), (right,), values)
    if isinstance(left, Constant) and isinstance(right, Constant):
        holds = passes(test_name or "", left.value)
        holds = compares(test.operator, left.value, right.value) if holds is None else holds
    else:
        holds = holds_without(test_name, left, right)
    if holds is None:
        unbound = (
            name for name in variables_of(test) if isinstance(walked(Variable(name), values), Variable)
        )
        raise no_value_yet(next(unbound), test.span)
    return values if holds else None
