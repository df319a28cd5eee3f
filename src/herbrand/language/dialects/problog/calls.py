"""The values that clauses are called with, where a clause computes with what only its caller knows.

``p(X) :- X > 0, Y is X - 1, p(Y)`` has no value for ``X`` but the caller's. Prolog runs from the query down;
here rules run upwards, so the calls become a predicate of their own: the query ``p(3)`` is one call, and each
call of the clause makes another one. This is the transformation by magic sets (Bancilhon and others, 1986),
for those arguments alone that have no value otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace

from herbrand.errors import LanguageError
from herbrand.graphs import reached
from herbrand.language.comparisons import variables_of, with_assigned
from herbrand.language.dialects.problog.early import open_places
from herbrand.language.dialects.problog.goals import Body, PrologClause, no_value_yet
from herbrand.language.dialects.problog.names import PredicateNames, valued
from herbrand.language.formulas import unnegated
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Computed,
    Not,
    Term,
    Truth,
    Variable,
)

Places = Mapping[str, tuple[int, ...]]
"""Some arguments of predicates."""


def with_calls(
    clauses: Sequence[PrologClause], asked: Sequence[Atom], names: PredicateNames
) -> list[PrologClause]:
    """The clauses with an atom more for what their callers give them, and the clauses that list the calls.

    ``asked``: the atoms of queries and evidence, which call first.
    """
    tests = (part for clause in clauses for part in clause.body if isinstance(part, Computed | Comparison))
    if not any(_needed((test,), {}) for test in tests):
        return list(clauses)
    places, silent = _called_places(clauses, _handed_numbers(clauses))
    if not places:
        return list(clauses)
    counting = _called_places(clauses, _handed_computed(clauses, places))
    if counting[0] != places:
        with suppress(LanguageError):
            return _with_calls_at(*counting, clauses, asked, names)
    return _with_calls_at(places, silent, clauses, asked, names)


def _with_calls_at(
    places: Places,
    silent: Places,
    clauses: Sequence[PrologClause],
    asked: Sequence[Atom],
    names: PredicateNames,
) -> list[PrologClause]:
    """The same for these ``places``; raises where a call does not give one of them."""
    work = _Calls(places, silent, names)
    guarded = [work.guarded(clause) for clause in clauses]
    calls, refused = list[PrologClause](), dict[str, LanguageError]()
    for clause in guarded:
        try:
            calls += () if clause.fails else work.made_by(clause)
        except LanguageError as error:
            refused |= dict.fromkeys((head.predicate for head in clause.heads), error)
    if refused:
        left = without_unasked(clauses, refused, asked)
        if len(left) == len(clauses):
            raise next(iter(refused.values()))
        return with_calls(left, asked, names)
    calls += [PrologClause((call,), ()) for atom in asked if (call := work.call(atom)) is not None]
    for clause in calls:
        if not clause.body:
            _refuse_unknown(clause.heads[0], set())
    if work.guards and not asked:
        clause = next(clause for clause in guarded if _rests_on(clause, work.guards))
        raise LanguageError(
            "only a caller gives this clause its values, and nothing calls it",
            span=clause.span,
            hint=f"ask for it in the file: query({clause.heads[0].predicate}(3)).",
        )
    return _called([*guarded, *work.made, *dict.fromkeys(calls)], work.guards)


def without_unasked(
    clauses: Sequence[PrologClause], names: Collection[str], asked: Sequence[Atom]
) -> list[PrologClause]:
    """The clauses without those that rest on some of these predicates where no query leads to one. A clause
    of several heads stays for each that a query leads to."""
    above, below = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for clause in clauses:
        heads = {head.predicate for head in clause.heads}
        called = {part.predicate for part in map(unnegated, clause.body) if isinstance(part, Atom)}
        for name in called:
            above[name] |= heads
        for name in heads:
            below[name] |= called
    needed = reached((atom.predicate for atom in asked), below.__getitem__) if asked else names
    gone = {*reached(set(names).difference(needed), above.__getitem__)}
    return [
        clause
        for clause in clauses
        if gone.isdisjoint(heads := {head.predicate for head in clause.heads}) or not heads.isdisjoint(needed)
    ]


def _free_places(clauses: Sequence[PrologClause]) -> dict[str, tuple[int, ...]]:
    """The arguments that some clause leaves to anything, as ``0.9::t(_)`` does: asked for its answers such a
    predicate has no value to give."""
    places: dict[str, tuple[int, ...]] = {}
    for clause in clauses:
        for head in () if clause.fails else clause.heads:
            names = [term.name for term in head.arguments if isinstance(term, Variable)]
            if once := {name for name in names if names.count(name) == 1}:
                _add_places(places, head, once - valued(clause.body) - computed_in(clause.body))
    return places


def _add_places(places: dict[str, tuple[int, ...]], head: Atom, names: Set[str]) -> None:
    """Where these variables stand in a head, each at one place, beside the places that were found before."""
    known = set(places.get(head.predicate, ()))
    for name in names:
        own = [i for i, term in enumerate(head.arguments) if isinstance(term, Variable) and term.name == name]
        if known.isdisjoint(own):
            known.update(own[:1])
    if known:
        places[head.predicate] = tuple(sorted(known))


def _called_places(clauses: Sequence[PrologClause], first: Places) -> tuple[Places, Places]:
    """The arguments of each predicate that only a caller can give values, and those that give none.

    ``first``: those that callers give in any case."""
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
    """These places, with all for which a call has what is computed, and those of limits: a count of rounds
    ends what else callers hand on, though atoms of the clause would list it as well."""
    handed = dict(places)
    for clause in clauses:
        computed = computed_in(clause.body)
        for atom in map(unnegated, clause.body) if computed else ():
            if isinstance(atom, Atom) and atom.predicate in handed:
                _give(handed, atom, computed)
        for head in clause.heads if computed else ():
            if head.predicate in places:
                _give(handed, head, set(_limits(clause.body, variables_of(_at(head, places)).keys())))
    return handed


def _give(places: dict[str, tuple[int, ...]], atom: Atom, names: Set[str]) -> None:
    """Add the places where an atom has one of these variables."""
    own = {place for place, t in enumerate(atom.arguments) if isinstance(t, Variable) and t.name in names}
    places[atom.predicate] = tuple(sorted(own.union(places[atom.predicate])))


def _limits(body: Body, names: Set[str]) -> Iterator[str]:
    """The variables that one of these is above or below."""
    for part in body:
        if isinstance(part, Comparison) and part.operator not in ("=", "!="):
            compared = variables_of(part).keys()
            yield from compared - names if compared & names else ()


def _handed_numbers(clauses: Sequence[PrologClause]) -> dict[str, tuple[int, ...]]:
    """The arguments left to anything for which a call has a number that is computed there, that no other
    atom has and no equation names: no constant may be this number, so that anything is what is called."""
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
                terms = {place: atom.arguments[place] for place in free.get(atom.predicate, ())}
                own = {p for p, t in terms.items() if isinstance(t, Variable) and t.name in computed}
                if own:
                    handed[atom.predicate] = tuple(sorted(own.union(handed.get(atom.predicate, ()))))
    return handed


def _late(body: Body, places: Places, silent: Places) -> Iterator[set[str]]:
    """What each call needs that only goals behind it would give: there its caller has to."""
    tests = [part for part in body if isinstance(part, Comparison | Computed)]
    for place, literal in enumerate(body):
        atom = literal.operand if isinstance(literal, Not) else literal
        if isinstance(atom, Atom) and (terms := _at(atom, places)):
            needed = set(variables_of(terms))
            for test in reversed(tests):
                needed |= variables_of(test).keys() if _assigned(test) in needed else set()
            yield _missing((*body[:place], *tests), needed, silent)


def _missing(body: Body, needed: set[str], silent: Places) -> set[str]:
    """The needed variables that have no value, but for those that the body computes from the others."""
    tests = [part for part in body if isinstance(part, Comparison | Computed)]
    computed = {test.left.name for test in tests if test.operator == "=" and isinstance(test.left, Variable)}
    known = valued(body, silent)
    given = needed - known - computed
    return given | needed - with_assigned(tests, known | given)


def _needed(body: Body, places: Places) -> set[str]:
    """The variables that goals compute with, compare, or hand on."""
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
    """The clauses without those that nobody calls: nothing says which values these are for."""
    while True:
        silent = guards - {head.predicate for clause in clauses for head in clause.heads}
        if not silent:
            return clauses
        guards = guards - silent
        clauses = [clause for clause in clauses if not _rests_on(clause, silent)]


def _rests_on(clause: PrologClause, predicates: set[str]) -> bool:
    return any(isinstance(part, Atom) and part.predicate in predicates for part in clause.body)


def _without_unused(body: list[BodyLiteral], call: Atom) -> list[BodyLiteral]:
    """The body without values of variables that nothing else of the clause names."""
    while True:
        named = Counter(name for part in (call, *body) for name in variables_of(part))
        left = [part for part in body if not (assigned := _assigned(part)) or named[assigned] > 1]
        if len(left) == len(body):
            return left
        body = left


def computed_in(body: Body) -> set[str]:
    """The variables to which arithmetic gives a value, whatever it is of."""
    tests = (part for part in body if isinstance(part, Computed))
    return {name for test in tests if (name := _assigned(test)) is not None}


def _assigned(literal: BodyLiteral) -> str | None:
    """The variable that a test gives a value, which always has one."""
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
    """Clauses and their calls, by the arguments that callers give."""

    def __init__(self, places: Places, silent: Places, names: PredicateNames) -> None:
        """``silent``: the places to which atoms give no values, ``places`` among them."""
        self._places, self._silent, self._names = places, silent, names
        self.made: list[PrologClause] = []
        self.guards: set[str] = set()

    def call(self, atom: Atom) -> Atom | None:
        """The atom that says that another one is called; ``None`` where nobody needs to know."""
        if atom.predicate not in self._places:
            return None
        terms = tuple(_at(atom, self._places))
        name = self._names.of(f"calls of {atom.predicate}", len(terms), about=atom.predicate)
        return Atom(name, terms, atom.span)

    def guarded(self, clause: PrologClause) -> PrologClause:
        """The clause for those values alone that it is called with, if it has no others or hands them on."""
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

    def made_by(self, clause: PrologClause) -> Iterator[PrologClause]:
        """What a clause calls, under what must hold for it to come so far."""
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
        """The atoms that give limits to what is computed from the goals that stand there."""
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
        self, wanted: Set[str], body: Sequence[BodyLiteral], tests: Sequence[BodyLiteral]
    ) -> list[BodyLiteral]:
        """The first atom that gives the wanted variables values, by tests too; else as many as it takes."""
        atoms = [part for part in body if isinstance(part, Atom)]
        ways = [[], *([atom] for atom in atoms), *(atoms[:count] for count in range(2, len(atoms)))]
        enough = (way for way in ways if wanted <= valued([*way, *tests], self._silent))
        return list[BodyLiteral](next(enough, atoms))
