"""Lower statements and facts to templates, once and exactly for all engines.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse('1.5: p(x) and f(x, y) => p(y)'), {"f": [("a", "b")]})
>>> for template in model.program.templates:
...     print(template)
+w0  {x: thing, y: thing}
-w0  {x: thing, y: thing}  [x != y]  p(x) and f(x, y) and not p(y)

Tables of networks become templates, one for each cell, for engines and learners that read templates only:

>>> from herbrand.language.dialects import read_theory_text
>>> text = "variable r { type discrete [2] {y, n}; } probability (r) { table 0.2, 0.8; }"
>>> model = hb.Model(read_theory_text(text, "bif"))
>>> for template in model.program.templates:
...     print(template)
+w0  {}  not r()
+w1  {}  r()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice

import numpy as np

from herbrand.errors import BudgetError, LanguageError, Span
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Constant,
    Exists,
    Formula,
    Term,
    ValueIn,
    ValueIs,
    predicates_in,
)
from herbrand.language.names import shown_name
from herbrand.language.scope import Renaming, conditions_with, free_names, variable_types, with_terms
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import (
    Choice,
    Hard,
    Learned,
    NetworkTable,
    Rule,
    WeightedFormula,
    learned_by,
)
from herbrand.language.theory import Theory
from herbrand.program.absent_rows import AbsentRows
from herbrand.program.expansion import Expansion, expanded
from herbrand.program.named_parts import MOST_OF_A_PART, Naming, Part, conjuncts, in_parts
from herbrand.program.normal_form import Case, ManyCasesError, cases, most_cases, plain, shorter_cases
from herbrand.program.program import (
    FALSE,
    TRUE,
    Argument,
    Block,
    Conjunction,
    Literal,
    Pair,
    Program,
    Template,
    Weight,
    different,
    expected_rows,
    substituted,
)
from herbrand.program.shatter import shattered

MOST_WEIGHT = 1e9
"""Beside a larger weight the rounding error of exact probabilities would exceed 1e-7."""


MOST_FACTORS = 2000
"""Most different numbers that may multiply a weight, since each of them makes templates."""


def lower(
    theory: Theory,
    signature: Signature,
    facts: Facts,
    parts: Callable[[Formula], Iterable[Formula]] | None = None,
    uncertain: Sequence[Choice | Rule] = (),
    unsettled: Collection[str] = (),
    final: bool = False,
    divided: bool = False,
) -> Program:
    """The program that a theory means over these facts; bounds and rules are left to their engines.

    ``parts``: splits each weighted formula into the formulas to count in its place; every part counts once
    for each grounding of the formula, also where it lacks some of its variables. ``uncertain``: choices and
    the rules that depend on them. ``unsettled``: predicates of a closed world whose atoms may take any degree
    of truth between false and true, so that no such atom may occur twice in a template. ``final``: the
    program keeps these facts, so formulas that the rows of observed predicates decide need no templates.
    ``divided``: formulas of too many cases get atoms for their parts, of predicates that only the program
    has.
    """
    absent = AbsentRows(signature, facts, unsettled) if final and parts is None else None
    program = Program(signature, facts, theory.statements, (), (), tuple(uncertain), theory.tables)
    lowering = _Lowering(program, parts, unsettled, absent, Naming() if divided else None)
    for number, statement in enumerate(theory.statements):
        if isinstance(statement, WeightedFormula):
            lowering.add(number, statement)
    lowered = replace(lowering.program, weights=tuple(lowering.weights), templates=tuple(lowering.templates))
    if lowered.signature is signature:  # no part has an atom of its own
        return lowered
    whole = partial(lower, theory, signature, facts, parts, uncertain, unsettled, final)
    return replace(lowered, whole=whole)


def forbidding(program: Program, formula: Formula) -> tuple[Template, ...]:
    """Templates that forbid every world in which a closed formula is false."""
    lowering = _Lowering(program)
    lowering.add(len(program.statements), WeightedFormula(Hard(), formula, span=formula.span))
    return tuple(lowering.templates)


@dataclass
class _Lowering:
    """Collects weights and templates of statements in the terms of ``program``, whose own templates it does
    not read; ``add`` is called once for each statement. ``naming``: for parts of formulas of too many cases,
    whose predicates are added to the program."""

    program: Program
    parts: Callable[[Formula], Iterable[Formula]] | None = None
    unsettled: Collection[str] = ()
    absent: AbsentRows | None = None
    naming: Naming | None = None

    def __post_init__(self) -> None:
        self.weights: list[Weight] = []
        self.templates: list[Template] = []
        self.formulas = 0

    def add(self, number: int, statement: WeightedFormula) -> None:
        formula = Renaming().formula(statement.formula)
        types = variable_types([formula, *statement.where], self.program.signature)
        weight = self._weight(statement, types)
        by = learned_by(statement.weight)
        if statement.times is None:
            self._add_cases(number, formula, statement.where, by, types, weight, 1)
            return
        name = statement.times.name
        for value in _factors(statement, self.program.domain(types[name])):
            known = {name: Constant(value)}
            where = conditions_with(statement.where, known)
            if where is not None and value != 0:
                terms = tuple(known.get(variable.name, variable) for variable in by)
                self._add_cases(number, with_terms(formula, known), where, terms, types, weight, value)

    def _add_cases(
        self,
        number: int,
        formula: Formula,
        where: Sequence[Comparison],
        by: Sequence[Term],
        types: Mapping[str, str],
        weight: int | None,
        factor: float,
    ) -> None:
        """Add the templates of a formula that counts ``factor`` times."""
        kinds = () if weight is None else self.weights[weight].by
        for case in self._undecided(expanded(formula, where, by, types, self.program.facts.domains), weight):
            split = None if weight is None else self.parts
            for part in (case.formula,) if split is None else split(case.formula):
                scope = _Scope(self, types, case.where, number, self.formulas)
                self.formulas += 1
                arguments = tuple(map(scope.argument, case.by, kinds))
                templates = scope.templates(part, case.formula, weight, arguments)
                self.templates += (replace(t, sign=t.sign * factor) for t in templates)

    def _undecided(self, cases: Iterable[Expansion], weight: int | None) -> Iterator[Expansion]:
        """Yield the cases that matter: a weighted formula that facts make false adds nothing, a hard one that
        they make true forbids nothing. A formula with only one case is left to grounding."""
        without_effect, cases = weight is None, iter(cases)
        first = list(islice(cases, 2))
        absent = self.absent if len(first) > 1 else None
        for case in chain(first, cases):
            decided = None if absent is None else absent.decided(case.formula)
            if decided is None or decided is not without_effect:
                yield case

    def _weight(self, statement: WeightedFormula, types: Mapping[str, str]) -> int | None:
        weight = statement.weight
        if isinstance(weight, Hard):
            return None
        if isinstance(weight, Learned):
            self.weights.append(Weight(0.0, True, tuple(types[v.name] for v in weight.by)))
        else:
            _refuse_immense(statement, weight)
            self.weights.append(Weight(float(weight)))
        return len(self.weights) - 1

    def declare(self, part: Part, types: Mapping[str, str]) -> None:
        """Add the predicate of a part to the program; its atoms are latent."""
        name, own = part.atom.predicate, tuple(types[name] for name in free_names([part.atom]))
        signature = self.program.signature.with_predicate(Predicate(name, own, computed=True), {})
        tables = {**self.program.facts.tables, name: FactTable.empty(len(own), "open")}
        facts = replace(self.program.facts, tables=tables)
        self.program = replace(self.program, signature=signature, facts=facts)

    def latent_value_count(self, predicate: str) -> int | None:
        if not self.program.is_open(predicate) and predicate not in self.unsettled:
            return None
        return self.program.outcome_count(predicate)


def _factors(statement: WeightedFormula, domain: Domain) -> list[float]:
    """The numbers that a weight is multiplied by; each of them gets separate templates."""
    assert statement.times is not None
    shown = shown_name(statement.times.name)
    if len(domain) and domain.kind == "text":
        message = f"{shown} multiplies a weight, and its type {domain.name} holds text"
        raise LanguageError(message, span=statement.times.span, hint=f"type {domain.name} = number")
    if len(domain) > MOST_FACTORS:
        raise LanguageError(
            f"{shown} stands for {len(domain):,} different numbers; at most {MOST_FACTORS:,} multiply "
            "a weight",
            span=statement.times.span,
            hint="round them, such as to two digits",
        )
    values = domain.values_at(range(len(domain)))
    for value in values:
        if isinstance(statement.weight, float) and isinstance(value, int | float):
            _refuse_immense(statement, statement.weight * value)
    return [float(value) for value in values]


def _refuse_immense(statement: WeightedFormula, weight: float) -> None:
    if not abs(weight) <= MOST_WEIGHT:  # so that nan is refused too
        raise LanguageError(
            f"the weight {weight:g} is not between -{MOST_WEIGHT:g} and {MOST_WEIGHT:g}: beside it rounding "
            "hides what other statements say",
            span=statement.span,
            hint="'hard:' says what always holds",
        )


@dataclass(frozen=True)
class _Scope:
    """Variables and conditions of one statement for one choice of values; ``formula`` is its number among
    all."""

    lowering: _Lowering
    types: Mapping[str, str]
    where: tuple[Comparison, ...]
    number: int
    formula: int = 0

    def templates(
        self,
        formula: Formula,
        whole: Formula,
        weight: int | None,
        weight_arguments: tuple[Argument, ...],
    ) -> Iterator[Template]:
        """Yield pieces that sum to ``weight`` times the formula, for each grounding of ``whole``, which
        contains it.

        They are the cases of the formula, or 1 minus the cases of its negation.
        """
        naming = self.lowering.naming
        try:
            decided = _cases(formula, weight, None if naming is None else most_cases(formula))
        except ManyCasesError:
            if naming is None:
                raise
            several = conjuncts(plain(formula)) if weight is None else []
            if len(several) > 1:  # what all must hold is forbidden one by one
                for one in several:
                    yield from self.templates(one, whole, None, ())
                return
            divided, parts = in_parts(formula, naming)
            decided = self._where_facts_hold(formula, weight, parts)
            if decided is None:
                for part in parts:
                    yield from self._tied(part)
                decided = _cases(divided, weight)
        yield from self._of_cases(decided, whole, weight, weight_arguments)

    def _where_facts_hold(
        self, formula: Formula, weight: int | None, parts: Sequence[Part]
    ) -> tuple[Sequence[Case], bool] | None:
        """Cases of a formula that known atoms leave fewer ground rows than its parts would have, as facts do
        not restrict the atoms of parts; else None."""
        if not any(map(self._is_known, predicates_in(formula))):
            return None
        try:
            decided = _cases(formula, weight)
        except ManyCasesError:
            return None
        first, *others = map(dict, decided[0])
        known = (
            (leaf, True)
            for leaf, holds in first.items()
            if isinstance(leaf, Atom) and holds and self._is_known(leaf.predicate)
            if all(case.get(leaf) for case in others)
        )
        needed = self.conjunction(known, self._variables([formula]))
        rows = 0 if needed is None else expected_rows(needed, self._size, self._rows)
        atoms = (math.prod(self._size(kind) for _, kind in self._variables([p.atom])) for p in parts)
        return decided if rows * len(decided[0]) < sum(atoms) * MOST_OF_A_PART else None

    def _is_known(self, predicate: str) -> bool:
        return self.lowering.latent_value_count(predicate) is None

    def _variables(self, formulas: Iterable[Formula]) -> tuple[tuple[str, str], ...]:
        """Free variables of formulas with their types."""
        return tuple((name, self.types[name]) for name in free_names(formulas))

    def _size(self, kind: str) -> int:
        return len(self.lowering.program.domain(kind))

    def _rows(self, literal: Literal) -> int:
        """Number of facts for which a literal of a closed predicate holds."""
        return len(self.lowering.program.table(literal.predicate).true)

    def _of_cases(
        self,
        decided: tuple[Sequence[Case], bool],
        whole: Formula,
        weight: int | None,
        weight_arguments: tuple[Argument, ...],
    ) -> Iterator[Template]:
        """Yield the pieces of a formula with these cases, in which it is true, or false."""
        variables = self._variables([whole, *self.where])

        def pieces(cases: Sequence[Case], sign: int) -> Iterator[Template]:
            for case in cases:
                for conjunction, by, instance in self.conjunctions(
                    case, variables, weight_arguments, whole.span
                ):
                    yield Template(
                        conjunction, weight, sign, by, self.number, self.formula, instance, variables
                    )

        listed, holds = decided
        if weight is None:  # what is forbidden has no sign
            yield from pieces(listed, 1)
            return
        # w · formula = w - w · (cases in which it is false). The constant w is kept, as the log-partition
        # needs it.
        if not holds:
            yield from pieces([()], 1)
        yield from pieces(listed, 1 if holds else -1)

    def _tied(self, part: Part) -> Iterator[Template]:
        """Yield templates that forbid an atom to differ from the part that it stands for."""
        lowering = self.lowering
        lowering.declare(part, self.types)
        scope = replace(self, where=(), formula=lowering.formulas)
        lowering.formulas += 1
        yield from scope._of_cases(_cases(part.tie, None), part.tie, None, ())

    def conjunctions(
        self,
        case: Case,
        variables: tuple[tuple[str, str], ...],
        weight_arguments: tuple[Argument, ...],
        span: Span | None,
    ) -> Iterator[tuple[Conjunction, tuple[Argument, ...], tuple[Argument, ...]]]:
        """Yield a case as shattered conjunctions, each with the images of the weight's arguments and of the
        variables.

        Both are carried as a literal that is removed again, so that every substitution reaches them.
        """
        rider = Literal("", (*weight_arguments, *(name for name, _ in variables)), TRUE)
        whole = self.conjunction((*self._conditions(), *case), variables, rider)
        if whole is None:
            return
        for part in shattered(whole, self._value_count_with_rider, span=span):
            carried = next(x for x in part.literals if x.predicate == "")
            literals = tuple(x for x in part.literals if x.predicate != "")
            by, instance = (
                carried.arguments[: len(weight_arguments)],
                carried.arguments[len(weight_arguments) :],
            )
            yield replace(part, literals=literals), by, instance

    def _value_count_with_rider(self, predicate: str) -> int | None:
        return None if predicate == "" else self.lowering.latent_value_count(predicate)

    def conjunction(
        self,
        decided: Iterable[tuple[Formula, bool]],
        variables: tuple[tuple[str, str], ...],
        *riders: Literal,
    ) -> Conjunction | None:
        """The conjunction of all decided leaves, with equalities substituted; ``None`` if they exclude each
        other."""
        literals = list(riders)
        equalities: list[tuple[Argument, Argument]] = []
        distinct: set[Pair] = set()
        blocks: list[Block] = []
        for leaf, holds in decided:
            match leaf:
                case Comparison(left=left, right=right):
                    pair = self._pair(left, right)
                    if holds:
                        equalities.append(pair)
                    else:
                        distinct.add(different(*pair))
                case Exists():
                    blocks.append(Block(tuple(self._pieces(leaf)), holds))
                case _:
                    literals.append(self._literal(leaf, holds))
        plain = Conjunction(variables, tuple(literals), frozenset(distinct), tuple(blocks))
        return _unified(plain, equalities)

    def _conditions(self) -> Iterator[tuple[Formula, bool]]:
        for condition in self.where:
            yield replace(condition, operator="="), condition.operator == "="

    def _pieces(self, leaf: Exists) -> Iterator[Conjunction]:
        variables = tuple((variable.name, self.types[variable.name]) for variable in leaf.variables)
        for case in cases(leaf.body, True):
            piece = self.conjunction(case, variables)
            if piece is not None:
                yield piece

    def _literal(self, leaf: Formula, holds: bool) -> Literal:
        match leaf:
            case Atom(predicate=predicate):
                return Literal(predicate, self._arguments(leaf), TRUE if holds else FALSE)
            case ValueIs(atom=atom, value=Constant() as value):
                return self._valued(atom, (value,), holds)
            case ValueIn(atom=atom, values=values):
                return self._valued(atom, values, holds)
        raise AssertionError(leaf)

    def _valued(self, atom: Atom, values: Sequence[Constant], holds: bool) -> Literal:
        value_type = self.lowering.program.signature.predicates[atom.predicate].value_type
        assert value_type is not None
        domain = self.lowering.program.domain(value_type)
        named = {domain.index_of(value.value) for value in values}
        outcomes = range(self.lowering.program.outcome_count(atom.predicate))
        allowed = tuple(index for index in outcomes if (index in named) == holds)
        return Literal(atom.predicate, self._arguments(atom), allowed)

    def _arguments(self, atom: Atom) -> tuple[Argument, ...]:
        types = self.lowering.program.signature.predicates[atom.predicate].types
        return tuple(self.argument(term, name) for term, name in zip(atom.arguments, types, strict=True))

    def _pair(self, left: Term, right: Term) -> tuple[Argument, Argument]:
        name = next(self.types[term.name] for term in (left, right) if not isinstance(term, Constant))
        return self.argument(left, name), self.argument(right, name)

    def argument(self, term: Term, type_name: str) -> Argument:
        if not isinstance(term, Constant):
            return term.name
        index = self.lowering.program.domain(type_name).index_of(term.value)
        assert index is not None, f"{term.value!r} is not in the domain of {type_name}"
        return index


def _cases(formula: Formula, weight: int | None, most: int | None = None) -> tuple[Sequence[Case], bool]:
    """Cases in which a formula is true, or false, and which of the two; false for a hard one."""
    return (cases(formula, False, most), False) if weight is None else shorter_cases(formula, most)


def _unified(conjunction: Conjunction, equalities: Sequence[tuple[Argument, Argument]]) -> Conjunction | None:
    """Substitute each equality, in the conjunction and in the remaining equalities; ``None`` if they
    conflict.

    An equality between arguments of enclosing conjunctions is kept in ``equal``, to be settled there.
    """
    if any(left == right for left, right in conjunction.distinct):
        return None
    unified: Conjunction | None = conjunction
    waiting = list(equalities)
    while waiting and unified is not None:
        left, right = waiting.pop(0)
        if left == right:
            continue
        if isinstance(left, int) and isinstance(right, int):
            return None
        name, by = (right, left) if isinstance(right, str) and right in unified.types else (left, right)
        if isinstance(name, str) and name in unified.types:
            unified = substituted(unified, name, by)
            waiting = [(by if a == name else a, by if b == name else b) for a, b in waiting]
        else:
            unified = replace(unified, equal=unified.equal | {different(left, right)})
    return unified


# Tables of networks as templates, one for each cell, for engines and learners that read templates only


MOST_CELLS = 100_000
"""Most cells turned into templates; a template takes tens of microseconds in every engine."""


def refuse_many_cells(program: Program, only_impossible: bool = False) -> None:
    """Raise BudgetError if the program's tables have too many cells for an engine that reads each."""
    count = cell_count(program, only_impossible)
    if count > MOST_CELLS:
        message = f"the tables of this network have {count:,} cells; this reads {MOST_CELLS:,} at most"
        raise BudgetError(message, hint="infer with --engine exact or bp reads whole tables")


def cell_count(program: Program, only_impossible: bool = False) -> int:
    """Number of table cells that change the weight of a world, or of those that forbid it."""
    return sum(int(np.count_nonzero(_counted(table, only_impossible))) for table in program.tables)


def _counted(table: NetworkTable, only_impossible: bool) -> np.ndarray:
    """Mask of the cells that count, in the table's shape: an entry of 1 adds nothing to a log-weight."""
    return table.values == 0 if only_impossible else table.values != 1


def in_cells(program: Program, only_impossible: bool = False) -> Program:
    """Replace the program's tables by a template for each cell that counts; with ``only_impossible`` keep the
    tables and add a template for each impossible cell. Raise BudgetError if there are too many cells."""
    if not program.tables:
        return program
    refuse_many_cells(program, only_impossible)
    weights, templates = list(program.weights), list(program.templates)
    formula = 1 + max((template.formula for template in templates), default=-1)
    for number, table in enumerate(program.statements):
        if not isinstance(table, NetworkTable):
            continue
        for place in map(tuple, np.argwhere(_counted(table, only_impossible)).tolist()):
            literals = tuple(Literal(name, (), (i,)) for name, i in zip(table.scope, place, strict=True))
            entry = float(table.values[place])
            known = len(weights) if entry else None
            templates.append(Template(Conjunction((), literals), known, 1, (), number, formula, ()))
            formula += 1
            if entry:
                weights.append(Weight(math.log(entry)))
    left = program.tables if only_impossible else ()
    return replace(program, weights=tuple(weights), templates=tuple(templates), tables=left)
