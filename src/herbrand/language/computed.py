"""Separation of computed values from a theory, which leaves atoms and comparisons of terms alone.

Each rule or formula that computes a value gets one more atom, of a predicate that is made for it. A
:class:`Definition` states for which constants this atom holds; :mod:`herbrand.program.computed_rows` lists
them from the facts. So every engine evaluates arithmetic and aggregates in the same way as any table.

>>> from herbrand.language.parse import parse_theory
>>> from herbrand.language.show import show_statement
>>> found = separated(parse_theory("price(x, p) :- net(x, n), p = n * 1.19"))
>>> found.definitions[0].head.arguments
(Variable(name='p'), Variable(name='n'))
>>> print(*show_statement(found.theory.rules[0]))
price(x, p) :- net(x, n), p = n * 1.19
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from herbrand.errors import Mistakes, Span
from herbrand.language.comparisons import (
    Test,
    UnboundError,
    aggregates,
    all_fixed_in,
    body_computes,
    bound_variables,
    computes,
    equations_of,
    fixed_in,
    in_order,
    inner_atoms,
    inner_parts,
    leaf_computes,
    left_free,
    locals_apart,
    orders_text,
    outer_variables,
    places_of,
    plain_variables,
    test_of,
    unbound_terms,
    variables_of,
    with_aggregates,
    with_assigned,
)
from herbrand.language.formulas import (
    Aggregate,
    And,
    AnyAtom,
    Atom,
    Comparison,
    Computed,
    Expression,
    Formula,
    Implies,
    Not,
    Term,
    Truth,
    Variable,
    children,
    predicates_in,
    unvalued,
    walk,
    with_children,
)
from herbrand.language.names import placeholder, shown_name
from herbrand.language.scope import Renaming, with_terms, written
from herbrand.language.show import named_value, show_expression, show_formula, show_with
from herbrand.language.syntax import (
    Alternative,
    Bound,
    Choice,
    Rule,
    Statement,
    WeightedFormula,
    formulas_in,
    learned_by,
)
from herbrand.language.theory import Theory
from herbrand.language.totals import Number, compared_totals, with_amount

_TYPING = AnyAtom | Comparison
"""Formulas that give variables their types; the two sides of a comparison share one."""


@dataclass(frozen=True)
class Definition:
    """``head`` holds where the literals of ``body`` and all ``tests`` hold.

    ``tests`` are in an order in which each has values for its variables. ``made``: variables whose values are
    computed. ``typed_by``: atoms and comparisons that give the variables types. ``counting``: the rules by
    which engines count uncertain atoms, if the test compares counts or sums.
    """

    head: Atom
    body: tuple[Formula, ...]
    tests: tuple[Test, ...]
    made: frozenset[str]
    typed_by: tuple[Formula, ...]
    span: Span | None = field(default=None, compare=False)
    counting: Counting | None = None

    @property
    def typing(self) -> Rule:
        """A rule for type inference alone, whose atoms give each variable a type."""
        inside = [
            part for test in self.tests for one in aggregates(test) for part in inner_parts(one, _TYPING)
        ]
        atoms = variables_of([part for part in self.typed_by if isinstance(part, AnyAtom)])
        limits = (
            test
            for test in self.tests
            if isinstance(test, Comparison)
            and orders_text(test)
            and variables_of(test).keys() <= atoms.keys()
        )
        counting = () if self.counting is None else (*self.counting.members, *self.counting.definitions)
        heads = (one.head for one in counting)
        return Rule(self.head, (*self.typed_by, *limits, *inside, *heads), span=self.span)  # type: ignore[arg-type]

    def called(self) -> Iterator[str]:
        """Yield the predicates whose rows the definition reads outside of aggregates."""
        return itertools.chain.from_iterable(map(predicates_in, self.body))

    def aggregated(self) -> Iterator[tuple[str, Aggregate]]:
        """Yield each predicate that must be complete before the definition, with the aggregate over it."""
        for test in self.tests:
            for one in aggregates(test):
                yield from ((atom.predicate, one) for atom in inner_atoms(one))


@dataclass(frozen=True)
class Counting:
    """A comparison of counts and sums as rules.

    ``members``: one rule for each count or sum, which derives an atom for each tuple that it counts or adds.
    ``rule`` derives the definition's head; its body is a :class:`Computed` over the heads of members alone.
    The first term of a sum is the amount that is added, and only the terms after it are free.
    ``definitions``: definitions of the values that the bodies of members compute.
    """

    members: tuple[Rule, ...]
    rule: Rule
    definitions: tuple[Definition, ...]


@dataclass(frozen=True)
class Separated:
    """A theory without computed values, and the ``definitions`` of the atoms in their place.

    ``theory`` has one statement for each statement of the original; ``helpers`` are additional rules and
    choices for atoms of computed values that need not be constants.
    """

    theory: Theory
    definitions: tuple[Definition, ...]
    helpers: tuple[Rule | Choice, ...] = ()

    @property
    def typing(self) -> Theory:
        """The theory with the helpers and a rule for each definition, for type inference."""
        literals = (*self.helpers, *(one.typing for one in with_inner(self.definitions)))
        return self.theory + Theory(literals) if literals else self.theory


def with_inner(definitions: Iterable[Definition]) -> Iterator[Definition]:
    """Yield the definitions and, recursively, those that their counts and sums depend on."""
    for definition in definitions:
        yield definition
        if definition.counting is not None:
            yield from with_inner(definition.counting.definitions)


def separated(theory: Theory, mistakes: Mistakes | None = None) -> Separated:
    """Replace each computed value of a theory by an atom, and define these atoms.

    Mistakes are added to ``mistakes``, or raised if it is ``None``.
    """
    if not any(map(_statement_computes, theory.statements)):
        return Separated(theory, ())
    work = _Separation(Mistakes() if mistakes is None else mistakes, _closed_places(theory))
    statements = [work.statement(statement) for statement in theory.statements]
    if mistakes is None:
        work.mistakes.raise_any()
    apart = replace(theory, statements=tuple(statements))
    return Separated(apart, tuple(work.definitions), tuple(work.helpers))


def _closed_places(theory: Theory) -> dict[str, list[bool]]:
    """For each declared predicate, whether each of its arguments has a closed type."""
    closed = {one.name for one in theory.types if one.values is not None or one.bounds is not None}
    return {one.name: [name in closed for name in one.types] for one in theory.predicates}


def _statement_computes(statement: Statement) -> bool:
    """Whether a statement computes values and so has to be separated."""
    match statement:
        case Rule(body=body) | Choice(body=body):
            return body_computes(body)
        case WeightedFormula() | Bound():
            return any(map(computes, formulas_in(statement)))
    return False


def _with_equations(test: Test, tests: Iterable[Test], bound: Collection[str], renaming: Renaming) -> Test:
    """Copy the equations that variables of a comparison of totals need into its aggregates.

    The comparison then stands without the other tests. Any other test is returned as it is.
    """
    if compared_totals(test, bound) is None:
        return test
    equations = equations_of(tests, bound)

    def whole(one: Aggregate) -> Expression:
        needed = dict[str, Test]()
        variables = [*variables_of(one)]
        for name in variables:
            if name in equations and name not in needed:
                needed[name], _ = equations[name]
                variables += variables_of(needed[name])
        if not needed:
            return one
        own = replace(one, body=(*needed.values(), *one.body))
        return renaming.expression(own, {name: renaming.new(name) for name in needed})

    return with_aggregates(test, whole)


@dataclass(frozen=True, eq=False)
class _Body:
    """A body split into literals that join tables and tests that compute values.

    ``heads`` and the variables ``by`` of weights use the values. ``literals``: the joining literals as
    written; ``plain``: the same with a distinct name for each ``_``. ``tests``: the tests with such names, in
    an order in which each has values for its variables. ``stated``: pairs of a test and its form as written.
    ``joinable``: variables that literals bind; ``bound``: these and the variables in a choice's heads that
    range over their types. ``outside``: variables that stand outside of aggregates.
    """

    heads: Sequence[Formula]
    by: Sequence[Variable]
    literals: Sequence[Formula]
    plain: Sequence[Formula]
    tests: Sequence[Test]
    stated: Sequence[tuple[Test, Test]]
    joinable: Set[str]
    bound: Set[str]
    outside: Set[str]

    @cached_property
    def used(self) -> set[str]:
        """Variables that the tests need or give values to."""
        return all_fixed_in(self.tests, self.outside)

    @cached_property
    def kept(self) -> list[str]:
        """Arguments of the atoms that replace the tests: used variables that are bound or stand elsewhere."""
        others = variables_of([*self.heads, *self.plain, *self.by])
        every = variables_of([*others.values(), *self.tests])
        return [name for name in every if name in self.used and (name in self.bound or name in others)]

    @cached_property
    def joined(self) -> tuple[Formula, ...]:
        """The literals to evaluate before anything is computed.

        A negated atom with a variable that only a test or the head gives a value stays in the rule alone:
        here it would state that the atom holds for no value at all.
        """
        outside = outer_variables([*self.heads, *self.by], self.tests)
        return tuple(
            literal
            for literal in self.plain
            if not isinstance(literal, Not)
            or (variables_of(literal).keys() - self.joinable).isdisjoint(outside)
        )

    @cached_property
    def typed(self) -> tuple[Formula, ...]:
        """Atoms and comparisons that give the variables types."""
        parts = (part for x in (*self.plain, *self.heads) for part in walk(x))
        return tuple(part for part in parts if isinstance(part, _TYPING))

    @property
    def binding(self) -> list[object]:
        """Literals without ``not``, and ``by``: the values of their variables must be constants."""
        return [*(literal for literal in self.plain if not isinstance(literal, Not)), *self.by]

    @property
    def groups(self) -> list[list[Test]]:
        """The tests in groups, with one atom for each group; a comparison of totals is a group by itself."""
        alone = [test for test in self.tests if compared_totals(test, self.bound)]
        together = [test for test in self.tests if test not in alone]
        return [group for group in (together, *([test] for test in alone)) if group]

    def text(self, group: Collection[Test], names: Sequence[str]) -> str:
        """Text of these tests as written, with marks in place of the names."""
        chosen = frozenset(group)
        return ", ".join(_marked(written, names) for test, written in self.stated if test in chosen)

    def making(self, variables: Collection[str]) -> tuple[tuple[Test, ...], list[str]]:
        """Equations that give the ``variables`` variables values, and the arguments of their definition."""
        names, needed = set(variables), list[Test]()
        for name, (test, expression) in reversed(equations_of(self.tests, self.bound).items()):
            if name in names:
                needed.append(test)
                names |= fixed_in(expression, self.outside)
        kept = [name for name in self.kept if name in variables or (name in names and name in self.bound)]
        return tuple(reversed(needed)), kept


class _Separation:
    """One pass over the statements; each computed value adds a definition."""

    def __init__(self, mistakes: Mistakes, closed: Mapping[str, Sequence[bool]]) -> None:
        self.definitions: list[Definition] = []
        self.helpers: list[Rule | Choice] = []
        self.mistakes, self._closed = mistakes, closed
        self._renaming = Renaming(numbered=True)
        self._numbers = itertools.count()

    def statement(self, statement: Statement) -> Statement:
        if not _statement_computes(statement):
            return statement
        match statement:
            case Rule(head=head, body=body, weight=weight):
                _, body = self._body(body, [head], learned_by(weight), statement)
                return replace(statement, body=body)
            case Choice(alternatives=alternatives, body=body):
                by = [v for a in alternatives for v in _chance_variables(a.probability)]
                heads, body = self._body(body, [a.head for a in alternatives], by, statement)
                branches = (replace(a, head=head) for a, head in zip(alternatives, heads, strict=True))
                return replace(statement, alternatives=tuple(branches), body=body)
            case WeightedFormula(formula=formula, where=where, weight=weight):
                named = [*where, *learned_by(weight)]
                return replace(statement, formula=self._formula(formula, named, statement))
            case Bound(event=event, given=given):
                if computes(event):
                    statement = replace(statement, event=self._formula(event, (), statement, given))
                if given is not None and computes(given):
                    statement = replace(statement, given=self._formula(given, (), statement, event))
        return statement

    def _body(
        self,
        body: Sequence[Any],
        heads: Sequence[Any],
        by: Sequence[Variable],
        statement: Rule | Choice,
        given: Collection[str] = (),
    ) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """The heads, and the body with an atom in place of its tests; ``given``: variables with values."""
        renaming = Renaming()
        named = [renaming.formula(literal) for literal in body]
        joining, computing = places_of(named)  # each `_` is another variable, so names decide
        literals = tuple(body[place] for place in joining)
        plain, tests = [named[place] for place in joining], [test_of(named[place]) for place in computing]
        joinable = bound_variables(plain) | set(given)
        bound = joinable | (_ranging(heads, tests, joinable) if isinstance(statement, Choice) else set())
        outside = outer_variables([*heads, *plain, *by], tests)
        if self._refuse_unbound_terms(tests, outside):
            return heads, literals
        apart = [locals_apart(test, outside, renaming) for test in tests]
        try:
            tests = in_order(apart, bound, outside)
        except UnboundError as unbound:
            self._refuse(unbound.variable)
            return heads, literals
        whole = {test: _with_equations(test, tests, bound, renaming) for test in tests}
        stated = [(whole[test], test_of(body[place])) for test, place in zip(apart, computing, strict=True)]
        ordered = list(whole.values())
        return self._replaced(
            _Body(heads, by, literals, plain, ordered, stated, joinable, bound, outside), statement
        )

    def _replaced(self, body: _Body, statement: Rule | Choice) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """The heads, and the literals with an atom for each group of tests.

        Atoms with loose variables (see :meth:`_loose`) are replaced as well.
        """
        heads, literals, loose = body.heads, body.literals, self._loose(body)
        if loose:
            apart = partial(self._apart, loose, body, statement)
            literals = [
                replace(x, operand=apart(x.operand, True)) if isinstance(x, Not) else x for x in literals
            ]
            heads = [apart(head, False) for head in heads]
        kept = [name for name in body.kept if name not in loose]
        return heads, (*literals, *(self._group(body, group, kept, statement) for group in body.groups))

    def _group(
        self, body: _Body, tests: Sequence[Test], kept: Iterable[str], statement: Rule | Choice
    ) -> Atom:
        """Add the definition of a group of tests; return its atom."""
        used = all_fixed_in(tests, body.outside)
        names = [name for name in kept if name in used]
        atom = self._defined(body.text(tests, names), names, tests[0].span)
        counting = self._counting(atom, tests[0], body.outside, body.bound, statement)
        self._define(atom, body, tests, statement, counting)
        return atom

    def _define(
        self,
        atom: Atom,
        body: _Body,
        tests: Sequence[Test],
        statement: Statement,
        counting: Counting | None = None,
    ) -> None:
        computed = frozenset(all_fixed_in(tests, body.outside) - body.bound)
        self.definitions.append(
            Definition(atom, body.joined, tuple(tests), computed, body.typed, statement.span, counting)
        )

    def _loose(self, body: _Body) -> set[str]:
        """Computed variables at arguments of closed types, whose values may lie outside the type.

        An atom with such a value does not hold, and a head with it is no outcome of its choice, while heads
        with other variables still are.
        """
        computed, heads = body.used - body.bound, body.heads
        shared = set.intersection(*(set(variables_of(head)) for head in heads)) if heads else set()
        own = computed - variables_of(body.binding).keys() - shared
        parts = [*heads, *(x.operand for x in body.plain if isinstance(x, Not))] if own else []
        closed = set[str]()
        for part in parts:
            if isinstance(part, AnyAtom):
                atom = unvalued(part)
                places = zip(atom.arguments, self._closed.get(atom.predicate, ()), strict=False)
                closed |= variables_of([term for term, listed in places if listed]).keys()
        return own & closed

    def _apart(self, loose: set[str], body: _Body, statement: Statement, part: Any, negated: bool) -> Any:
        """Replace an atom that has loose variables by an atom without them.

        For a negated atom, an added rule derives the replacement from the atom and the computed values. For a
        head, an added rule or choice derives the head from the replacement, where the computed values are
        constants of its types.
        """
        own = variables_of(part).keys() & loose
        if not own:
            return part
        tests, names = body.making(own)
        computed = self._defined(", ".join(_marked(test, names) for test in tests), names, part.span)
        self._define(computed, body, tests, statement)
        elsewhere = {*variables_of([*body.binding, *body.heads]), *body.used, *body.bound}
        outer = [name for name in variables_of(part) if name in elsewhere]
        arguments = [name for name in dict.fromkeys([*names, *outer]) if name not in own]
        atom = self._defined(_as_stated(part, tests, arguments), arguments, part.span)
        if negated:
            self.helpers.append(Rule(atom, (part, computed), span=statement.span))
        elif isinstance(part, Atom):
            self.helpers.append(Rule(part, (atom, computed), span=statement.span))
        else:
            certain = (Alternative(1.0, part),)
            self.helpers.append(Choice(certain, (atom, computed), span=statement.span))
        return atom

    def _defined(self, text: str, names: Sequence[str], span: Span | None) -> Atom:
        """An atom of a new predicate, whose name holds the text that it replaces."""
        name = f"`{next(self._numbers)}`{text}"
        return Atom(name, tuple(Variable(n, span) for n in names), span)

    def _counting(
        self,
        head: Atom,
        test: Test,
        outside: Collection[str],
        bound: Collection[str],
        statement: Statement,
    ) -> Counting | None:
        """The rules by which engines count uncertain atoms; ``None`` if the test does not compare totals."""
        totals_compared = compared_totals(test, bound)
        if totals_compared is None:
            return None
        members, totals = list[Rule](), list[tuple[Number, Aggregate]]()
        own, self.definitions = self.definitions, []
        for number, (times, one) in enumerate(totals_compared.totals):
            whole, body = with_amount(one, number)
            local = [v for v in variables_of(whole.terms).values() if v.name not in outside]
            names = [name for name in variables_of(whole) if name in outside] + [v.name for v in local]
            rule = Rule(self._defined(show_expression(one), names, one.span), body, span=statement.span)
            _, inner_body = self._body(body, [rule.head], (), rule, set(names).intersection(bound))
            members.append(replace(rule, body=inner_body))
            amount = whole.terms[: whole.function == "sum"]
            totals.append((times, Aggregate(whole.function, (*amount, *local), (rule.head,))))
        inner, self.definitions = tuple(self.definitions), own
        compared = replace(totals_compared, totals=tuple(totals))
        total = Computed(totals_compared.operator, compared.expression, totals_compared.number, test.span)
        return Counting(tuple(members), Rule(head, (total,), span=statement.span), inner)

    def _refuse(self, variable: Variable) -> None:
        name = shown_name(written(variable.name))
        message = f"{name} has no value here: no atom binds it, and no equation gives it one"
        hint = f"bind it by an atom, or compute it: {name} = ..."
        self.mistakes.note(message, variable.span, hint)

    def _refuse_unbound_terms(self, tests: Iterable[Test], outside: Collection[str]) -> bool:
        """Refuse an aggregate with a term that none of its literals binds; return whether there was one."""
        for one, name, variable in unbound_terms(tests, outside):
            shown = shown_name(written(name))
            message = f"{one.function} is over {shown}, and no atom behind the colon binds it"
            named = "x" if shown == "_" else shown  # `_` is another variable at each place
            hint = f"name it in an atom there: {one.function}({named}: likes({named}))"
            self.mistakes.note(message, variable.span or one.span, hint)
            return True
        return False

    def _formula(
        self,
        formula: Formula,
        named: Sequence[object],
        statement: Statement,
        beside: Formula | None = None,
    ) -> Formula:
        """The formula with atoms in place of leaves that compute.

        Definitions take their variables from a twin of the formula, in which quantified variables are renamed
        apart. ``beside``: another formula whose atoms bind variables too.
        """
        renaming = Renaming()
        twin = renaming.formula(formula)
        parts = (*walk(twin), *(() if beside is None else walk(renaming.formula(beside))))
        typed = tuple(part for part in parts if isinstance(part, _TYPING) and not leaf_computes(part))
        bound = variables_of([x for x in typed if isinstance(x, AnyAtom)]).keys()
        # A variable inside an aggregate is free in the formula, unless it is one of its terms or `_`.
        leaves = [part for part in walk(twin) if isinstance(part, Computed)]
        free = {name for part in leaves for one in aggregates(part) for name in left_free(one)}
        outside = {*bound, *free, *variables_of(list(named))}
        bound = {*bound, *free}

        def changed(part: Formula, twin: Formula, context: tuple[Formula, ...]) -> Formula:
            if isinstance(twin, Test) and leaf_computes(twin):
                return self._leaf(part, twin, context, typed, bound, outside, statement)
            parts, twins = children(part), children(twin)
            if isinstance(twin, Implies):
                contexts = [context, (*context, *_conjuncts(twin.premise))]
            else:
                own = _conjuncts(twin) if isinstance(twin, And) else ()
                contexts = [(*context, *own)] * len(parts)
            changed_parts = [changed(*each) for each in zip(parts, twins, contexts, strict=True)]
            return with_children(part, changed_parts) if parts else part

        return changed(formula, twin, ())

    def _leaf(
        self,
        stated: Formula,
        test: Test,
        context: tuple[Formula, ...],
        typed: tuple[Formula, ...],
        bound: Collection[str],
        outside: Collection[str],
        statement: Statement,
    ) -> Formula:
        """The atom in place of one comparison; its truth matters only where the ``context`` atoms hold."""
        outside = {*outside, *plain_variables(test)}
        if self._refuse_unbound_terms([test], outside):
            return Truth(True, test.span)
        test = locals_apart(test, outside, self._renaming)
        variables, needed = variables_of(test), fixed_in(test, outside)
        for name in sorted(needed - set(bound)):
            self._refuse(variables[name])
            return Truth(True, test.span)
        names = [name for name in variables if name in needed]
        atom = self._defined(_marked(stated, names), names, test.span)
        counting = self._counting(atom, test, outside, bound, statement)
        self.definitions.append(
            Definition(atom, context, (test,), frozenset(), typed, statement.span, counting)
        )
        return replace(
            atom,
            arguments=tuple(
                Variable(written(n.name), n.span) for n in atom.arguments if isinstance(n, Variable)
            ),
        )


def _ranging(heads: Sequence[Formula], tests: Collection[Test], bound: Collection[str]) -> set[str]:
    """Variables of a choice's heads that range over their types: no atom binds them, and no equation gives
    them a value from other variables."""
    ranging = set[str]()
    sides = {one.name for test in tests for one in (test.left, test.right) if isinstance(one, Variable)}
    while missing := variables_of(heads).keys() - with_assigned(tests, {*bound, *ranging}):
        ranging |= (missing - sides) or {min(missing)}
    return ranging


def _marked(test: Formula, names: Sequence[str]) -> str:
    """Text of a test with a mark for each of these variables, the arguments of its atom.

    Printing the atom replaces the marks by the arguments that it then has.
    """
    return show_formula(with_terms(test, _marks(names)))


def _as_stated(part: Formula, equations: Iterable[Test], names: Sequence[str]) -> str:
    """The same for an atom, with the values that equations give its arguments where these are named after
    them."""
    values = {
        named[0]: _marked(test, names).removeprefix(f"{shown_name(named[0])} = ")
        for test in equations
        if (named := named_value(test)) is not None
    }
    return show_with(with_terms(part, _marks(names)), values)


def _marks(names: Sequence[str]) -> dict[str, Term]:
    shown = ((place, written(name)) for place, name in enumerate(names))
    return {name: Variable(placeholder(place, name)) for place, name in shown if name != "_"}


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The atoms directly in a conjunction, or the formula itself if it is an atom."""
    parts = formula.operands if isinstance(formula, And) else (formula,)
    return tuple(x for x in parts if isinstance(x, AnyAtom))


def _chance_variables(chance: object) -> tuple[Variable, ...]:
    return (chance,) if isinstance(chance, Variable) else learned_by(chance)
