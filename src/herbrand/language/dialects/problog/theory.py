"""Reader of ``.pl`` files: ProbLog's programs.

Takes a source; returns a theory of facts, rules and choices with the file's queries. ``0.3::a :- b`` is
``0.3 :: a :- b``, ``t(_)::a`` is ``? :: a``, ``evidence(a)`` a fact of a derived predicate. Every predicate
of evidence or of a query is derived, and its facts are rules ``a :- true``: as plain facts they would be
mistaken for evidence, or for the only facts of an open predicate. All mistakes are raised together.

>>> from herbrand.language.theory import show
>>> theory = read_pl(Source("t.pl", "0.3::p(X); 0.2::q(X) :- b(X), \\\\+c. b(1). 0.1::c. query(p(1))."))
>>> print(show(theory), end="")
0.3 :: p(X); 0.2 :: q(X) :- b(X), not c
b(1)
0.1 :: c
>>> [query.text for query in theory.queries]
['p(1)']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from herbrand.errors import LanguageError, Mistakes, Source
from herbrand.graphs import reached
from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.problog.builtins import READ, decided, with_tests
from herbrand.language.dialects.problog.calls import computed_in, with_calls, without_unqueried
from herbrand.language.dialects.problog.early import early_goals, given_by_calls
from herbrand.language.dialects.problog.goals import (
    BUILT_IN,
    NO_ATOMS,
    Body,
    Goals,
    PrologClause,
    calls_by_predicate,
    mutual_calls,
    no_value_yet,
    not_in_the_language,
)
from herbrand.language.dialects.problog.ground_facts import GroundFacts
from herbrand.language.dialects.problog.instances import Solutions
from herbrand.language.dialects.problog.limits import with_limits
from herbrand.language.dialects.problog.modes import by_way_of_calling
from herbrand.language.dialects.problog.names import (
    LinkedPlaces,
    Place,
    PredicateNames,
    orders_terms,
    reads_numbers,
    unbound,
    valued,
    with_one_kind,
)
from herbrand.language.dialects.problog.terms import PrologTerm, clauses, constant_value, parts_of
from herbrand.language.dialects.problog.unfolding import settled, unfolded
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Computed,
    Constant,
    Formula,
    Not,
    Term,
    Truth,
    Value,
    Variable,
    unnegated,
)
from herbrand.language.names import shown_constant
from herbrand.language.scope import with_terms
from herbrand.language.show import show_formula
from herbrand.language.syntax import (
    Alternative,
    BodyLiteral,
    Chance,
    Choice,
    FactKind,
    FactRows,
    Learned,
    Query,
    Rule,
    Statement,
    merged,
)
from herbrand.language.theory import Theory

_EVERY, _NAMED, _NUMBERS, _RANKS = "constants of", "constants of queries", "numbers of", "ranks of"
_ANY = "_"
"""Constant at a place that has no other: ``p(_) :- a`` must make ``q :- p(_)`` true nevertheless."""


def read_pl(source: Source) -> Theory:
    """Read the theory of a program, with its queries."""
    return _Reader(source).theory()


def read_example(source: Source) -> Theory:
    """Read the evidence of one world, on atoms that a program elsewhere defines."""
    return _Reader(source, is_example=True).theory()


SHORT = 1_000
"""Characters of a text of which no runs of facts are looked for, as its clauses take less time."""


class _Reader:
    """Reader of one file, with the clauses, queries and evidence read so far."""

    def __init__(self, source: Source, is_example: bool = False) -> None:
        self._mistakes = Mistakes()
        self._names = PredicateNames()
        self._goals = Goals(self._names)
        self._clauses: list[PrologClause] = []
        self._evidence: list[tuple[Atom, bool]] = []
        self._queries: list[tuple[Atom, bool]] = []
        self._conditional: list[tuple[Atom, bool, Body]] = []
        self._observed: list[tuple[Atom, bool, Body]] = []
        self._undefined_fails = self._is_example = is_example
        self._uses_libraries = False
        self._defined: dict[str, dict[int, str]] = {}
        facts = GroundFacts(source, self._defined, self._clauses)
        for term in clauses(source, self._mistakes, facts.read if len(source.text) > SHORT else None):
            with self._mistakes.collecting():
                self._read(term)
        self._clauses += self._goals.made
        self._mistakes.raise_any()

    def theory(self) -> Theory:
        self._define_all()
        self._mistakes.raise_any()
        self._instantiate_queries()
        self._keep_calls_apart()
        self._mistakes.raise_any()
        queried_atoms = self._asked_atoms()
        self._clauses = with_limits(decided(self._clauses, queried_atoms, self._goals.tests, self._names))
        self._clauses = [*map(settled, unfolded(self._clauses, {atom.predicate for atom in queried_atoms}))]
        self._clauses = with_calls(self._clauses, queried_atoms, self._goals.tests, self._names)
        self._condition()
        self._mention_queries()
        self._give_one_kind()
        self._bind_heads()
        self._order_by_atoms()
        derived = self._derived()
        statements: list[Statement] = []
        for clause in self._clauses:
            with self._mistakes.collecting():
                statements.append(_statement(clause, derived))
        statements += [_fact(atom, "true" if holds else "false") for atom, holds in self._evidence]
        queries = dict.fromkeys(self._asked(atom, positive) for atom, positive in self._queries)
        self._mistakes.raise_any()
        spelled, made_for = dict(self._names.spelled), dict(self._names.made_for)
        return Theory(tuple(merged(statements)), tuple(queries), spelled, made_for, self._names.calls)

    # Clauses

    def _read(self, term: PrologTerm) -> None:
        if term.is_operator(":-", 1):
            self._directive(term.arguments[0])
            return
        head, goal = term, None
        if term.is_operator(":-") or term.is_operator("<-"):
            head, goal = term.arguments
        if head.name == "query" and len(head.arguments) == 1:
            self._query(head.arguments[0], goal, term)
        elif head.name == "evidence" and 1 <= len(head.arguments) <= 2:
            self._evidence_of(head, goal)
        else:
            self._clause(head, goal, term)

    def _directive(self, goal: PrologTerm) -> None:
        if goal.name == "unknown" and [str(each) for each in goal.arguments] == ["fail"]:
            self._undefined_fails = True
            return
        if goal.is_operator("use_module", 1) and goal.arguments[0].is_operator("library", 1):
            self._uses_libraries = True
            return
        hint = "a program is read without other files; of libraries only what is not called is left out"
        raise LanguageError(f"the directive {goal.indicator} is not read", span=goal.span, hint=hint)

    def _clause(self, head: PrologTerm, goal: PrologTerm | None, whole: PrologTerm) -> None:
        parts = list(parts_of(head, ";"))
        heads = tuple(self._goals.head(_head(part)) for part in parts)
        for part, defined in zip(parts, heads, strict=True):
            self._defined.setdefault(_head(part).name, {})[len(defined.arguments)] = defined.predicate
        bodies = [()] if goal is None else self._goals.bodies(goal, whole)
        if not any(part.is_operator("::") for part in parts):
            if len(parts) > 1:
                hint = "give each head its probability: 0.4::a; 0.6::b"
                raise LanguageError("a clause has one head", span=head.span, hint=hint)
            self._clauses += [PrologClause(heads, body, span=whole.span) for body in bodies]
            return
        computed: list[Computed] = []
        chances = _for_the_same_values([self._chance(part, computed) for part in parts])
        bodies = [(*body, *computed) for body in bodies]
        for body in self._goals.instances(bodies, heads, whole):
            self._clauses.append(PrologClause(heads, body, chances, whole.span))

    def _chance(self, part: PrologTerm, computed: list[Computed]) -> Chance:
        """Read the probability before ``::``; equations of computed ones are added to ``computed``."""
        if not part.is_operator("::"):
            raise LanguageError("every head of this clause needs a probability", span=part.span)
        chance = part.arguments[0]
        number = constant_value(chance)
        if number is not None:
            return float(number)
        if chance.kind == "variable":
            return Variable(chance.name, chance.span)
        if chance.name == "t" and chance.arguments:
            by = [self._goals.term(each) for each in chance.arguments[1:]]
            return Learned(tuple(t for t in by if isinstance(t, Variable)), _start(chance.arguments[0]))
        if chance.arguments:
            written = str(chance) if chance.span is None else chance.span.text
            own = Variable(" ".join(written.split()), chance.span)
            if all(equation.left != own for equation in computed):
                computed.append(Computed("=", own, self._goals.number(chance), chance.span))
            return own
        hint = "decisions and utilities are not read" if chance.name == "?" else "as in 0.3::a or 1/3::a"
        raise LanguageError(f"{chance} is no probability", span=chance.span, hint=hint)

    # Queries and evidence

    def _query(self, asked: PrologTerm, goal: PrologTerm | None, whole: PrologTerm) -> None:
        atom, positive = self._named(asked, "query")
        for body in [()] if goal is None else self._goals.bodies(goal, whole):
            self._conditional.append((atom, positive, body))

    def _evidence_of(self, evidence: PrologTerm, goal: PrologTerm | None) -> None:
        """Read evidence; its second argument is its truth value, or a variable that gets it from the body."""
        what, *truths = evidence.arguments
        atom, positive = self._named(what, "evidence", open_ended=True)
        if self._is_example and not (goal is None and _is_ground(atom)):
            hint = "name each instance: evidence(a(1)). evidence(a(2), false)."
            raise LanguageError(
                "an example observes ground atoms, without a body", span=evidence.span, hint=hint
            )
        bodies = [()] if goal is None else self._goals.bodies(goal, evidence)
        truth = truths[0] if truths else PrologTerm("name", "true")
        given: dict[str, Body] = {truth.name: ()}
        if truth.kind == "variable" and bodies and all(truth.name in variables_of(body) for body in bodies):
            own = Variable(truth.name, truth.span)
            given = {value: (Comparison("=", own, Constant(value)),) for value in ("true", "false")}
        for value, same in given.items():
            if value not in ("true", "false"):
                raise LanguageError(f"{truth} is neither true nor false", span=truth.span)
            holds = positive == (value == "true")
            self._observed += [(atom, holds, (*same, *body)) for body in bodies]

    def _named(self, term: PrologTerm, of: str, open_ended: bool = False) -> tuple[Atom, bool]:
        """Read the atom of a query or of evidence, and whether it stands without ``\\+``."""
        positive = not term.is_operator("\\+", 1)
        term = term if positive else term.arguments[0]
        if term.indicator in NO_ATOMS:
            hint = f"give it a name: both :- a, b. {of}(both)."
            raise LanguageError(
                f"{of} is of one atom, and {term.indicator} makes none", span=term.span, hint=hint
            )
        return self._goals.atom(term, open_ended), positive

    def _asked(self, atom: Atom, positive: bool) -> Query:
        name = self._names.spelled.get(atom.predicate, atom.predicate)
        spelled = atom if name == atom.predicate else replace(atom, predicate=name)
        shown = show_formula(spelled).replace(" ", "")
        if positive:
            return Query(atom, shown, atom.span)
        return Query(Not(atom, atom.span), f"\\+{shown}", atom.span)

    def _instantiate_queries(self) -> None:
        """Replace queries and evidence by their instances for which their bodies can hold."""
        solutions = Solutions(self._clauses, self._goals.tests)
        for atom, positive, body in self._conditional:
            with self._mistakes.collecting():
                self._queries += [(each, positive) for each in solutions.instances(atom, body)]
        for atom, holds, body in self._observed:
            with self._mistakes.collecting():
                instances = _observed_instances(solutions, atom, holds, body)
                self._evidence += [(each, holds) for each in instances]

    # The program as a whole

    def _define_all(self) -> None:
        """Give a meaning to every predicate that a goal names and no clause defines.

        It is a built-in test, fails if the file says so, or else is refused if a query leads to it; clauses
        that call it are dropped if none does.
        """
        parts = [
            part
            for atom, _, body in (*self._conditional, *self._observed)
            for part in (atom, *map(unnegated, body))
        ]
        queries = [part for part in parts if isinstance(part, Atom)]
        defined = set[str]().union(*(clause.derived for clause in self._clauses))
        unknown = set[str]().union(*(clause.called for clause in self._clauses)) - defined
        if unknown:
            self._clauses = without_unqueried(self._clauses, unknown, queries)
        used = [*(unnegated(part) for clause in self._clauses for part in clause.body), *queries]
        own = dict[str, str]()
        for part in used:
            if not isinstance(part, Atom) or part.predicate in defined:
                continue
            defined.add(part.predicate)
            name = self._names.spelled.get(part.predicate, part.predicate)
            indicator = f"{name}/{len(part.arguments)}"
            if indicator in READ:
                own[part.predicate] = indicator
            elif indicator in BUILT_IN:
                self._mistakes.add_all(not_in_the_language(indicator, part.span))
            elif self._undefined_fails and not self._uses_libraries:
                head = Atom(part.predicate, tuple(Variable(f"A{i}") for i in range(len(part.arguments))))
                self._clauses.append(PrologClause((head,), (Truth(False),), span=part.span))
            else:
                hint = "what libraries define is not read" if self._uses_libraries else ""
                self._mistakes.note(f"no clause defines {indicator}", part.span, hint)

        if own:
            self._read_as_tests(own, queries)

    def _read_as_tests(self, own: Mapping[str, str], queries: Sequence[Atom]) -> None:
        """Read built-in predicates as comparisons; ``own``: their indicators in the file, by name here."""
        tests = self._goals.tests
        known = given_by_calls(self._clauses, queries)
        self._clauses = [
            replace(clause, body=with_tests(clause.body, clause.heads, own, tests, given))
            for clause, given in zip(self._clauses, known, strict=True)
        ]
        for each in (self._conditional, self._observed):
            each[:] = [(atom, holds, with_tests(body, (), own, tests)) for atom, holds, body in each]

    def _asked_atoms(self) -> list[Atom]:
        return [atom for atom, _ in (*self._queries, *self._evidence)]

    def _keep_calls_apart(self) -> None:
        """Specialise predicates with goals that are tried before their variables have values, for each way
        of calling them; refuse such goals if that is not possible."""
        asked = self._asked_atoms()
        early = early_goals(self._clauses, asked, self._goals.tests)
        if not early:
            return
        before, self._clauses = self._clauses, without_unqueried(self._clauses, early, asked)
        if len(self._clauses) < len(before):
            early = early_goals(self._clauses, asked, self._goals.tests)
        if not early:
            return
        queries, evidence = ([atom for atom, _ in each] for each in (self._queries, self._evidence))
        tests = self._goals.tests
        apart = by_way_of_calling(self._clauses, queries, evidence, tests, early, self._names)
        if apart is None:
            for variable, span in early.values():
                self._mistakes.add_all(no_value_yet(variable, span))
            return
        self._clauses, renamed = apart
        for asked in (self._queries, self._evidence):
            asked[:] = [(each, holds) for atom, holds in asked for each in renamed.get(atom, [atom])]

    def _condition(self) -> None:
        """Turn rules that derive observed predicates into certain choices, in a program without choices.

        There a fact of a derived predicate would hold by itself; with choices it is evidence, which the rules
        have to derive.
        """
        observed = {atom.predicate for atom, holds in self._evidence if holds}
        if any(clause.chances for clause in self._clauses):
            return
        self._clauses = [
            replace(clause, chances=(1.0,)) if clause.heads[0].predicate in observed else clause
            for clause in self._clauses
        ]

    def _mention_queries(self) -> None:
        """Add clauses that never hold for queries with new constants or repeated variables.

        A clause gives these the types of the predicate's arguments.
        """
        telling = [atom for atom, _ in self._queries if _names_twice(atom) or _has_constants(atom)]
        if not telling:
            return
        places = LinkedPlaces([[p for p in c.formulas if not _is_bound(p)] for c in self._clauses])
        known: dict[tuple[str, int], set[Value]] = {}
        for atom in telling:
            for place in ((atom.predicate, i) for i in range(len(atom.arguments))):
                if place not in known:
                    known[place] = set(places.constants(place))
            new = any(
                isinstance(term, Constant) and term.value not in known[atom.predicate, i]
                for i, term in enumerate(atom.arguments)
            )
            if new or _names_twice(atom):
                head = Atom(self._names.of(_NAMED, 0), ())
                self._clauses.append(PrologClause((head,), (atom, Truth(False)), span=atom.span))

    def _give_one_kind(self) -> None:
        self._places = self._linked()
        if not self._places.any_mixed:
            return
        listed = dict[PrologClause, None]()
        clauses = (self._with_ranks(clause, i, listed) for i, clause in enumerate(self._clauses))
        clauses = [self._with_numbers(clause, i, listed) for i, clause in enumerate(clauses)]
        self._clauses = [*clauses, *listed]
        self._places = places = self._linked()
        for number, clause in enumerate(self._clauses):
            with self._mistakes.collecting():
                heads = tuple(with_one_kind(head, places, number) for head in clause.heads)
                body = tuple(with_one_kind(part, places, number) for part in clause.body)
                self._clauses[number] = replace(clause, heads=heads, body=body)
        self._queries = [(with_one_kind(atom, places, -1), positive) for atom, positive in self._queries]
        self._evidence = [(with_one_kind(atom, places, -1), holds) for atom, holds in self._evidence]

    def _linked(self) -> LinkedPlaces:
        return LinkedPlaces([clause.formulas for clause in self._clauses], self._asked_atoms())

    def _with_numbers(
        self, clause: PrologClause, number: int, listed: dict[PrologClause, None]
    ) -> PrologClause:
        """The clause with its tests of numbers on new variables, if atoms give the numbers as text.

        Numbers become text at places that also have text; facts that relate these texts to their numbers are
        added to ``listed``.
        """
        tests = self._goals.tests
        reading = [*clause.chances, *(part for part in clause.body if reads_numbers(part, tests))]
        given = variables_of([part for part in clause.body if isinstance(part, Atom)])
        names = [name for name in variables_of(reading) if name in given]
        mixed = [name for name in names if self._places.is_mixed((number, name))]
        if not mixed:
            return clause
        values: dict[str, Term] = {name: Variable(f"{name} as a number") for name in mixed}
        body = [with_terms(p, values) if reads_numbers(p, tests) else p for p in clause.body]
        for name in mixed:
            constants = self._places.constants((number, name))
            own = {Constant(each): Constant(each) for each in constants if not isinstance(each, str)}
            body.append(self._related(Variable(name), values[name], _NUMBERS, (number, name), own, listed))
        chances = (values.get(c.name, c) if isinstance(c, Variable) else c for c in clause.chances)
        return replace(clause, body=cast(Body, tuple(body)), chances=cast(tuple[Chance, ...], tuple(chances)))

    def _with_ranks(
        self, clause: PrologClause, number: int, listed: dict[PrologClause, None]
    ) -> PrologClause:
        """The clause with ranks in Prolog's order, numbers before texts, where ``@<`` compares both kinds."""
        body, given = list[BodyLiteral](), valued(clause.body)
        for part in clause.body:
            names = [n for n in variables_of(part) if n in given and self._places.is_mixed((number, n))]
            if names and isinstance(part, Comparison) and orders_terms(part, self._goals.tests):
                place = number, names[0]  # that of both sides, as the comparison links them
                terms = sorted(self._places.constants(place), key=lambda term: (isinstance(term, str), term))
                ranks = {Constant(term): Constant(rank) for rank, term in enumerate(terms)}
                own = {Variable(name): Variable(f"{name} in order") for name in names}
                body += [self._related(term, own[term], _RANKS, place, ranks, listed) for term in own]
                left, right = ({**ranks, **own}.get(side, side) for side in (part.left, part.right))
                part = replace(part, left=left, right=right)
            body.append(part)
        return replace(clause, body=tuple(body))

    def _related(
        self,
        term: Term,
        number: Term,
        of: str,
        place: Place,
        numbers: Mapping[Constant, Constant],
        listed: dict[PrologClause, None],
    ) -> Atom:
        """An atom that relates a term to its number; its facts are added to ``listed``."""
        first, last = self._places.leader(place)
        about = f"{of} {first}:{last}"
        name = self._names.of(about, 2, about)
        listed |= dict.fromkeys(PrologClause((Atom(name, pair),), ()) for pair in numbers.items())
        return Atom(name, (term, number))

    def _bind_heads(self) -> None:
        """Bind variables of rules' heads that no goal binds to the constants that their places can have.

        If rules compute numbers for such a place, the rule becomes a certain choice, whose unbound variables
        range over their types.
        """
        clauses = enumerate(self._clauses)
        unbound_in = {i: names for i, c in clauses if not c.chances and (names := unbound(c.heads, c.body))}
        if not unbound_in:
            return
        bound = {
            self._places.leader((number, name))
            for number, clause in enumerate(self._clauses)
            for name in computed_in(clause.body)
        }
        needed: dict[str, tuple[str, int]] = {}
        named: dict[Place, str] = {}  # places that share constants share one predicate that lists them
        for number, free in unbound_in.items():
            clause, literals = self._clauses[number], list[Atom]()
            for name, place in free.items():
                leader = self._places.leader(place)
                if leader in bound:
                    clause = replace(clause, chances=(1.0,))
                    continue
                domain = named.setdefault(leader, f"{_EVERY} {place[0]}:{place[1] + 1}")
                needed.setdefault(domain, place)
                literals.append(Atom(domain, (Variable(name),)))
            self._clauses[number] = replace(clause, body=(*literals, *clause.body))
        for domain, place in needed.items():
            values = dict.fromkeys(self._values(place)) or {_ANY: None}
            self._clauses += [PrologClause((Atom(domain, (Constant(value),)),), ()) for value in values]

    def _order_by_atoms(self) -> None:
        """Turn rules by which a predicate without choices depends on its own negation into certain choices.

        Among what choices decide, the atoms of one predicate may be negated one after the other.
        """
        if not any(isinstance(part, Not) for clause in self._clauses for part in clause.body):
            return
        below, groups = calls_by_predicate(self._clauses), mutual_calls(self._clauses)
        group = {name: number for number, names in enumerate(groups) for name in names}
        drawn = {name for clause in self._clauses if clause.chances for name in clause.derived}
        for number, clause in enumerate(self._clauses):
            own = group[clause.heads[0].predicate]
            negated = (part.operand for part in clause.body if isinstance(part, Not))
            if (
                not clause.chances
                and any(isinstance(atom, Atom) and group.get(atom.predicate) == own for atom in negated)
                and drawn.isdisjoint(reached(clause.derived, below.__getitem__))
            ):
                self._clauses[number] = replace(clause, chances=(1.0,))

    def _values(self, place: tuple[str, int]) -> Iterable[Value]:
        mixed, values = self._places.is_mixed(place), self._places.constants(place)
        return [shown_constant(v) if not isinstance(v, str) else v for v in values] if mixed else values

    def _derived(self) -> set[str]:
        """Predicates with rules or choices, and those of evidence and queries."""
        derived = {head.predicate for c in self._clauses if not c.is_fact for head in c.heads}
        queried = {atom.predicate for atom, _ in self._queries}
        return derived | queried | {atom.predicate for atom, _ in self._evidence}


def _observed_instances(solutions: Solutions, atom: Atom, holds: bool, body: Body) -> list[Atom]:
    """Instances of evidence; as in ProbLog, an atom with variables is observed for all possible instances."""
    instances = list[Atom]()
    for each in solutions.instances(atom, body):
        own = [each] if _is_ground(each) else solutions.possible(each)
        if holds and not own:
            raise LanguageError("no clause can make this evidence true", span=atom.span)
        instances += own
    return instances


def _names_twice(atom: Atom) -> bool:
    names = [t.name for t in atom.arguments if isinstance(t, Variable) and not t.anonymous]
    return len(set(names)) < len(names)


def _is_bound(part: Formula) -> bool:
    """Whether a part of a clause is an order comparison, whose constants are not values of a place."""
    return isinstance(part, Comparison) and part.operator not in ("=", "!=")


def _is_ground(atom: Atom) -> bool:
    return all(isinstance(term, Constant) for term in atom.arguments)


def _has_constants(atom: Atom) -> bool:
    return any(isinstance(term, Constant) for term in atom.arguments)


def _statement(clause: PrologClause, derived: set[str]) -> Statement:
    if clause.chances:
        alternatives = zip(clause.chances, clause.heads, strict=True)
        parts = tuple([Alternative(chance, head, head.span) for chance, head in alternatives])
        return Choice(parts, clause.body, span=clause.span)
    head = clause.heads[0]
    if clause.body or head.predicate in derived:
        return Rule(head, clause.body or (Truth(True),), span=clause.span)
    return _fact(head, "true")


def _fact(atom: Atom, kind: FactKind) -> FactRows:
    columns = tuple((term.value,) for term in atom.arguments if isinstance(term, Constant))
    starts = () if atom.span is None else (atom.span.start,)
    return FactRows(atom.predicate, columns, 1, kind, span=atom.span, starts=starts)


def _start(term: PrologTerm) -> float | None:
    """Initial value of a learned probability; ``None`` for ``t(_)``."""
    number = constant_value(term)
    if term.kind == "variable":
        return None
    if number is None or not 0 <= number <= 1:
        hint = "t(_) to be learned from any start, or a probability such as t(0.3) to start from"
        raise LanguageError(f"{term} is no start of a probability", span=term.span, hint=hint)
    return float(number)


def _for_the_same_values(chances: Sequence[Chance]) -> tuple[Chance, ...]:
    """The probabilities with all learned ones for the same variables, as in ``t(_, X)::a; t(_)::b``."""
    by = tuple(dict.fromkeys(v for chance in chances if isinstance(chance, Learned) for v in chance.by))
    return tuple(replace(chance, by=by) if isinstance(chance, Learned) else chance for chance in chances)


def _head(part: PrologTerm) -> PrologTerm:
    return part.arguments[1] if part.is_operator("::") else part
