"""A program as weighted constraints: choices, least models of rules, formulas, soft evidence and evidence.

Each instance of a ``::`` statement is a choice; rules fix the derived atoms as the least model; weighted
formulas multiply the weight of the resulting world, and evidence excludes worlds. Atoms get literals only
when something names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import cast
from weakref import WeakMethod

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import ChoiceConstraints, Drawn
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.engines.circuit.derived_literals import DerivedLiterals
from herbrand.engines.circuit.grounding import (
    ANY,
    Atom,
    Grounding,
    Instance,
    Row,
    Stated,
    lowered_all,
)
from herbrand.engines.circuit.statements import Lowered
from herbrand.factors.ground_graph import ground_cases, ground_graph
from herbrand.language.formulas import unvalued
from herbrand.language.network_tables import NetworkTable
from herbrand.language.syntax import (
    And,
    Constant,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    ValueIs,
    Xor,
    leaf_terms,
    walk,
)
from herbrand.language.syntax import Atom as AtomFormula
from herbrand.program.evidence import codes_of
from herbrand.program.ground import Ground, rows_in
from herbrand.program.program import Program


@dataclass
class Worlds:
    """The constraints of a ground program, extended as atoms are asked for.

    ``exclusive``: the many-valued predicates whose atoms may get values from several statements.
    """

    ground: Ground
    budget: Budget
    made: ChoiceConstraints = field(default_factory=ChoiceConstraints)

    def __post_init__(self) -> None:
        program = self.program
        self._statements = lowered_all(program.uncertain, program.signature, program.facts)
        self._stated = Stated(self.ground.evidence, program.signature, program.facts)
        grounding = Grounding(self._statements, self._stated, self.budget)
        self.derived = self.ground.atoms.derived
        # A weak reference: a strong one makes a cycle, which keeps all memory of a run until garbage is
        # collected.
        stated = cast("Callable[[], Callable[[Atom], int]]", WeakMethod(self._stated_literal))
        self._derived = DerivedLiterals(
            grounding,
            lambda atom: stated()(atom),
            self.made,
            self.budget,
            lambda atom: program.atom_text(*atom),
        )
        self.exclusive: set[str] = set()
        self._axes: dict[int, list[int]] = {}
        self._solve_valued(self._statements)

    @property
    def program(self) -> Program:
        return self.ground.program

    @property
    def net(self) -> Constraints:
        return self.made.net

    @property
    def drawn(self) -> Sequence[tuple[Instance, Drawn]]:
        """The choices that atoms depend on."""
        return self._derived.drawn

    @property
    def instances(self) -> Mapping[Atom, Sequence[Instance]]:
        """The instances of statements that may make each atom true."""
        return self._derived.instances

    # Atoms

    def solve(self, queried: Iterable[tuple[str, Sequence[int]]]) -> None:
        """Add literals of all derived atoms that match these patterns, and of all that they depend on."""
        self._derived.solve(queried)

    def solve_choices(self) -> None:
        """Add literals of all heads of choices, queried or not: whole worlds hold every choice."""
        self.solve(pattern for statement in self._statements for pattern in statement.chosen)

    def _solve_valued(self, statements: Sequence[Lowered]) -> None:
        """Require at most one value for each derived many-valued atom. One instance's alternatives exclude
        each other anyway; where several instances may give values, all atoms of the predicate are solved,
        queried or not."""
        predicates = self.program.signature.predicates
        for name in sorted(name for name in self.derived if predicates[name].value_type is not None):
            own = [s for s in statements if any(head.predicate == name for head in s.heads)]
            if len(own) == 1 and own[0].gives_one_value(name):
                continue
            self.solve([(name, (ANY,) * len(predicates[name].column_types))])
            for literals in self._derived.values(name).values():
                self.net.at_most_one(literals)
                if len(literals) > 1:
                    self.exclusive.add(name)

    def literal(self, predicate: str, row: Row) -> int:
        """The literal of a boolean atom, or of one value of a many-valued one (its row's last column)."""
        return self._derived.literal((predicate, row))

    def _stated_literal(self, atom: Atom) -> int:
        predicate, row = atom
        if predicate in self.derived:
            return FALSE
        held = self._stated.status(predicate, row)
        if held is not None:
            return TRUE if held else FALSE
        code, value = self.ground.evidence.coded(predicate, row)
        return self.axis(int(self.ground.atoms.numbers(predicate, code)[0]))[value]

    def possible(self, predicate: str) -> np.ndarray:
        """The codes of a derived predicate's atoms that were asked for and may hold, distinct, ascending."""
        sizes = self.ground.evidence.sizes(predicate)
        rows = {
            row[: len(sizes)]  # without the value, where there is one
            for (name, row), one in self._derived.literals.items()
            if name == predicate and one != FALSE
        }
        return codes_of(np.array(sorted(rows), np.int64).reshape(len(rows), len(sizes)), sizes)

    def axis(self, number: int) -> list[int]:
        """The literals of a latent atom's values."""
        if number not in self._axes:
            predicate, row = self.atom(number)
            size = self.program.value_count(predicate)
            if predicate not in self.derived:
                self._axes[number] = self.made.add_axis(size)
            elif self.ground.evidence.is_valued(predicate):
                self._axes[number] = [self.literal(predicate, (*row, value)) for value in range(size)]
            else:
                literal = self.literal(predicate, row)
                self._axes[number] = [negated(literal), literal]
        return self._axes[number]

    def open_axes(self) -> Iterator[tuple[Atom, list[int]]]:
        """The atoms with literals that nothing derives, and the literals of their values."""
        for number, literals in self._axes.items():
            atom = self.atom(number)
            if atom[0] not in self.derived:
                yield atom, literals

    def whole_axis(self, number: int) -> list[int]:
        """The literals of an atom's values, of which exactly one holds in every world, as formulas need.
        Where choices may give the atom no value, a last literal is true for that."""
        literals = self.axis(number)
        if self.atom(number)[0] not in self.program.incomplete:
            return literals
        values = frozenset(literals) - {FALSE}
        complete = TRUE in values or any(one <= values for one in self._derived.exhaustive)
        return [*literals, FALSE if complete else negated(self.net.either(literals))]

    def named(self, predicate: str) -> int:
        """Number of a predicate's latent atoms that have literals."""
        first = self.ground.atoms.start[predicate]
        last = first + self.ground.atoms.counts[predicate]
        return sum(first <= number < last for number in self._axes)

    def atom(self, number: int) -> tuple[str, Row]:
        """Predicate and arguments of a latent atom."""
        return self.ground.atoms.row(number)

    # Formulas and evidence

    def add_formulas(self) -> None:
        """Add all weighted and hard formulas, and the evidence and soft evidence on open and derived
        atoms."""
        weighs = self.ground.evidence.weighs
        if (
            self.ground.templates
            or self.program.tables
            or any(map(weighs, self.program.signature.predicates))
        ):
            graph = ground_graph(self.ground, self.budget, by_formula=False).graph
            self._solve_axes(graph.edge_axes, graph.weighted_axes)
            self.made.add(graph, self.whole_axis, self.budget)
        self._add_evidence()

    def _solve_axes(self, *axes: np.ndarray) -> None:
        """Add literals of the derived atoms among axes."""
        named = np.unique(np.concatenate(axes))
        atoms = named[(named >= 0) & (named < self.ground.atoms.count)].tolist()
        self.solve(pattern for atom in atoms for pattern in self.patterns(atom))

    def patterns(self, axis: int) -> Iterator[tuple[str, Row]]:
        """The pattern to solve for a latent atom's literals; none where nothing derives it."""
        predicate, row = self.atom(axis)
        if predicate in self.derived:
            yield predicate, (*row, ANY) if self.ground.evidence.is_valued(predicate) else row

    @cached_property
    def stated(self) -> dict[Atom, bool]:
        """Facts about derived atoms, and whether each is true."""
        tables = {name: self.program.facts.tables[name] for name in sorted(self.derived)}
        return {
            (name, tuple(row)): holds
            for name, table in tables.items()
            for rows, holds in ((table.true, True), (table.false, False))
            for row in rows.tolist()
        }

    def _add_evidence(self) -> None:
        self.solve(self.stated)
        for (name, row), holds in self.stated.items():
            literal = self.literal(name, row)
            text = self.program.atom_text(name, row)
            if holds:
                self.made.stipulate(literal, text)
            else:
                self.made.stipulate(negated(literal), f"not {text}", holds=False)

    def close(self, predicate: str) -> None:
        """Exclude worlds in which an atom of a derived predicate holds that has neither a true fact nor soft
        evidence."""
        declared, table = self.program.signature.predicates[predicate], self.program.facts.tables[predicate]
        self.solve([(predicate, (ANY,) * len(declared.column_types))])
        places = len(declared.types)
        listed = set(map(tuple, [*table.true.tolist(), *table.soft[:, :places].tolist()]))
        for atom, literal in sorted(self._derived.literals.items()):
            if atom[0] == predicate and listed.isdisjoint((atom[1], atom[1][:places])):
                self.made.stipulate(negated(literal), f"not {self.program.atom_text(*atom)}", holds=False)

    @property
    def given_chances(self) -> set[str]:
        """Predicates whose probabilities come from choices, rules or conditional tables."""
        tables = (stated for stated in self.program.statements if isinstance(stated, NetworkTable))
        return self.derived | {table.scope[-1] for table in tables if table.conditional}

    def open_log_count(self) -> float:
        """Logarithm of the number of worlds of the open atoms that have literals."""
        return sum(math.log(len(self._axes[n])) for n in self._axes if self.atom(n)[0] not in self.derived)

    def open_log_weight(self) -> float:
        """Log-partition of the open atoms that have literals, from soft evidence and excluded values
        alone."""
        evidence, atoms = self.ground.evidence, self.ground.atoms
        names = [name for name in self.program.signature.predicates if name not in self.given_chances]
        total = sum(evidence.settled_opinions(name) for name in names)
        sums = (np.logaddexp.reduce(self._open_logs(name), axis=1) for name in names if name in atoms.start)
        return total + sum(float(own.sum()) for own in sums)

    def _open_logs(self, name: str) -> np.ndarray:
        """Log-weights that facts give to each value of a predicate's atoms, [atom, value]."""
        atoms = self.ground.atoms
        logs = self.ground.evidence.weight_rows(name, atoms.codes[name])
        return logs[[n - atoms.start[name] for n in self._axes if self.atom(n)[0] == name]]

    def formulas(self, closed: Sequence[Formula]) -> list[int]:
        """The literals of closed formulas."""
        atoms = (self._atom_of(part) for formula in closed for part in walk(formula))
        self.solve(atom for atom in atoms if atom is not None and atom[0] in self.derived)
        return [self._formula(formula) for formula in closed]

    def _formula(self, formula: Formula) -> int:
        """The literal of a formula, with a gate for each connective, so that a parity of many atoms stays
        linear in its length."""
        match formula:
            case Truth(value=value):
                return TRUE if value else FALSE
            case Not(operand=operand):
                return negated(self._formula(operand))
            case And(operands=operands):
                return self.net.every(map(self._formula, operands))
            case Or(operands=operands):
                return self.net.either(map(self._formula, operands))
            case Implies(premise=premise, conclusion=conclusion):
                return self.net.either([negated(self._formula(premise)), self._formula(conclusion)])
            case Xor(operands=operands):
                return reduce(self._different, map(self._formula, operands), FALSE)
            case Iff(left=left, right=right):
                return negated(self._different(self._formula(left), self._formula(right)))
        atom = self._atom_of(formula)
        return self._by_cases(formula) if atom is None else self.literal(*atom)

    def _different(self, one: int, other: int) -> int:
        """The literal of the gate that is true where exactly one of two literals holds."""
        return self.net.either([self.net.every([one, negated(other)]), self.net.every([negated(one), other])])

    def _atom_of(self, leaf: Formula) -> Atom | None:
        """The atom, or the value of one, that a leaf is; ``None`` where it is neither, or has a variable."""
        if not isinstance(leaf, AtomFormula | ValueIs):
            return None
        stated, terms = unvalued(leaf), leaf_terms(leaf)
        if not all(isinstance(term, Constant) for term in terms):
            return None
        types = self.program.signature.predicates[stated.predicate].column_types
        row = self.program.facts.indices(types, [term.value for term in cast(list[Constant], terms)])
        return None if None in row else (stated.predicate, cast(Row, row))

    def _by_cases(self, formula: Formula) -> int:
        """The literal of a formula with quantifiers, from the cases in which it fails."""
        false = self.ground.negation(formula, self.budget, rows_in(self.budget))
        cases = ground_cases(false, self.budget)
        self._solve_axes(cases.somes.members, *(columns.atoms.reshape(-1) for columns in cases.rows))
        literals_of = self.made.with_helpers(cases.somes, self.whole_axis)
        wrong = [
            self.net.every(self.made.among(literals_of(axis), values) for axis, values in row)
            for columns in cases.rows
            for row in columns.literals()
        ]
        return negated(self.net.either(wrong))
