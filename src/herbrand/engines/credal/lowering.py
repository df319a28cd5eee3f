"""Ground a program's bounds to a credal network, and queries to ground formulas.

A statement without variables becomes one row directly. One with variables is grounded column by column: the
observed atoms that must hold are joined, every leaf is looked up for all groundings together, and groundings
in which the same leaves are fixed and the same leaves are one atom share one shape.

>>> import herbrand as hb
>>> theory = hb.parse("predicate f(p, p): observed\\npredicate s(p)\\nP(s(x) | s(y) and f(x, y)) >= 0.6")
>>> network = credal_network(hb.Model(theory, {"f": [("a", "b"), ("b", "a"), ("b", "b")]}).program)
>>> for group in network.groups:
...     print(group.event, group.given, group.atoms.tolist())
0 0 [[1]]
0 1 [[0, 1], [1, 0]]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget, refuse_beyond
from herbrand.engines.credal.network import Atoms, KnownAtoms, Network, Stated
from herbrand.engines.credal.sentence_groups import (
    MOST_ATOMS_A_SENTENCE,
    Gathered,
    add_rows,
    sentence_of,
    too_many_atoms,
    without_last_value,
)
from herbrand.engines.credal.shape import FALSE, GroundFormula, Shape, shape_of
from herbrand.engines.credal.written_links import (
    KNOWN_FALSE,
    KNOWN_TRUE,
    Column,
    Pair,
    kept_links,
    leaf_shape,
    patterns_of,
    written_links,
)
from herbrand.errors import Span, UnsupportedError
from herbrand.facts.domain import Domain
from herbrand.language.formulas import ORDERS, compares
from herbrand.language.scope import Renaming, free_names, variable_types, with_terms, written
from herbrand.language.syntax import (
    And,
    Atom,
    Bound,
    BoundRows,
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Leaf,
    Truth,
    ValueIn,
    ValueIs,
    Variable,
    formulas_in,
    walk,
)
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.evidence import Evidence, codes_of
from herbrand.program.expansion import written_out
from herbrand.program.program import TRUE as HOLDS
from herbrand.program.program import Argument, Conjunction, Literal, Program

BYTES_AN_ATOM = 64
BYTES_A_ROW = 64
BYTES_A_LINK = 64
MOST_PARTS = 100_000


Sentence = tuple[Shape, Shape | None, tuple[int, ...]]
"""The shapes of event and condition over columns, and the atom (or leaf) of each column."""


def credal_network(program: Program, budget: Budget = UNLIMITED) -> Network:
    """Ground all bounds of a program over its open ground atoms.

    Raises ``BudgetError`` before it allocates more memory than the budget allows.
    """
    return Lowering.over(program, budget).network()


def _atoms(program: Program, budget: Budget) -> Atoms:
    signature, tables = program.signature, program.facts.tables
    open_ones = {
        name: program.domains_of(predicate)
        for name, predicate in signature.named.items()
        if tables[name].world == "open" and predicate.value_type is None
    }
    atoms = Atoms.of(open_ones)
    if len(atoms):
        sizes = np.diff(atoms.starts)
        largest = int(np.argmax(sizes))
        name = atoms.predicates[largest]
        refuse_beyond(
            len(atoms) * BYTES_AN_ATOM,
            budget.bytes,
            f"there are {len(atoms):,} open ground atoms, {sizes[largest]:,} of them of {name}:",
            f"declare {name} as observed if what is not listed is false, or allow more by --memory",
        )
    return atoms


def _facts(program: Program, atoms: Atoms) -> KnownAtoms:
    """The facts of open predicates, atoms ascending. Raises UnsupportedError for soft evidence."""
    numbers, truths = [np.empty(0, np.int64)], [np.empty(0, bool)]
    for name in atoms.predicates:
        table = program.facts.tables[name]
        if len(table.soft):
            raise UnsupportedError(
                f"bound does not use the soft evidence on {name}",
                hint="state a bound on the atom instead: P(atom) in [lower, upper]",
            )
        for rows, truth in ((table.true, True), (table.false, False)):
            if len(rows):
                domains = program.domains_of(program.signature.predicates[name])
                numbers.append(atoms.start[name] + codes_of(rows, tuple(map(len, domains))))
                truths.append(np.full(len(rows), truth))
    atoms_known = np.concatenate(numbers)
    order = np.argsort(atoms_known, kind="stable")
    return KnownAtoms(atoms_known[order], np.concatenate(truths)[order])


@dataclass(frozen=True, eq=False)
class Lowering:
    """A lowering of one program's bounds and queries to ground sentences and formulas over ``atoms``."""

    evidence: Evidence
    atoms: Atoms
    budget: Budget = UNLIMITED

    @staticmethod
    def over(program: Program, budget: Budget = UNLIMITED) -> Lowering:
        return Lowering(Evidence(program), _atoms(program, budget), budget)

    @cached_property
    def program(self) -> Program:
        return self.evidence.program

    def network(self) -> Network:
        """Ground all bounds of the program."""
        gathered = Gathered()
        bindings = {}
        stated = Stated(self.program.statements)
        for number, statement in stated.numbered():
            if isinstance(statement, BoundRows):
                for row in add_rows(number, statement, self.atoms, gathered):
                    self.add(number + row, statement.bound(row), gathered)
            elif isinstance(statement, Bound):
                columns = self.add(number, statement, gathered)
                if columns:
                    bindings[number] = columns
        facts = _facts(self.program, self.atoms)
        return Network(self.atoms, gathered.groups(), facts, stated, bindings, gathered.links())

    def add(self, number: int, bound: Bound, gathered: Gathered) -> dict[str, tuple[Domain, np.ndarray]]:
        """Add the rows of a statement; return the domain of each variable and its constant in each grounding.

        Empty where the statement has no variables.
        """
        if self._add_plain(number, bound, gathered):
            return {}
        bound = renamed_apart(bound)
        conjunction, types = self.choices(bound.event, bound.given)
        rows = Bindings.nothing()
        if conjunction.variables:
            limit = Limit(self.budget, span=bound.span)
            rows = enumerate_bindings(conjunction, rows, self.evidence, limit)
        self.add_bindings(number, bound, rows, types, gathered)
        free = [name for name, _ in conjunction.variables]
        return {written(n): (self.program.domain(types[n]), rows.columns[n]) for n in free}

    def _unimplied_links(self, bound: Bound, sentence: Sentence | None, column: Column) -> list[Pair]:
        """The links of a renamed bound as written, in columns, if its sentence does not imply all of them."""
        types = variable_types(formulas_in(bound), self.program.signature)

        def instances(formula: Exists | Forall) -> Iterator[Formula]:
            names = [variable.name for variable in formula.variables]
            for chosen in itertools.product(*(self.program.domain(types[name]) for name in names)):
                constants = {name: Constant(value) for name, value in zip(names, chosen, strict=True)}
                yield with_terms(formula.body, constants)

        written = written_links(bound, column, instances, lambda part: self._written_out(part, types))
        if sentence is None:
            return written
        event, given, columns = sentence
        kept = {(columns[a], columns[b]) for a, b in kept_links(event, given, bound.independent)}
        return [] if kept.issuperset(written) else written

    def _add_plain(self, number: int, bound: Bound, gathered: Gathered) -> bool:
        """Add a sentence over open ground atoms only, in one pass; False if it is of another kind.

        A fast path, since files hold a million of these. No truth value simplifies their shapes, so that
        the columns are numbered as they occur, and the sentence implies its links.
        """
        order: dict[int, int] = {}

        def column(leaf: Leaf) -> Shape:
            number = self.atoms.number(leaf) if type(leaf) is Atom else None
            if number is None:
                raise _NotPlainError
            return order.setdefault(number, len(order))

        try:
            event = shape_of(bound.event, column)
            given = None if bound.given is None else shape_of(bound.given, column)
        except _NotPlainError:
            return False
        if len(order) > MOST_ATOMS_A_SENTENCE:
            raise too_many_atoms(len(order), bound)
        rows = gathered.rows(event, given, bound.independent)
        rows.singles.append((tuple(order), bound.lower, bound.upper, number))
        return True

    def shape(self, formula: Formula) -> Shape:
        """The shape of a closed formula over atom numbers, with observed atoms replaced by their values."""
        return shape_of(self.expanded(formula), self._number_of)

    def ground(self, formula: Formula) -> GroundFormula:
        """Ground a closed formula over its open atoms."""
        return GroundFormula.of(self.shape(formula))

    def _number_of(self, leaf: Leaf) -> Shape:
        if type(leaf) is Atom:
            number = self.atoms.number(leaf)
            if number is not None:
                return number
        return leaf_shape(self._leaf_values(leaf, Bindings.nothing(), {})[0])

    def _leaf_values(self, leaf: Leaf, rows: Bindings, types: dict[str, str]) -> np.ndarray:
        """The number of the leaf's atom in each row, or ``KNOWN_TRUE`` or ``KNOWN_FALSE``."""
        match leaf:
            case Truth(value=holds):
                return _known(np.full(len(rows), holds))
            case Comparison(left=left, right=right):
                return _known(self._comparison(leaf, left, right, rows, types))
            case Atom(predicate=name):
                codes = self._codes(leaf, rows)
                if name in self.atoms.start:
                    return self.atoms.start[name] + codes
                return _known(self.evidence.known(name).lookup(codes) == 1)
            case ValueIs(atom=atom, value=value):
                return self._valued(atom, (value,), rows, leaf.span)
            case ValueIn(atom=atom, values=values):
                return self._valued(atom, values, rows, leaf.span)
        raise AssertionError(leaf)

    def _comparison(
        self, leaf: Comparison, left: object, right: object, rows: Bindings, types: dict[str, str]
    ) -> np.ndarray:
        if isinstance(left, Constant) and isinstance(right, Constant):
            return np.full(len(rows), compares(leaf.operator, left.value, right.value))
        assert leaf.operator in ("=", "!="), "orders of variables are computed by predicates of their own"
        known = next(types[t.name] for t in (left, right) if isinstance(t, Variable))
        sides = [rows.column(self._argument(term, known)) for term in (left, right)]
        return ORDERS[leaf.operator](*sides)

    def _argument(self, term: object, type_name: str) -> Argument:
        """The name of a variable, or the index of a constant; -1 for a constant that its domain lacks."""
        if isinstance(term, Variable):
            return term.name
        assert isinstance(term, Constant)
        index = self.program.domain(type_name).index_of(term.value)
        return -1 if index is None else index

    def _arguments(self, atom: Atom) -> tuple[Argument, ...]:
        types = self.program.signature.predicates[atom.predicate].types
        return tuple(self._argument(term, name) for term, name in zip(atom.arguments, types, strict=True))

    def _codes(self, atom: Atom, rows: Bindings) -> np.ndarray:
        domains = self.program.domains_of(self.program.signature.predicates[atom.predicate])
        return rows.codes(self._arguments(atom), [*map(len, domains)])

    def _valued(self, atom: Atom, values: Sequence[object], rows: Bindings, span: Span | None) -> np.ndarray:
        name = atom.predicate
        if self.program.is_open(name):
            raise UnsupportedError(
                f"bound does not support many-valued atoms whose value is open, and {name} is many-valued",
                span=span,
                hint=f"declare {name} as observed, or state a predicate for each value, and that "
                "exactly one holds, with a sure condition so that they depend on each other: "
                "P((one and not other) or (other and not one) | true) = 1",
            )
        value_type = self.program.signature.predicates[name].value_type
        assert value_type is not None
        values_known = self.evidence.known(name).lookup(self._codes(atom, rows))
        holds = np.zeros(len(rows), bool)
        for value in values:
            holds |= values_known == rows.column(self._argument(value, value_type))
        return _known(holds)

    # Statements with variables

    def choices(self, event: Formula, given: Formula | None) -> tuple[Conjunction, dict[str, str]]:
        """The free variables with the observed atoms that must hold; types by variable."""
        parts = [event] if given is None else [event, given]
        types = variable_types(parts, self.program.signature)
        literals = () if given is None else tuple(self._observed(given))
        return Conjunction(tuple((name, types[name]) for name in free_names(parts)), literals), types

    def _observed(self, given: Formula) -> Iterator[Literal]:
        """Literals of the observed atoms that must hold for the condition to hold."""
        for part in given.operands if isinstance(given, And) else (given,):
            if isinstance(part, Atom) and part.predicate not in self.atoms.start:
                arguments = self._arguments(part)
                if -1 not in arguments:
                    yield Literal(part.predicate, arguments, HOLDS)

    def add_bindings(
        self, number: int, bound: Bound, rows: Bindings, types: dict[str, str], gathered: Gathered
    ) -> None:
        """Add one row for each of these groundings of a renamed bound.

        Groundings whose sentences are equal give one row.
        """
        event, *condition = (self._written_out(part, types) for part in formulas_in(bound))
        parts = (part for formula in (event, *condition) for part in walk(formula))
        leaves = list(dict.fromkeys(part for part in parts if isinstance(part, Leaf)))
        needed = len(rows) * (len(leaves) * 24 + BYTES_A_ROW)
        what = f"this statement has {len(rows):,} groundings of {len(leaves):,} atoms each,"
        hint = "allow more by --memory, or state it of fewer constants"
        refuse_beyond(needed, self.budget.bytes, what, hint, bound.span)
        values = np.empty((len(rows), len(leaves)), np.int64)
        for position, leaf in enumerate(leaves):
            values[:, position] = self._leaf_values(leaf, rows, types)
        place = {leaf: position for position, leaf in enumerate(leaves)}
        for pattern, members in patterns_of(values):

            def column(leaf: Leaf, pattern: np.ndarray = pattern) -> Shape:
                return leaf_shape(pattern[place[leaf]])

            given = shape_of(condition[0], column) if condition else None

            def way_out(row: int = int(members[0])) -> str:
                constants = {
                    n: self.program.domain(types[n]).value(int(c[row])) for n, c in rows.columns.items()
                }
                return without_last_value(bound.event, constants)

            sentence = sentence_of(shape_of(event, column), given, bound, way_out)
            if given != FALSE:
                links = self._unimplied_links(bound, sentence, column)
                self._refuse_too_many_links(len(links) * len(members), bound)
                gathered.link(values[members][:, np.array(links, np.int64).reshape(-1, 2)].reshape(-1, 2))
            if sentence is None:
                continue
            shape, given, positions = sentence
            atoms = values[members[:, None], np.array(positions, np.int64)]
            if len(atoms) > 1:
                first = np.sort(np.unique(atoms, axis=0, return_index=True)[1])
                members, atoms = members[first], atoms[first]
            rows_of_shape = gathered.rows(shape, given, bound.independent)
            rows_of_shape.add_table(atoms, members, bound.lower, bound.upper, number)

    def _refuse_too_many_links(self, count: int, bound: Bound) -> None:
        what = f"as written, the groundings of this statement link {count:,} pairs of atoms,"
        hint = "end the statement in 'independent', or allow more by --memory"
        refuse_beyond(count * BYTES_A_LINK, self.budget.bytes, what, hint, bound.span)

    def expanded(self, formula: Formula) -> Formula:
        """The formula with each quantifier written out as a conjunction or disjunction over its domain."""
        if not any(isinstance(part, Exists | Forall) for part in walk(formula)):
            return formula
        renamed = Renaming().formula(formula)
        return self._written_out(renamed, variable_types([renamed], self.program.signature))

    def _written_out(self, formula: Formula, types: Mapping[str, str]) -> Formula:
        domains = {name: self.program.domain(type_name) for name, type_name in types.items()}
        return written_out(formula, domains, MOST_PARTS)


class _NotPlainError(Exception):
    """Raised for a statement that is of more than open ground atoms."""


def renamed_apart(bound: Bound) -> Bound:
    """The bound with quantified variables and ``_`` renamed, so that each name is bound once."""
    renaming = Renaming()
    event = renaming.formula(bound.event)
    return replace(bound, event=event, given=None if bound.given is None else renaming.formula(bound.given))


def _known(holds: np.ndarray) -> np.ndarray:
    return np.where(holds, KNOWN_TRUE, KNOWN_FALSE).astype(np.int64)
