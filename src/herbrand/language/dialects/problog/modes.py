"""Clauses specialised by calling pattern, where their meaning depends on which variables have values.

``f(A) :- A == x`` fails in Prolog if ``A`` has no value, so ``f(A)`` means one thing in ``q :- f(A)`` and
another in ``q :- b(A), f(A)``. Such a predicate becomes one predicate for each pattern of arguments with a
value, before and after the call; arguments without a value afterwards are left out. The result of a goal is
then known while reading: a comparison with a variable without a value holds or fails whatever the constants
are, and ``\\+b(A)`` is ``\\+b(_)``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from herbrand.errors import LanguageError, Span
from herbrand.graphs import reached
from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.problog.early import has_value, holds_without, is_test, open_places
from herbrand.language.dialects.problog.goals import (
    Body,
    PrologClause,
    bound_by,
    calls_by_predicate,
    without_anonymous,
)
from herbrand.language.dialects.problog.instances import Solutions
from herbrand.language.dialects.problog.names import PredicateNames
from herbrand.language.formulas import Atom, Comparison, Not, Truth, Variable, leaf_terms
from herbrand.language.syntax import BodyLiteral

Pattern = tuple[bool, ...]
"""For each argument, whether it has a value."""
Way = tuple[str, Pattern]
"""A predicate and the pattern of a call: the calling pattern."""


class NotReadError(Exception):
    """Raised if some call cannot be specialised."""


def by_way_of_calling(
    clauses: Sequence[PrologClause],
    queries: Sequence[Atom],
    evidence: Sequence[Atom],
    tests: Mapping[Span, str],
    late: Collection[str],
    names: PredicateNames,
) -> tuple[list[PrologClause], dict[Atom, list[Atom]]] | None:
    """Specialise the predicates that depend on ``late`` ones, for the calls that queries and evidence make.

    Returns the clauses, and the atoms that replace each atom of a query or of evidence; ``None`` if that is
    not possible, or if nothing is asked. ``tests``: names of comparisons that give no variable a value.
    """
    if not queries and not evidence:
        return None
    apart = _resting_on(late, clauses)
    own: dict[str, list[PrologClause]] = {name: [] for name in apart}
    drawn = dict[str, PrologClause]()
    for clause in clauses:
        if clause.derived & apart:
            for rule in _as_rules(clause, names, drawn) if clause.chances else [clause]:
                own[rule.heads[0].predicate].append(rule)
    work = _Work(own, tests, drawn.keys())
    try:
        atoms = [atom for atom in (*queries, *evidence) if atom.predicate in apart]
        ways = {atom: work.way(atom, frozenset()) for atom in atoms}
        listed = _listed(ways, [atom for atom in queries if atom in ways], Solutions(clauses, tests))
        queried = {atom: way for atom, way in ways.items() if atom not in listed}
        queried |= {atom: ways[query] for query, atoms in listed.items() for atom in atoms}
        work.run(dict.fromkeys(queried.values()))
        heads = _asked_names(queried.values(), names)
        rewritten = [clause for way in work.answers for clause in work.clauses_of(way, names)]
        rewritten += [clause for way, name in heads.items() for clause in work.asked(way, name, names)]
        rewritten = _with_choices(_needed(rewritten, set(heads.values())), drawn)
    except (NotReadError, LanguageError):
        return None
    others = (clause for clause in clauses if not clause.derived & apart)
    renamed = {
        atom: [replace(each, predicate=heads[queried[each]]) for each in listed.get(atom, [atom])]
        for atom in ways
    }
    return [*others, *rewritten], renamed


def _as_rules(
    clause: PrologClause, names: PredicateNames, drawn: dict[str, PrologClause]
) -> Iterator[PrologClause]:
    """Yield a rule for each head of a choice; its body ends in an atom that names the choice in ``drawn``."""
    body = without_anonymous(clause.body)
    bound = [variable for part in body for variable in bound_by(part)]
    terms, own = tuple(variables_of([*clause.heads, *bound]).values()), list[Atom]()
    for head in clause.heads:
        name = names.of(f"choice {len(drawn) + len(own)} of {head.predicate}", len(terms), head.predicate)
        own.append(Atom(name, terms, head.span))
    for head, atom in zip(clause.heads, own, strict=True):
        drawn[atom.predicate] = replace(clause, heads=tuple(own))
        yield PrologClause((head,), (*body, atom), span=clause.span)


def _with_choices(rules: Sequence[PrologClause], drawn: Mapping[str, PrologClause]) -> list[PrologClause]:
    """The rules, and the choices that they name with the rules' bodies.

    A choice with two bodies is refused, as the order of calls decides whether ProbLog distinguishes its
    instances.
    """
    clauses, bodies = dict[PrologClause, None](), defaultdict[PrologClause, set[Body]](set)
    for rule in rules:
        *body, last = rule.body
        if isinstance(last, Atom) and last.predicate in drawn:
            bodies[drawn[last.predicate]].add(tuple(body))
            rule = replace(rule, body=(last,))
        clauses[rule] = None
    for choice, (body, *others) in bodies.items():
        if others:
            raise NotReadError
        clauses[replace(choice, body=body)] = None
    return list(clauses)


def _listed(
    ways: Mapping[Atom, Way], queries: Sequence[Atom], solutions: Solutions
) -> dict[Atom, Sequence[Atom]]:
    """Instances of each query with variables, for predicates that are asked with several calling patterns.

    An atom that several queries list, or that is evidence too, belongs to the last query that lists it.
    """
    several = Counter(name for name, _ in set(ways.values()))
    atoms = dict[Atom, Sequence[Atom]]()
    for query in queries:
        if several[query.predicate] > 1 and variables_of(query):
            own = _renamed(query)
            atoms[query] = list(solutions.instances(own, (own,))) or [query]
            if atoms[query] != [query] and any(map(variables_of, atoms[query])):
                raise NotReadError
    return atoms


def _renamed(atom: Atom) -> Atom:
    """The atom with variables that no other atom has, and a distinct one for each ``_``."""
    names = (
        Variable(f"other {place if t.anonymous else t.name}") if isinstance(t, Variable) else t
        for place, t in enumerate(atom.arguments)
    )
    return replace(atom, arguments=tuple(names))


def _asked_names(ways: Iterable[Way], names: PredicateNames) -> dict[Way, str]:
    """Names of the predicates for each way of asking; the first way of a predicate keeps its name."""
    by_way = dict[Way, str]()
    for way in ways:
        name, before = way
        if way not in by_way and any(name == other for other, _ in by_way):
            by_way[way] = names.of(f"{name} asked {_marks(before)}", len(before), about=name)
            names.spelled[by_way[way]] = names.spelled.get(name, name)
        by_way.setdefault(way, name)
    return by_way


def _needed(rewritten: Sequence[PrologClause], queried: Collection[str]) -> list[PrologClause]:
    """The clauses on which the ``queried`` predicates depend, without those whose head is in their own body.

    The latter derive nothing, and each predicate has another clause, from which its pattern of answers was
    found first.
    """
    telling = [clause for clause in rewritten if clause.heads[0] not in clause.body]
    needed = {*queried, *reached(queried, calls_by_predicate(telling).__getitem__)}
    return [clause for clause in telling if clause.heads[0].predicate in needed]


def _resting_on(late: Collection[str], clauses: Sequence[PrologClause]) -> set[str]:
    """The ``late`` predicates, those that call them or share a choice with one, and the predicates called by
    these whose answers may leave an argument without a value."""
    resting, unsure = set(late), {name for name, _ in open_places(clauses)}
    while True:
        before = len(resting)
        for clause in clauses:
            if clause.called & resting:
                resting |= clause.derived
            if clause.derived & resting:
                resting |= clause.derived | clause.called & unsure
        if len(resting) == before:
            return resting


@dataclass
class _Work:
    """State of a specialisation.

    ``own``: clauses of each predicate to specialise. ``drawn``: predicates made for choices. ``answers``:
    patterns after each call that are known so far. ``branches``: clauses of each way, for each combination of
    these patterns. ``called``: ways of calling in the clauses that were last examined.
    """

    own: Mapping[str, Sequence[PrologClause]]
    tests: Mapping[Span, str]
    drawn: Collection[str]
    answers: dict[Way, set[Pattern]] = field(default_factory=lambda: defaultdict(set))
    branches: dict[Way, list[_Branch]] = field(default_factory=dict)
    called: dict[Way, None] = field(default_factory=dict)

    def run(self, ways: Collection[Way]) -> None:
        """Compute the answer patterns of these ways and of all that they call, up to a fixpoint.

        A way is examined again whenever one that it calls gets a new answer pattern.
        """
        waiting = dict.fromkeys(ways)
        callers = defaultdict[Way, set[Way]](set)
        while waiting:
            del waiting[way := next(iter(waiting))]
            before = len(self.answers[way])
            self.called.clear()
            self.branches[way] = branches = list(self._branches(way))
            self.answers[way] |= {after for _, after, _ in branches}
            waiting |= dict.fromkeys(call for call in self.called if call not in callers)
            for call in self.called:
                callers[call].add(way)
            if len(self.answers[way]) > before:
                waiting |= dict.fromkeys(callers[way])

    def clauses_of(self, way: Way, names: PredicateNames) -> Iterator[PrologClause]:
        """Yield the specialised clauses of a calling pattern."""
        for clause, after, body in self.branches[way]:
            head = _kept_apart(clause.heads[0], way, after, names)
            renamed = tuple(part for step in body for part in self._literals(step, names))
            yield PrologClause((head,), renamed or (Truth(True),), span=clause.span)

    def _literals(self, step: _Step, names: PredicateNames) -> Iterator[BodyLiteral]:
        """Yield the literals for a goal; a negated goal that is specialised is negated for every pattern."""
        literal, way, after = step
        match literal:
            case Atom() if way is not None:
                yield _kept_apart(literal, way, after, names)
            case Not(operand=Atom() as atom) if way is not None:
                for each in sorted(self.answers[way]):
                    yield replace(literal, operand=_kept_apart(atom, way, each, names))
            case _:
                yield literal

    def asked(self, way: Way, name: str, names: PredicateNames) -> Iterator[PrologClause]:
        """Yield the clauses that define the predicate ``name`` of a query from the specialised ones.

        Answers with an argument without a value are refused.
        """
        head = Atom(name, tuple(Variable(f"A{place}") for place in range(len(way[1]))))
        if any(not all(after) for after in self.answers[way]):
            raise NotReadError
        for after in sorted(self.answers[way]):
            yield PrologClause((head,), (_kept_apart(head, way, after, names),))
        if not self.answers[way]:
            yield PrologClause((head,), (Truth(False),))

    def way(self, atom: Atom, bound: frozenset[str]) -> Way:
        """Calling pattern of a goal."""
        _free(atom, bound)
        return atom.predicate, tuple(has_value(term, bound) for term in atom.arguments)

    def _branches(self, way: Way) -> Iterator[_Branch]:
        """Yield each clause with its steps, once for each combination of answer patterns."""
        name, before = way
        for clause in self.own[name]:
            head = clause.heads[0]
            brought = zip(head.arguments, before, strict=True)
            bound = frozenset(t.name for t, has in brought if has and isinstance(t, Variable))
            for body, after in self._walked(clause.body, bound):
                free = [t.name for t in head.arguments if isinstance(t, Variable) and t.name not in after]
                if len(set(free)) < len(free):
                    raise NotReadError
                yield clause, tuple(has_value(term, after) for term in head.arguments), body

    def _walked(
        self, body: Sequence[BodyLiteral], bound: frozenset[str]
    ) -> Iterator[tuple[list[_Step], frozenset[str]]]:
        if not body:
            yield [], bound
            return
        for step, after in self._steps(body[0], bound):
            for rest, last in self._walked(body[1:], after):
                yield [step, *rest] if step is not None else rest, last

    def _steps(
        self, literal: BodyLiteral, bound: frozenset[str]
    ) -> Iterator[tuple[_Step | None, frozenset[str]]]:
        """Yield the results of a goal, with the variables that then have values.

        There is no result if the goal fails; a step is ``None`` if the goal holds whatever follows.
        """
        match literal:
            case Atom(predicate=name) if name in self.own:
                way = self.way(literal, bound)
                self.called[way] = None
                for after in sorted(self.answers[way]):
                    given = zip(literal.arguments, after, strict=True)
                    yield (
                        (literal, way, after),
                        bound.union(t.name for t, has in given if has and isinstance(t, Variable)),
                    )
            case Atom(predicate=name) if name in self.drawn and _free(literal, bound):
                raise NotReadError
            case Not(operand=Atom(predicate=name) as atom) if name in self.own:
                way = self.way(atom, bound)
                self.called[way] = None
                yield (replace(literal, operand=_of_anything(atom, bound)), way, ()), bound
            case Not(operand=Atom() as atom):
                yield (replace(literal, operand=_of_anything(atom, bound)), None, ()), bound
            case Comparison() if is_test(literal, self.tests) and not _valued(literal, bound):
                if self._holds_without(literal):
                    yield None, bound
            case Comparison(operator="=") if not any(has_value(t, bound) for t in leaf_terms(literal)):
                raise NotReadError
            case _:
                yield (literal, None, ()), bound.union(v.name for v in bound_by(literal))

    def _holds_without(self, literal: Comparison) -> bool:
        """Whether a comparison with a variable without a value holds; refuse it if that is not known."""
        test = self.tests.get(literal.span) if literal.span is not None else None
        holds = holds_without(test, literal.left, literal.right)
        if holds is None:
            raise NotReadError
        return holds


_Step = tuple[BodyLiteral, Way | None, Pattern]
"""A literal; if it is specialised, its calling pattern and the pattern after the call."""
_Branch = tuple[PrologClause, Pattern, list[_Step]]
"""A clause, the pattern of its head after its body, and the steps of the body."""


def _valued(literal: Comparison, bound: Collection[str]) -> bool:
    return all(has_value(term, bound) for term in leaf_terms(literal))


def _free(atom: Atom, bound: Collection[str]) -> list[str]:
    """Variables of a goal without a value; refuse one that stands twice, as it would make two arguments
    equal."""
    free = [term.name for term in atom.arguments if isinstance(term, Variable) and term.name not in bound]
    named = [name for name in free if name != "_"]
    if len(set(named)) < len(named):
        raise NotReadError
    return free


def _of_anything(atom: Atom, bound: Collection[str]) -> Atom:
    """The atom with ``_`` for variables without a value: its negation states that no such atom holds."""
    free = _free(atom, bound)
    terms = (
        Variable("_", t.span) if isinstance(t, Variable) and t.name in free else t for t in atom.arguments
    )
    return replace(atom, arguments=tuple(terms))


def _kept_apart(atom: Atom, way: Way, after: Pattern, names: PredicateNames) -> Atom:
    """The specialised atom of a calling and an answer pattern, over the arguments with a value after it."""
    kept = tuple(term for term, has in zip(atom.arguments, after, strict=True) if has)
    name = names.of(f"{way[0]} called {_marks(way[1])} to {_marks(after)}", len(kept), about=way[0])
    return Atom(name, kept, atom.span)


def _marks(pattern: Pattern) -> str:
    return "".join("b" if has else "f" for has in pattern)
