"""Warnings of likely mistakes in well-formed theories: ``herbrand check --lint``.

Each check is a function that yields warnings; each warning has a code, the place of the statement, and
advice. Checks over facts query the certain part of the theory only: predicates that depend on open
predicates, choices or counts of these are left out.

>>> theory = parse_theory("p(x, y) :- q(x, z), r(y)\\n1.5: s(x) => t(x)\\n-1.5: s(y) => t(y)")
>>> for warning in lint(Model(theory, {"q": [("a", "b")], "r": ["c"]})).warnings:
...     print(warning.code, warning.place)
single-variable <text>:1:17
weights-cancel <text>:3:1
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from herbrand.answers.sheet import Sheet
from herbrand.budget import Budget, budget_of
from herbrand.errors import ContradictionError, HerbrandError, Span, UnsupportedError
from herbrand.language.arguments import in_body
from herbrand.language.comparisons import computes, variables_of
from herbrand.language.formulas import unnegated
from herbrand.language.names import shown_constant, shown_name
from herbrand.language.parse import parse_theory
from herbrand.language.scope import Renaming, free_variables, with_terms
from herbrand.language.show import show_formula
from herbrand.language.syntax import (
    And,
    AnyAtom,
    Atom,
    Bound,
    BoundRows,
    Choice,
    Comparison,
    Computed,
    Exists,
    Forall,
    Formula,
    Hard,
    Implies,
    Leaf,
    Learned,
    Not,
    Or,
    Rule,
    Statement,
    Truth,
    Variable,
    WeightedFormula,
    children,
    formulas_in,
    leaf_terms,
    walk,
)
from herbrand.language.theory import Theory
from herbrand.model import Model
from herbrand.program.dependencies import derived_by
from herbrand.program.question import named_predicates
from herbrand.program.usable import refuse_no_model

__all__ = ["CODES", "LintReport", "LintWarning", "lint", "parse_theory"]

CODES = {
    "unused-predicate": "a declared predicate that no statement uses",
    "no-facts": "an observed predicate without facts: all its atoms are false",
    "single-variable": "a variable that stands once in its statement",
    "duplicate": "two statements that say the same",
    "weights-cancel": "weights of one formula that add up to 0",
    "weight-of-nothing": "a weight of 0, a probability of 0, or an opinion of 0.5",
    "weight-without-effect": "a formula all of whose atoms are known",
    "always-true": "a formula that holds whatever is true",
    "never-true": "a formula or a body that never holds, whatever is true",
    "no-base": "a predicate all of whose rules need it",
    "never-fires": "a rule whose body holds for no rows of the facts",
    "never-applies": "a formula whose premise holds for no rows of the facts",
    "broken-by-facts": "a hard formula that facts break",
    "contradiction": "hard formulas and facts that no world satisfies",
}
"""All codes of warnings, with their descriptions."""
LONGEST_SEARCH, ALL_GOALS = 5.0, 10.0
"""Time limits in seconds: of the search for a contradiction, of listing what rules derive and of each goal
over the facts; and of all these goals together."""


@dataclass(frozen=True)
class LintWarning:
    code: str
    message: str
    span: Span | None = None
    hint: str = ""

    @property
    def place(self) -> str:
        return "" if self.span is None else self.span.place

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "where": self.place or None, "hint": self.hint}


@dataclass(frozen=True, repr=False)
class LintReport(Sheet):
    """The warnings in the order of the theory."""

    warnings: tuple[LintWarning, ...]

    words = (0, 1, 2)

    @property
    def title(self) -> str:
        return f"{len(self.warnings):,} warning{'' if len(self.warnings) == 1 else 's'}"

    @property
    def heads(self) -> tuple[str, str, str]:
        return "code", "where", "warning"

    def cells(self) -> Iterator[tuple[str, ...]]:
        for one in self.warnings:
            yield one.code, one.place, one.message + (f"; {one.hint}" if one.hint else "")

    def __len__(self) -> int:
        return len(self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand check --lint``."""
        return {"warnings": [one.to_dict() for one in self.warnings]}

    def to_arrow(self) -> pa.Table:
        rows = [one.to_dict() for one in self.warnings]
        return pa.table(
            {
                name: pa.array([r[name] for r in rows], pa.string())
                for name in ("code", "where", "message", "hint")
            }
        )


def lint(
    model: Model,
    memory: int | str | None = None,
    time_limit: float | None = None,
    *,
    within: Budget | None = None,
) -> LintReport:
    """Find likely mistakes in a theory and its facts; of inference only whether a world is possible is tried.

    ``model``: the theory over its facts. ``memory`` and ``time_limit`` are those of ``infer``. ``within``:
    time and memory of which a part is used already.
    """
    refuse_no_model("lint", model)
    budget = budget_of({"memory": memory, "time_limit": time_limit}) if within is None else within
    theory = model.theory
    warnings = [
        warning
        for check in (_predicates, _variables, _repeated, _weights, _truths)
        for warning in check(theory)
    ]
    if model.on is None:
        warnings += _OverFacts(model, budget).warnings()
    return LintReport(
        tuple(sorted(warnings, key=lambda one: (one.span is None, one.span and one.span.start)))
    )


def refuse_asked(options: Mapping[str, Any]) -> None:
    """Raise an error for options that --lint does not use."""
    for name in ("query", "given"):
        if name in options:
            raise UnsupportedError(f"--lint does not use --{name}", hint=f"leave out --lint, or --{name}")


# What the theory alone tells


def _predicates(theory: Theory) -> Iterator[LintWarning]:
    used = set(named_predicates(f for s in theory.singly() for f in formulas_in(s)))
    used |= {name for table in theory.tables for name in table.scope}
    for declared in theory.predicates:
        if declared.name not in used and any(True for _ in _stating(theory)):
            yield LintWarning(
                "unused-predicate",
                f"no statement uses {shown_name(declared.name)}",
                declared.span,
                "a misspelt name elsewhere, or a declaration to leave out",
            )


def _stating(theory: Theory) -> Iterator[Statement]:
    """Statements that use predicates, without facts; none for a theory of facts alone."""
    return (
        s for s in theory.statements if isinstance(s, WeightedFormula | Bound | BoundRows | Rule | Choice)
    )


def _variables(theory: Theory) -> Iterator[LintWarning]:
    for statement in _stating(theory):
        if isinstance(statement, BoundRows):
            continue
        formulas = formulas_in(statement)
        own = _named_beside(statement)
        uses = Counter(v.name for f in formulas for v in _occurrences(f) if not v.anonymous)
        atoms = sum(isinstance(part, AnyAtom) for f in formulas for part in walk(f))
        for formula in formulas if atoms > 1 else ():
            for variable in _occurrences(formula):
                if uses[variable.name] == 1 and variable.name not in own:
                    counts = isinstance(statement, WeightedFormula) and not isinstance(statement.weight, Hard)
                    yield LintWarning(
                        "single-variable",
                        f"{shown_name(variable.name)} stands once here"
                        + (": the formula counts once for each of its constants" if counts else ""),
                        variable.span,
                        "write `exists` if one is enough" if counts else "write _ if it does not matter",
                    )


def _named_beside(statement: Statement) -> set[str]:
    """Variables that a statement names outside of its formulas."""
    own: set[str] = set()
    if isinstance(statement, WeightedFormula | Rule) and isinstance(statement.weight, Learned):
        own |= {variable.name for variable in statement.weight.by}
    if isinstance(statement, WeightedFormula):
        own |= variables_of(list(statement.where)).keys()
        own |= {statement.times.name} if statement.times is not None else set()
    if isinstance(statement, Choice):
        own |= {a.probability.name for a in statement.alternatives if isinstance(a.probability, Variable)}
    return own


def _occurrences(formula: Formula) -> Iterator[Variable]:
    """Occurrences of free variables, those in computed terms included."""
    free = (
        free_variables(formula).keys() if any(isinstance(p, Exists | Forall) for p in walk(formula)) else None
    )
    for part in walk(formula):
        terms: Sequence[object] = (part.left, part.right) if isinstance(part, Computed) else leaf_terms(part)
        for term in terms:
            if isinstance(term, Variable):
                if free is None or term.name in free:
                    yield term
            else:  # what is computed uses its variables more than once: it says what they are for
                yield from (*variables_of(term).values(),) * 2


def _repeated(theory: Theory) -> Iterator[LintWarning]:
    """Warn of statements that are equal up to the names of variables."""
    first: dict[object, list[WeightedFormula]] = {}
    others: dict[object, Statement] = {}
    for statement in theory.statements:
        if isinstance(statement, WeightedFormula):
            weight = None if isinstance(statement.weight, float | int) else statement.weight
            key = (_named_alike(statement.formula, statement), weight)
            first.setdefault(key, []).append(statement)
            continue
        match statement:
            case Rule(weight=None):
                key = "rule", _named_alike(And((statement.head, *statement.body)), statement)
                message = "this rule stands at {} too: each proof counts twice"
            case Choice(alternatives=alternatives):
                heads = (one.head for one in alternatives)
                chances = tuple(str(one.probability) for one in alternatives)
                key = "choice", _named_alike(And((*heads, *statement.body)), statement), chances
                message = "this choice stands at {} too: each of them is drawn by itself"
            case Bound(given=given):
                ends = statement.lower, statement.upper, statement.independent, given is None
                parts = (statement.event,) if given is None else (statement.event, given)
                key = "bound", _named_alike(And(parts), statement), ends
                message = "this bound stands at {} too"
            case _:
                continue
        if key in others:
            yield LintWarning("duplicate", message.format(_line(others[key])), statement.span)
        others.setdefault(key, statement)
    for same in first.values():
        if len(same) > 1:
            last, weights = same[-1], [s.weight for s in same if isinstance(s.weight, float | int)]
            if weights and abs(sum(weights)) < 1e-12 and any(weights):
                places = ", ".join(_line(statement) for statement in same[:-1])
                yield LintWarning(
                    "weights-cancel", f"with {places} the weights of this formula add up to 0", last.span
                )
            else:
                message = f"this formula stands at {_line(same[0])} too"
                yield LintWarning("duplicate", message, last.span, "their weights add up" if weights else "")


def _named_alike(formula: Formula, statement: Statement) -> object:
    """Canonical form of a formula and its conditions, with variables numbered in the order of occurrence."""
    where = statement.where if isinstance(statement, WeightedFormula) else ()
    times = statement.times if isinstance(statement, WeightedFormula) else None
    whole = Renaming(numbered=True).formula(And((formula, *where)))
    names = {name: f"v{place}" for place, name in enumerate(variables_of(whole))}
    renamed = with_terms(whole, {name: Variable(new) for name, new in names.items()})
    return show_formula(renamed), None if times is None else names.get(times.name)


def _line(statement: Statement) -> str:
    return "another place" if statement.span is None else statement.span.place


def _weights(theory: Theory) -> Iterator[LintWarning]:
    for statement in theory.statements:
        match statement:
            case WeightedFormula(weight=0):
                yield LintWarning("weight-of-nothing", "a weight of 0 changes nothing", statement.span)
            case Rule(weight=0):
                yield LintWarning("weight-of-nothing", "a weight of 0 leaves no proof", statement.span)
            case Choice(alternatives=alternatives):
                for one in alternatives:
                    if isinstance(one.probability, float | int) and one.probability == 0:
                        yield LintWarning("weight-of-nothing", "a probability of 0: never chosen", one.span)
    for rows in theory.facts:
        for place, number in enumerate(rows.numbers):
            is_even = rows.kind == "soft" and number == 0.5 and not rows.valued
            if is_even or (rows.kind == "weighted" and number == 0):
                span = (
                    rows.span
                    if len(rows.starts) < 2 or rows.span is None
                    else _row(rows.span, rows.starts[place])
                )
                what = "an opinion of 0.5 changes nothing" if is_even else "a weight of 0 leaves no proof"
                yield LintWarning("weight-of-nothing", what, span)


def _row(span: Span, start: int) -> Span:
    text = span.source.text
    end = text.find("\n", start)
    return Span(span.source, start, len(text) if end < 0 else end)


def _truths(theory: Theory) -> Iterator[LintWarning]:
    """Warn of formulas that are always true or false, such as clauses with an atom and its negation."""
    for statement in _stating(theory):
        if isinstance(statement, WeightedFormula):
            if _is_true(statement.formula):
                yield LintWarning("always-true", "this holds whatever is true", statement.span)
            elif _is_false(statement.formula):
                yield LintWarning("never-true", "this never holds, whatever is true", statement.span)
        elif isinstance(statement, Rule | Choice) and statement.body and _is_false(And(statement.body)):
            yield LintWarning("never-true", "this body never holds", statement.span)


def _is_true(formula: Formula) -> bool:
    return _decided(formula) is True


def _is_false(formula: Formula) -> bool:
    return _decided(formula) is False


def _decided(formula: Formula) -> bool | None:
    """Truth value of a formula if its form alone determines it; else None."""
    match formula:
        case Truth(value=value):
            return value
        case Not(operand=operand):
            inner = _decided(operand)
            return None if inner is None else not inner
        case Implies(premise=premise, conclusion=conclusion):
            parts = premise.operands if isinstance(premise, And) else (premise,)
            return _decided(Or((*map(Not, parts), conclusion)))
        case Or(operands=()) | And(operands=()):
            return None
        case Or(operands=operands) | And(operands=operands):
            settling = isinstance(formula, Or)  # one such operand settles all
            values = [_decided(operand) for operand in operands]
            if settling in values or _opposed(_flat(type(formula), operands)):
                return settling
            return None if None in values else not settling
        case Comparison(operator=sign, left=left, right=right):
            same = left == right and not (isinstance(left, Variable) and left.anonymous)
            return sign in ("=", "<=", ">=") if same else None
    return None


def _flat(kind: type[And | Or], parts: Sequence[Formula]) -> list[Formula]:
    """Operands, with nested operands of the same connective flattened."""
    return [x for part in parts for x in (_flat(kind, part.operands) if isinstance(part, kind) else [part])]


def _opposed(parts: Sequence[Formula]) -> bool:
    """Whether some part is another's negation; parts with ``_``, a new variable at each place, never are."""
    held: set[Formula] = set()
    denied: set[Formula] = set()
    for part in parts:
        inner, one = part, True
        while isinstance(inner, Not):
            inner, one = inner.operand, not one
        if not any(isinstance(t, Variable) and t.anonymous for p in walk(inner) for t in leaf_terms(p)):
            (held if one else denied).add(inner)
    return bool(held & denied)


def _recursion(theory: Theory, stated: Collection[str]) -> Iterator[LintWarning]:
    """Warn of derived predicates that can have no atoms: no ``stated`` facts, and only rules whose bodies
    have an atom of such a predicate."""
    derived, bodies = theory.derived, dict[str, list[set[str]]]()
    for statement in theory.statements:
        if isinstance(statement, Rule | Choice):
            heads = (
                [statement.head] if isinstance(statement, Rule) else [a.atom for a in statement.alternatives]
            )
            needed = {
                p.predicate for literal in statement.body if isinstance(literal, Atom) for p in [literal]
            }
            for head in heads:
                bodies.setdefault(head.predicate, []).append(needed & derived.keys())
    able, grown = set(stated), True
    while grown:
        more = {name for name, own in bodies.items() if name not in able and any(b <= able for b in own)}
        grown, able = bool(more), able | more
    for statement in theory.statements:
        if isinstance(statement, Rule) and (name := statement.head.predicate) not in able:
            able.add(name)
            yield LintWarning(
                "no-base",
                f"no rule can begin {shown_name(name)}: each needs {shown_name(name)}, or what needs it",
                statement.span,
                f"state facts of {shown_name(name)}, or a rule without it",
            )


# What facts tell beside it


class _OverFacts:
    """Checks that query the certain predicates: closed ones, and those derived from these alone."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model, self._budget, theory = model, budget, model.theory
        self._left = ALL_GOALS
        self._program = model.stated_program
        open_ones = {n for n, table in self._program.facts.tables.items() if table.world == "open"}
        open_ones -= theory.derived.keys()
        self._uncertain = derived_by(theory.choices) | open_ones
        rules, grown = [(r.head.predicate, named_predicates(r.body)) for r in theory.rules], True
        while grown:
            more = {head for head, body in rules if head not in self._uncertain and body & self._uncertain}
            grown, self._uncertain = bool(more), self._uncertain | more
        kept = (
            s for s in theory.statements if not isinstance(s, WeightedFormula | Bound | BoundRows | Choice)
        )
        certain = (s for s in kept if not isinstance(s, Rule) or s.head.predicate not in self._uncertain)
        self._stated = model.restated(Theory(tuple(certain)))

    @cached_property
    def _listed(self) -> Model | None:
        """The certain part with its derived atoms listed once, so that not every goal derives them again.

        ``None`` if that takes too long or is refused, or if proofs have weights, which may be 0."""
        tables = self._program.facts.tables.values()
        if any(rule.weight is not None for rule in self._stated.theory.rules) or any(
            table.weights is not None for table in tables
        ):
            return None
        try:
            return self._stated.with_derived(self._budget.at_most(LONGEST_SEARCH))
        except HerbrandError:
            return None

    def _asked(self, literals: Sequence[Formula]) -> Model:
        """Model for a goal: the one with derived atoms listed, if there is one."""
        derived = not named_predicates(literals).isdisjoint(self._stated.theory.derived)
        return (self._listed if derived else None) or self._stated

    def warnings(self) -> Iterator[LintWarning]:
        theory = self._model.theory
        yield from self._without_facts(theory)
        tables = self._program.facts.tables
        yield from _recursion(theory, [name for name, table in tables.items() if table.fact_count])
        for statement in theory.statements:
            self._budget.check()
            if isinstance(statement, Rule | Choice):
                yield from self._fires(statement)
            elif isinstance(statement, WeightedFormula):
                yield from self._applies(statement)
        yield from self._contradiction()

    def _without_facts(self, theory: Theory) -> Iterator[LintWarning]:
        used = named_predicates(f for s in theory.singly() for f in formulas_in(s)) - theory.derived.keys()
        for declared in theory.predicates:
            table = self._program.facts.tables.get(declared.name)
            if table is None or declared.role != "observed" or declared.name not in used:
                continue
            if not table.fact_count:
                message = f"{shown_name(declared.name)} is observed and has no facts: all its atoms are false"
                yield LintWarning("no-facts", message, declared.span, "give a table by --facts")

    def _fires(self, statement: Rule | Choice) -> Iterator[LintWarning]:
        if not _is_false(And(statement.body)) and self._first(statement.body) == []:
            message = "no rows of the facts satisfy this body: the rule derives nothing"
            yield LintWarning("never-fires", message, statement.span, self._why(statement.body))

    def _applies(self, statement: WeightedFormula) -> Iterator[LintWarning]:
        formula = statement.formula
        names = named_predicates([formula])
        if names and not names & self._uncertain and not names & self._derived_uncertain():
            violation = _violation(formula)
            row = None if violation is None else self._first(violation)
            if isinstance(statement.weight, Hard):
                if row:
                    message = f"facts break this: {row[0]}"
                    yield LintWarning(
                        "broken-by-facts", message, statement.span, "correct the facts, or give it a weight"
                    )
                return
            message = "all its atoms are known: its weight changes no probability"
            yield LintWarning(
                "weight-without-effect", message, statement.span, "--open PRED makes one uncertain"
            )
            return
        if isinstance(formula, Implies) and not _is_false(formula.premise):
            premise = formula.premise.operands if isinstance(formula.premise, And) else (formula.premise,)
            if self._certain(premise) and self._first(premise) == []:
                message = "no rows of the facts satisfy the premise: the formula is true everywhere"
                yield LintWarning("never-applies", message, statement.span, self._why(premise))

    def _derived_uncertain(self) -> set[str]:
        return {name for name in self._model.theory.derived if name in self._uncertain}

    def _certain(self, literals: Sequence[Formula]) -> list[Formula]:
        """Literals over certain predicates only, a necessary condition for all literals."""
        atoms = [x for x in literals if not named_predicates([x]) & self._uncertain]
        bound = {name for x in atoms if isinstance(x, AnyAtom) for name in variables_of(x)}
        fitting = [x for x in atoms if isinstance(x, AnyAtom) or variables_of(x).keys() <= bound]
        return fitting if any(isinstance(x, AnyAtom) for x in fitting) else []

    def _first(self, literals: Sequence[Formula]) -> list[str] | None:
        """First answer of a conjunction as texts, empty if there is none; ``None`` if it cannot be
        queried."""
        known = self._certain(literals)
        if not known or not all(isinstance(unnegated(x), Leaf) for x in known):
            return None
        model, began = self._asked(known), time.monotonic()
        try:
            answers = model.query(
                " and ".join(show_formula(x) for x in in_body(known)),
                algebra="boolean",
                depth="fixpoint",
                top=1,
                within=self._budget.at_most(min(self._left, LONGEST_SEARCH)),
            )
        except HerbrandError:
            return None
        finally:
            self._left -= time.monotonic() - began
        return [
            ", ".join(
                f"{name} = {shown_constant(v)}" for name, v in row.bindings.items() if name.isidentifier()
            )
            for row in answers.rows()
        ]

    def _why(self, literals: Sequence[Formula]) -> str:
        """Text of the first literal that alone has no answer, if there is one."""
        for part in self._certain(literals):
            if isinstance(part, AnyAtom) and self._first([part]) == []:
                return f"no row satisfies {show_formula(part)}"
        return "each of its atoms holds somewhere, and never together"

    def _contradiction(self) -> Iterator[LintWarning]:
        hard = [s for s in self._model.theory.formulas if isinstance(s.weight, Hard)]
        if not hard:
            return
        try:
            self._model.infer(map=True, within=self._budget.at_most(LONGEST_SEARCH))
        except ContradictionError as error:
            first = error.mistakes[0]
            yield LintWarning("contradiction", first.message, first.span or hard[0].span, first.hint)
        except HerbrandError:
            return


def _violation(formula: Formula) -> list[Formula] | None:
    """Literals of the formula's negation, if that is a conjunction."""
    match formula:
        case Implies(premise=premise, conclusion=conclusion):
            parts = _conjunction(premise)
            rest = _violation(conclusion)
            return None if parts is None or rest is None else [*parts, *rest]
        case Or(operands=operands):
            violations = [_violation(part) for part in operands]
            return None if None in violations else [x for part in violations if part for x in part]
        case Not(operand=operand):
            return _conjunction(operand)
        case _ if not children(formula) and not computes(formula):
            return [Not(formula)]
    return None


def _conjunction(formula: Formula) -> list[Formula] | None:
    if isinstance(formula, And):
        conjunctions = [_conjunction(part) for part in formula.operands]
        return None if None in conjunctions else [x for part in conjunctions if part for x in part]
    inner = unnegated(formula)
    return [formula] if not children(inner) else None
