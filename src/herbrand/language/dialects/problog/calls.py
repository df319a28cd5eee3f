"""Magic sets: predicates of calls, for clauses that compute with values that only their callers give.

``p(X) :- X > 0, Y is X - 1, p(Y)`` has no value for ``X`` but the caller's. Prolog runs from the query down;
here rules run upwards, so calls get a predicate: the query ``p(3)`` is one call, and each call of the clause
makes another one. This is the transformation by magic sets (Bancilhon and others, 1986), for those arguments
alone that have no value otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace

from herbrand.errors import LanguageError, Span
from herbrand.graphs import reached
from herbrand.language.comparisons import variables_of, with_assigned
from herbrand.language.dialects.problog.early import open_places
from herbrand.language.dialects.problog.goals import (
    Body,
    PrologClause,
    calls_by_predicate,
    mutual_calls,
    no_value_yet,
)
from herbrand.language.dialects.problog.instances import Solutions
from herbrand.language.dialects.problog.names import PredicateNames, valued
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Computed,
    Constant,
    Not,
    Term,
    Truth,
    Value,
    Variable,
    unnegated,
)
from herbrand.language.syntax import BodyLiteral, Calls

Places = Mapping[str, tuple[int, ...]]
"""Positions of some arguments of each predicate."""
MOST_LISTED = 10_000
"""Most numbers that are computed to list calls; an endless recursion gets there within seconds."""


def with_calls(
    clauses: Sequence[PrologClause],
    queries: Sequence[Atom],
    tests: Mapping[Span, str],
    names: PredicateNames,
) -> list[PrologClause]:
    """Add to clauses an atom for the values that their callers give, and clauses that derive the calls.

    ``queries``: the atoms of queries and evidence, which call first. ``tests``: names of comparisons that
    give no variable a value.
    """
    compared = (part for clause in clauses for part in clause.body if isinstance(part, Computed | Comparison))
    if not any(_needed((part,), {}) for part in compared):
        return list(clauses)
    places, silent = _called_places(clauses, _handed_numbers(clauses))
    if not places:
        return list(clauses)
    handed = _handed_computed(clauses, places)
    counting = (places, silent) if handed == places else _called_places(clauses, handed)
    if counting[0] != places:
        # The wider choice first: where some call cannot give all of its arguments, the narrower one may do.
        with suppress(LanguageError):
            return _with_calls_at(*counting, clauses, queries, tests, names)
    return _with_calls_at(places, silent, clauses, queries, tests, names)


def _with_calls_at(
    places: Places,
    silent: Places,
    clauses: Sequence[PrologClause],
    queries: Sequence[Atom],
    tests: Mapping[Span, str],
    names: PredicateNames,
) -> list[PrologClause]:
    """The same for these ``places``; raises LanguageError if a call does not give one of them a value."""
    work = _Calls(places, silent, names)
    guarded = [work.guarded(clause) for clause in clauses]
    calls, refused = list[PrologClause](), dict[str, LanguageError]()
    for clause in guarded:
        try:
            calls += () if clause.fails else work.made_by(clause)
        except LanguageError as error:
            refused |= dict.fromkeys((head.predicate for head in clause.heads), error)
    if refused:
        left = without_unqueried(clauses, refused, queries)
        if len(left) == len(clauses):
            raise next(iter(refused.values()))
        return with_calls(left, queries, tests, names)
    calls += [PrologClause((call,), ()) for atom in queries if (call := work.call(atom)) is not None]
    for clause in calls:
        if not clause.body:
            _refuse_unknown(clause.heads[0], set())
    if work.guards and not queries:
        clause = next(clause for clause in guarded if _rests_on(clause, work.guards))
        raise LanguageError(
            "only a caller gives this clause its values, and nothing calls it",
            span=clause.span,
            hint=f"ask for it in the file: {_query_of(clause, places)}",
        )
    rules = [*guarded, *work.made]
    if _depend_on_others(work.guards, [*rules, *calls]):
        with suppress(LanguageError):  # calls that cannot be listed stay rules
            calls = work.listed(clauses, queries, tests)
    names.calls = work.of_guarded(guarded, queries)
    return _called([*rules, *dict.fromkeys(calls)], work.guards)


def _depend_on_others(calls: Set[str], clauses: Sequence[PrologClause]) -> bool:
    """Whether calls and other predicates are mutually dependent: answers that make calls to which they are
    the answers may be negated in between, and a count may end in another clause than it goes on."""
    return any(len(group) > 1 and not calls.isdisjoint(group) for group in mutual_calls(clauses))


def _query_of(clause: PrologClause, places: Places) -> str:
    """A query of a head that gives it numbers at ``places``."""
    head = next(head for head in clause.heads if head.predicate in places)
    given = ("3" if place in places[head.predicate] else "_" for place in range(len(head.arguments)))
    return f"query({head.predicate}({', '.join(given)}))."


def without_unqueried(
    clauses: Sequence[PrologClause], names: Collection[str], queries: Sequence[Atom]
) -> list[PrologClause]:
    """Drop the clauses that depend on a predicate of ``names`` to which no query leads.

    A clause of several heads stays if a query leads to one of them.
    """
    above = defaultdict[str, set[str]](set)
    for clause in clauses:
        for name in clause.called:
            above[name] |= clause.derived
    below = calls_by_predicate(clauses)
    needed = reached((atom.predicate for atom in queries), below.__getitem__) if queries else names
    gone = {*reached(set(names).difference(needed), above.__getitem__)}
    return [
        clause
        for clause in clauses
        if gone.isdisjoint(clause.derived) or not clause.derived.isdisjoint(needed)
    ]


def _free_places(clauses: Sequence[PrologClause]) -> dict[str, tuple[int, ...]]:
    """Arguments that some clause leaves open to any value, as ``0.9::t(_)`` does: answers of such a predicate
    give no value."""
    places: dict[str, tuple[int, ...]] = {}
    for clause in clauses:
        for head in () if clause.fails else clause.heads:
            names = [term.name for term in head.arguments if isinstance(term, Variable)]
            if once := {name for name in names if names.count(name) == 1}:
                _add_places(places, head, once - valued(clause.body) - computed_in(clause.body))
    return places


def _add_places(places: dict[str, tuple[int, ...]], head: Atom, names: Set[str]) -> None:
    """Add the position of each of these variables in a head to ``places``, unless it is already there."""
    known = set(places.get(head.predicate, ()))
    for name in names:
        own = [i for i, term in enumerate(head.arguments) if isinstance(term, Variable) and term.name == name]
        if known.isdisjoint(own):
            known.update(own[:1])
    if known:
        places[head.predicate] = tuple(sorted(known))


def _called_places(clauses: Sequence[PrologClause], first: Places) -> tuple[Places, Places]:
    """Arguments of each predicate that only a caller can give values, and those at which answers give none.

    ``first``: arguments that callers give in any case.
    """
    called, silent = dict(first), _free_places(clauses)
    clauses = [clause for clause in clauses if clause.body]
    for name, places in called.items():
        silent[name] = tuple(sorted({*places, *silent.get(name, ())}))
    while True:
        before = dict(called)
        for clause in clauses:
            needed = _needed(clause.body, called)
            missing = _missing(clause.body, needed, silent) if needed else needed
            missing = missing.union(*_late(clause.body, called, silent))
            for head in clause.heads:
                _add_places(called, head, missing)
                _add_places(silent, head, missing)
        if called == before:
            return called, silent


def _handed_computed(clauses: Sequence[PrologClause], places: Places) -> Places:
    """The places, with those at which calls pass computed values, and those of the limits of such values.

    A count that is passed too ends the calls, though atoms of the clause would list its values as well.
    """
    handed = dict(places)
    for clause in clauses:
        computed = computed_in(clause.body)
        for atom in map(unnegated, clause.body) if computed else ():
            if isinstance(atom, Atom) and atom.predicate in handed:
                _give(handed, atom, computed, range(len(atom.arguments)))
        for head in clause.heads if computed else ():
            if head.predicate in places:
                limits = set(_limits(clause.body, variables_of(_at(head, places)).keys()))
                _give(handed, head, limits, range(len(head.arguments)))
    return handed


def _give(places: dict[str, tuple[int, ...]], atom: Atom, names: Set[str], among: Iterable[int]) -> None:
    """Add the positions, ``among`` these, at which an atom has one of these variables."""
    terms = ((place, atom.arguments[place]) for place in among)
    own = {place for place, term in terms if isinstance(term, Variable) and term.name in names}
    if own:
        places[atom.predicate] = tuple(sorted(own.union(places.get(atom.predicate, ()))))


def _limits(body: Body, names: Set[str]) -> Iterator[str]:
    """Yield the variables that order comparisons compare with one of ``names``."""
    for part in body:
        if isinstance(part, Comparison) and part.operator not in ("=", "!="):
            compared = variables_of(part).keys()
            yield from compared - names if compared & names else ()


def _handed_numbers(clauses: Sequence[PrologClause]) -> dict[str, tuple[int, ...]]:
    """Open arguments to which a call passes a number that its clause computes and no other atom has.

    This number may be no constant, so a clause that holds for any value must get its values from calls.
    """
    handed, free = dict[str, tuple[int, ...]](), dict[str, tuple[int, ...]]()
    for name, place in sorted(open_places(clauses)):
        free[name] = (*free.get(name, ()), place)
    for clause in clauses:
        if not clause.body:
            continue
        equal = [part for part in clause.body if isinstance(part, Comparison)]
        computed = with_assigned(equal, computed_in(clause.body)) - with_assigned(equal, ())
        atoms = [part for part in clause.body if isinstance(part, Atom)] if computed else []
        computed -= valued(atoms, free)
        for atom in map(unnegated, clause.body) if computed else ():
            if isinstance(atom, Atom):
                _give(handed, atom, computed, free.get(atom.predicate, ()))
    return handed


def _late(body: Body, places: Places, silent: Places) -> Iterator[set[str]]:
    """Yield for each call the variables that it needs and that only later goals give: the caller must give
    them."""
    tests = [part for part in body if isinstance(part, Comparison | Computed)]
    for place, literal in enumerate(body):
        atom = unnegated(literal)
        if isinstance(atom, Atom) and (terms := _at(atom, places)):
            needed = set(variables_of(terms))
            for test in reversed(tests):
                needed |= variables_of(test).keys() if _assigned(test) in needed else set()
            yield _missing((*body[:place], *tests), needed, silent)


def _missing(body: Body, needed: set[str], silent: Places) -> set[str]:
    """Needed variables without a value, except those that the body computes from the others."""
    tests = [part for part in body if isinstance(part, Comparison | Computed)]
    computed = {test.left.name for test in tests if test.operator == "=" and isinstance(test.left, Variable)}
    known = valued(body, silent)
    given = needed - known - computed
    return given | needed - with_assigned(tests, known | given)


def _needed(body: Body, places: Places) -> set[str]:
    """Variables that goals compute with, compare by order, or pass to arguments at ``places``."""
    needed: set[str] = set()
    for literal in body:
        match literal:
            case Computed(operator="="):
                sides = [side for side in (literal.left, literal.right) if not isinstance(side, Variable)]
                needed |= variables_of(sides).keys()
            case Computed() | Comparison():
                if literal.operator not in ("=", "!=") or isinstance(literal, Computed):
                    needed |= variables_of(literal).keys()
            case Atom() | Not(operand=Atom()):
                atom = unnegated(literal)
                assert isinstance(atom, Atom)
                needed |= variables_of(_at(atom, places)).keys()
    return needed


def _at(atom: Atom, places: Places) -> list[Term]:
    return [atom.arguments[place] for place in places.get(atom.predicate, ())]


def _called(clauses: list[PrologClause], guards: set[str]) -> list[PrologClause]:
    """Drop the clauses that depend on calls which nothing makes, as they have no values.

    Clauses that fail make no calls, so they keep no negated goals, which may be of dropped clauses.
    """
    for number, clause in enumerate(clauses):
        if clause.fails:
            left = tuple(part for part in clause.body if not isinstance(part, Not))
            clauses[number] = replace(clause, body=left)
    while True:
        silent = guards.difference(*(clause.derived for clause in clauses))
        if not silent:
            return clauses
        guards = guards - silent
        clauses = [clause for clause in clauses if not _rests_on(clause, silent)]


def _rests_on(clause: PrologClause, predicates: set[str]) -> bool:
    return any(isinstance(part, Atom) and part.predicate in predicates for part in clause.body)


def _without_unused(body: list[BodyLiteral], call: Atom) -> list[BodyLiteral]:
    """The body without equations for variables that nothing else in the clause names."""
    while True:
        named = Counter(name for part in (call, *body) for name in variables_of(part))
        left = [part for part in body if not (assigned := _assigned(part)) or named[assigned] > 1]
        if len(left) == len(body):
            return left
        body = left


def computed_in(body: Body) -> set[str]:
    """Variables to which arithmetic gives a value."""
    tests = (part for part in body if isinstance(part, Computed))
    return {name for test in tests if (name := _assigned(test)) is not None}


def _assigned(literal: BodyLiteral) -> str | None:
    """The variable on the left of an equation; ``None`` for any other literal."""
    match literal:
        case (
            Comparison(operator="=", left=Variable(name=name))
            | Computed(operator="=", left=Variable(name=name))
        ):
            return name
    return None


def _refuse_unknown(call: Atom, known: set[str]) -> None:
    for term in call.arguments:
        if isinstance(term, Variable) and term.name not in known:
            hint = "a clause computes with it: let a goal before this one bind it, or name a number"
            raise no_value_yet(term.name, call.span, hint)


class _Calls:
    """Maker of call atoms, over the arguments that callers give, and of the clauses that derive them."""

    def __init__(self, places: Places, silent: Places, names: PredicateNames) -> None:
        """``silent``: arguments at which atoms give no values, including ``places``."""
        self._places, self._silent, self._names = places, silent, names
        self.made: list[PrologClause] = []
        self.guards: set[str] = set()

    def call(self, atom: Atom) -> Atom | None:
        """The call atom of an atom; ``None`` if callers of its predicate need not give values."""
        if atom.predicate not in self._places:
            return None
        terms = tuple(_at(atom, self._places))
        name = self._names.of(f"calls of {atom.predicate}", len(terms), about=atom.predicate)
        return Atom(name, terms, atom.span)

    def of_guarded(self, clauses: Iterable[PrologClause], queries: Sequence[Atom]) -> dict[str, Calls]:
        """The calls of predicates that have clauses which only calls reach."""
        heads = [head for clause in clauses if _rests_on(clause, self.guards) for head in clause.heads]
        lists = {head.predicate: call.predicate for head in heads if (call := self.call(head)) is not None}
        asked = defaultdict[str, set[tuple[Value, ...]]](set)
        for atom in queries:
            terms = _at(atom, self._places) if atom.predicate in lists else ()
            asked[atom.predicate].add(tuple(term.value for term in terms if isinstance(term, Constant)))
        return {
            name: Calls(calls, self._places[name], frozenset(asked[name])) for name, calls in lists.items()
        }

    def guarded(self, clause: PrologClause) -> PrologClause:
        """Add the call atom to a clause that has no other values for its arguments, or passes them on."""
        if not any(head.predicate in self._places for head in clause.heads):
            return clause
        atoms = [unnegated(part) for part in clause.body]
        hands_on = any(isinstance(atom, Atom) and atom.predicate in self._places for atom in atoms)
        known = set() if hands_on else valued(clause.body, self._silent)
        calls = {
            call: None
            for head in clause.heads
            if (call := self.call(head)) is not None and not variables_of(call).keys() <= known
        }
        if not calls:
            return clause
        guard = next(iter(calls))
        if len(calls) > 1:
            shared = tuple(Variable(name) for name in variables_of(list(calls)))
            about = clause.heads[0].predicate
            name = self._names.of(f"calls {len(self.made)}", len(shared), about)
            guard = Atom(name, shared, clause.span)
            for call in calls:
                _refuse_unknown(replace(guard, span=clause.span), set(variables_of(call)))
                self.made.append(PrologClause((guard,), (call,), span=clause.span))
        self.guards |= {guard.predicate, *(call.predicate for call in calls)}
        return replace(clause, body=(guard, *clause.body))

    def listed(
        self, clauses: Sequence[PrologClause], queries: Sequence[Atom], tests: Mapping[Span, str]
    ) -> list[PrologClause]:
        """A fact for each call that queries make, or any other atom whose callers need not give values."""
        heads = {head.predicate: head for clause in clauses for head in clause.heads}
        below, given = calls_by_predicate(clauses), self._places.keys()
        others = [
            replace(head, arguments=(Variable("_"),) * len(head.arguments))
            for name, head in heads.items()
            if name not in given and not given.isdisjoint(reached(below[name], below.__getitem__))
        ]
        made = map(self.call, Solutions(clauses, tests, MOST_LISTED).calls([*queries, *others]))
        calls = [call for call in made if call is not None]
        for call in calls:
            _refuse_unknown(call, set())
        return [PrologClause((call,), ()) for call in calls]

    def made_by(self, clause: PrologClause) -> Iterator[PrologClause]:
        """Yield clauses that derive the calls which a clause makes, from the goals before each call."""
        for place, literal in enumerate(clause.body):
            atom = unnegated(literal)
            call = self.call(atom) if isinstance(atom, Atom) else None
            if call is None:
                continue
            tests = [part for part in clause.body if isinstance(part, Comparison | Computed)]
            before = self._giving(variables_of(call).keys(), clause.body[:place], tests)
            before += self._limiting(clause.body[:place], before, tests)
            known = valued([*before, *tests], self._silent)
            _refuse_unknown(call, known)
            before += [test for test in tests if variables_of(test).keys() <= known]
            before = _without_unused(before, call)
            if before != [call]:
                yield PrologClause((call,), tuple(before) or (Truth(True),), span=literal.span)

    def _limiting(
        self, body: Body, before: Sequence[BodyLiteral], tests: Sequence[BodyLiteral]
    ) -> list[BodyLiteral]:
        """Atoms of a computing body that give values to limits of variables with values from ``before``."""
        if not computed_in(body):
            return []
        known = valued([*before, *tests], self._silent)
        limits = {*_limits(body, known)} - known
        return [
            part
            for part in body
            if isinstance(part, Atom)
            and part.predicate not in self._places
            and not limits.isdisjoint(variables_of(part))
        ]

    def _giving(
        self, variables: Set[str], body: Sequence[BodyLiteral], tests: Sequence[BodyLiteral]
    ) -> list[BodyLiteral]:
        """The first atom that gives the wanted variables values, by tests too; else as many as necessary."""
        atoms = [part for part in body if isinstance(part, Atom)]
        ways = [[], *([atom] for atom in atoms), *(atoms[:count] for count in range(2, len(atoms)))]
        enough = (way for way in ways if variables <= valued([*way, *tests], self._silent))
        return list[BodyLiteral](next(enough, atoms))
