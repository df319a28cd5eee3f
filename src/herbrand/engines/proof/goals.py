"""Goals: an atom, or literals joined by ``and``, checked against the signature and the facts.

Constants become inputs, so that goals of one shape share one plan and can be answered in one pass.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("uncle(x, y) :- parent(x, z), brother(z, y)")
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> program = HornProgram.of(theory.rules, *load_facts((), check(theory), facts))
>>> goal = read_goal('uncle("liam", y)', program)
>>> print(goal.shape.clause, goal.shape.variables, goal.inputs)
?`(?0, y) :- uncle(?0, y) ('y',) (0,)

Side branches of a clause become separate predicates: variable elimination rooted at the output. A part of
a body that shares one variable with the rest, and holds no argument of the head, only scales that variable's
rows: ``s(z, w), t(w, u)`` in ``p(x, y) :- q(x, z), r(z, y), s(z, w), t(w, u)`` becomes a unary predicate of
z, summed out once for each z instead of once for each row. A part that shares no variable becomes one number.
On tree-shaped bodies this is belief propagation towards the output.

>>> body = (Lookup("q", ("x", "y")), Lookup("s", ("y", "w")), Lookup("t", ("w", "u")))
>>> clause, made = split(Clause("p", ("x", "y"), body, dict.fromkeys("xywu", "thing")), ("x",), "p")
>>> print(clause, *made, sep="; ")
p(x, y) :- q(x, y), p`0(y); p`0(y) :- s(y, w), t(w, u)

Inferred types can be widened for one goal: several are merged, or one gets one more constant. Where nothing
is declared, facts that no rule links have different types. A goal may link them (``parent(x, y) and
age(y, z)``), or name a constant that only other types have.

>>> facts = Facts({"e_1": Domain.of("e_1", ["a", "c"]), "g_1": Domain.of("g_1", ["b", "c"])}, {})
>>> list(widened(Signature({}, {}), facts, ("e_1", "g_1")).domains["g_1"])
['a', 'b', 'c']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from herbrand.engines.proof.horn_program import HornProgram
from herbrand.errors import LanguageError, Mistake, nearest, placed
from herbrand.facts.domain import Domain, absence
from herbrand.facts.facts import Facts
from herbrand.graphs import Classes, linked
from herbrand.language.formulas import unnegated, unvalued
from herbrand.language.names import shown_name
from herbrand.language.parse import parse_formula
from herbrand.language.scope import Renaming, written
from herbrand.language.show import show_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    And,
    AnyAtom,
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Formula,
    Not,
    Rule,
    Term,
    Truth,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    leaf_terms,
)
from herbrand.program.clauses import PART_MARK, Absence, Clause, Literal, Lookup
from herbrand.program.lower_rules import goal_clause
from herbrand.program.question import with_own_names


def is_part(predicate: str) -> bool:
    """Whether a predicate is a part of a clause, whose evaluation does not count as a call for the depth."""
    return PART_MARK in predicate


def split(clause: Clause, bound: Collection[str], name: str) -> tuple[Clause, list[Clause]]:
    """Split off the side branches of a clause: the clause over them, and a clause for each.

    ``bound``: variables that are inputs.
    """
    clauses: list[Clause] = []
    body = list(clause.body)
    anchors = {name for name in (*clause.head, *bound) if name not in clause.constants}
    while (largest := _largest_branch(body, anchors, clause)) is not None:
        root, branch = largest
        head = () if root is None else (root,)
        part = f"{name}{PART_MARK}{len(clauses)}"
        clauses.append(Clause(part, head, tuple(branch), clause.types, clause.constants))
        place = min(body.index(literal) for literal in branch)
        rest = [literal for i, literal in enumerate(body) if not _within(i, body, branch)]
        rest.insert(place, Lookup(part, head))
        body = rest
    return replace(clause, body=tuple(body)), clauses


def _within(place: int, body: Sequence[Literal], branch: Sequence[Literal]) -> bool:
    return any(body[place] is literal for literal in branch)


def _largest_branch(
    body: Sequence[Literal], anchors: Collection[str], clause: Clause
) -> tuple[str | None, list[Literal]] | None:
    """The largest branch: the variable it shares with the rest (``None``: no variable), and its literals.

    ``None`` where there is no branch.
    """
    roots = [None, *dict.fromkeys(name for part in body for name in links(part, body, clause))]
    branches = [
        (root, part)
        for root in roots
        for part in components(body, root, clause)
        if len(part) < len(body) and _is_branch(part, root, body, anchors, clause)
    ]
    return max(branches, key=lambda pair: len(pair[1]), default=None)


def _is_branch(
    part: Sequence[Literal],
    root: str | None,
    body: Sequence[Literal],
    anchors: Collection[str],
    clause: Clause,
) -> bool:
    names = {name for literal in part for name in links(literal, body, clause)}
    if (names & set(anchors)) - {root}:
        return False
    lookups = [literal for literal in part if isinstance(literal, Lookup)]
    if root is None:
        return not (len(part) == 1 and is_part(lookups[0].predicate)) if lookups else False
    # a root in a test or `not` only would have no values in the branch: v != z does not bind z
    return len(lookups) >= 2 and any(root in literal.arguments for literal in lookups)


def components(body: Sequence[Literal], without: str | None, clause: Clause) -> list[list[Literal]]:
    """The components of a body by shared variables other than ``without``; constants do not connect."""
    return linked(body, lambda literal: links(literal, body, clause) - {without})


def links(literal: Literal, body: Sequence[Literal], clause: Clause) -> set[str]:
    """The variables by which a literal is linked to others.

    Variables that occur in absent atoms only do not count.
    """
    names = {name for name in literal.arguments if name not in clause.constants}
    return names & positive(body, clause) if isinstance(literal, Absence) else names


def positive(body: Sequence[Literal], clause: Clause) -> set[str]:
    """The variables of the head and of literals other than absent atoms."""
    names = {name for part in body if not isinstance(part, Absence) for name in part.arguments}
    return names | set(clause.head)


GOAL = f"?{PART_MARK}"
"""The predicate that a goal's clause derives; it has the mark of a part, so it does not count as a call."""


@dataclass(frozen=True)
class Shape:
    """A goal without its constants.

    ``head`` has the names of the inputs, then of the outputs, as the goal wrote them, in the order of the
    clause's head; ``variables`` are all variables that the goal names.
    """

    clause: Clause
    inputs: tuple[str, ...]
    variables: tuple[str, ...]
    head: tuple[str, ...]

    @cached_property
    def found(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.head[len(self.inputs) :]

    @cached_property
    def mode(self) -> tuple[int, ...]:
        return tuple(range(len(self.inputs)))


@dataclass(frozen=True)
class Goal:
    """A goal as its shape and its constants; ``inputs`` are the constants' indices."""

    shape: Shape
    inputs: tuple[int, ...]


def read_goal(goal: str | Formula, program: HornProgram, inputs: Sequence[str] = ()) -> Goal:
    """Read a goal from a text or a formula.

    ``inputs`` name variables whose constants come later, as a table of bindings. Raises ``LanguageError``
    where a name is unknown or types do not fit, and :class:`NarrowError` where wider inferred types would
    fit.
    """
    signature, formula = program.signature, goal
    if isinstance(formula, str):
        formula = with_own_names(_parsed(formula, signature.valued_names), signature)
    return _Reading(formula, program, inputs).goal()


def goal_text(goal: str | Formula, program: HornProgram) -> str:
    """The goal as the printer writes it, in the spelling of names that it was given in."""
    return show_formula(_parsed(goal, program.signature.valued_names) if isinstance(goal, str) else goal)


@lru_cache(maxsize=4096)
def _parsed(text: str, valued: frozenset[str]) -> Formula:
    return parse_formula(text, "<query>", valued)


class _Reading:
    def __init__(self, formula: Formula, program: HornProgram, inputs: Sequence[str]) -> None:
        renaming = Renaming()
        self._program = program
        self._literals = [renaming.formula(part) for part in literals_of(formula)]
        self._named = tuple(inputs)
        self._constants: list[Constant] = []
        self._whole = formula

    def goal(self) -> Goal:
        self._check()
        self._check_types()
        body = [self._without_constants(literal) for literal in self._literals]
        constants = [f"?{number}" for number in range(len(self._constants))]
        terms = (t for part in self._literals if not isinstance(part, Not) for t in leaf_terms(part))
        names = (term.name for term in terms if isinstance(term, Variable))
        variables = tuple(dict.fromkeys(name for name in names if name == written(name)))
        unknown = [name for name in self._named if name not in variables]
        if unknown:
            raise LanguageError(
                f"the query has no variable '{unknown[0]}'", hint=nearest(unknown[0], variables)
            )
        head = (*constants, *self._named, *(name for name in variables if name not in self._named))
        rule = Rule(Atom(GOAL, tuple(map(Variable, head))), tuple(body), span=self._whole.span)
        clause = goal_clause(rule, self._program.signature, self._program.facts)
        inputs = head[: len(constants) + len(self._named)]
        self._refuse_unbound(clause, inputs)
        indices = tuple(
            self._index(constant, clause.types[name])
            for constant, name in zip(self._constants, constants, strict=True)
        )
        return Goal(Shape(clause, inputs, variables, head), indices)

    def _refuse_unbound(self, clause: Clause, inputs: Collection[str]) -> None:
        """Raise LanguageError unless an atom of the goal binds each variable that is no input."""
        for name in sorted(clause.ranging().difference(inputs)):
            raise LanguageError(
                f"no atom of the goal binds {written(name)}",
                span=self._whole.span,
                hint=f"put {written(name)} into an atom of it, or give it a constant",
            )

    def _without_constants(self, literal: Formula) -> BodyLiteral:
        match literal:
            case Atom():
                return self._atom(literal)
            case ValueIs(atom=atom, value=value, span=span):
                return ValueIs(self._atom(atom), self._term(value), span)
            case ValueIn(atom=atom, values=values, span=span):
                for value in values:
                    self._index(value, self._types(atom)[-1])
                return ValueIn(self._atom(atom), values, span)
            case Not(operand=operand, span=span):
                return Not(self._without_constants(operand), span)
            case Comparison() | Truth():
                return literal
        raise AssertionError(literal)

    def _atom(self, atom: Atom) -> Atom:
        return Atom(atom.predicate, tuple(map(self._term, atom.arguments)), atom.span)

    def _term(self, term: Term) -> Term:
        if not isinstance(term, Constant):
            return term
        self._constants.append(term)
        return Variable(f"?{len(self._constants) - 1}", term.span)

    def _index(self, constant: Constant, type_name: str) -> int:
        domains = self._program.facts.domains
        index = domains[type_name].index_of(constant.value)
        if index is not None:
            return index
        domain = domains[type_name]
        absent = absence(constant.value, domain, constant.span)
        mixed = len(domain) and (domain.kind == "text") != isinstance(constant.value, str)
        if self._is_declared(type_name) or not self._is_seen(constant) or mixed:
            raise LanguageError([absent])
        raise NarrowError((type_name,), constant.value, absent)

    def _is_declared(self, type_name: str) -> bool:
        known = self._program.signature.types.get(type_name)
        return self._program.signature.strict or (known is not None and known.declared)

    def _is_seen(self, constant: Constant) -> bool:
        return any(
            domain.index_of(constant.value) is not None for domain in self._program.facts.domains.values()
        )

    # Types of variables

    def _types(self, atom: Atom) -> tuple[str, ...]:
        return self._program.signature.predicates[atom.predicate].column_types

    def _check_types(self) -> None:
        """Raise unless every variable has one type, and compared variables have the same one."""
        same = Classes[str]()
        by_class: dict[str, dict[str, Variable]] = {}
        compared: list[Variable] = []
        literals = [*map(unnegated, self._literals)]
        for literal in literals:
            variables = [term for term in leaf_terms(literal) if isinstance(term, Variable)]
            if isinstance(literal, Comparison):
                compared += variables
                for variable in variables[1:]:
                    same.join(variable.name, variables[0].name)
        for literal in literals:
            if isinstance(literal, AnyAtom):
                for term, type_name in zip(leaf_terms(literal), self._types(unvalued(literal)), strict=False):
                    if isinstance(term, Variable):
                        by_class.setdefault(same.leader(term.name), {}).setdefault(type_name, term)
        for variable in compared:
            if same.leader(variable.name) not in by_class:
                name = written(variable.name)
                raise LanguageError(
                    f"nothing says what {name} ranges over: it occurs in no atom", span=variable.span
                )
        for types in by_class.values():
            self._check_one(types, by_class.values())

    def _check_one(self, types: Mapping[str, Variable], every: Collection[Mapping[str, Variable]]) -> None:
        """Raise unless types, each with a variable of it, are equal or have the same constants."""
        (first, one), *others = types.items()
        domains = self._program.facts.domains
        for name, other in others:
            if domains[name].values is domains[first].values:
                continue
            mistake = Mistake(
                f"{written(other.name)} stands for a {first} and for a {name}",
                other.span,
                related=placed([(f"as {first}", one.span)]),
            )
            linked = self._linked(types, every)
            kinds = {domains[known].kind for known in linked if len(domains[known])}
            if any(map(self._is_declared, linked)) or len(kinds) > 1:
                raise LanguageError([mistake])
            raise NarrowError(linked, None, mistake)

    def _linked(self, types: Collection[str], every: Iterable[Collection[str]]) -> tuple[str, ...]:
        """These types, and all linked to them by variables or by an earlier merge."""
        same: dict[int, list[str]] = {}
        for name, domain in self._program.facts.domains.items():
            same.setdefault(id(domain.values), []).append(name)
        first, *_ = linked([types, *every, *same.values()], set)
        return tuple(sorted(set[str]().union(*first)))

    # Predicates and arities

    def _check(self) -> None:
        mistakes: list[Mistake] = []
        for literal in self._literals:
            inner = unnegated(literal)
            if isinstance(inner, AnyAtom):
                mistakes += self._wrong(unvalued(inner), literal)
        if mistakes:
            raise LanguageError(mistakes)

    def _wrong(self, atom: Atom, literal: Formula) -> Iterator[Mistake]:
        known: Mapping[str, object] = self._program.signature.predicates
        name, count = atom.predicate, len(atom.arguments)
        if name not in known:
            if name in self._program.facts.domains and not count:
                yield Mistake(f"'{name}' is a type, not a predicate", atom.span)
                return
            yield Mistake(f"there is no predicate '{name}'", atom.span, nearest(name, known))
            return
        predicate = self._program.signature.predicates[name]
        if predicate.arity != count:
            arguments = "1 argument" if predicate.arity == 1 else f"{predicate.arity or 'no'} arguments"
            shown = ", ".join("xyzuvw"[place] for place in range(min(6, predicate.arity)))
            yield Mistake(
                f"{shown_name(name)} takes {arguments}, not {count}",
                atom.span,
                f"ask {shown_name(name)}({shown})" if shown else "",
            )
        elif (predicate.value_type is not None) != isinstance(unnegated(literal), ValueIs | ValueIn):
            hint = f"ask {shown_name(name)}(...) = value" if predicate.value_type else ""
            what = "is many-valued" if predicate.value_type else "is true or false and has no other value"
            yield Mistake(f"{shown_name(name)} {what}", atom.span, hint)


def literals_of(formula: Formula) -> Iterator[Formula]:
    """The literals that a goal joins by ``and``; raises LanguageError for any other formula."""
    if isinstance(formula, And):
        for part in formula.operands:
            yield from literals_of(part)
        return
    inner = unnegated(formula)
    if not isinstance(inner, AnyAtom | Comparison | Truth):
        raise LanguageError(
            "a query is an atom, or atoms, negated atoms and comparisons joined by 'and'",
            span=formula.span,
            hint="define a predicate by a rule and ask for it",
        )
    yield formula


class NarrowError(Exception):
    """Raised for a goal that needs these types merged, or the one type with one more constant ``value``.

    ``mistake``: the error to raise where types cannot be widened.
    """

    def __init__(self, types: tuple[str, ...], value: Value | None, mistake: Mistake) -> None:
        super().__init__(types, value)
        self.types, self.value, self.mistake = types, value, mistake


def widened(signature: Signature, facts: Facts, types: Sequence[str], value: Value | None = None) -> Facts:
    """The facts with types widened: all get the constants of all, or the one gets a further ``value``."""
    if value is not None:  # the last index, so that no other changes
        (name,) = types
        wider = Domain.of(name, [*facts.domains[name], value], declared=True)
        return Facts({**facts.domains, name: wider}, facts.tables)
    before = {name: facts.domains[name] for name in types}
    together = Domain.merged("", [domain.values for domain in before.values() if len(domain)])
    domains = {name: replace(together, name=name) for name in types}
    places = {name: together.indices_of(domain.values) for name, domain in before.items()}
    tables = {
        name: table.moved(signature.predicates[name].column_types, places)
        for name, table in facts.tables.items()
    }
    return Facts({**facts.domains, **domains}, tables)
