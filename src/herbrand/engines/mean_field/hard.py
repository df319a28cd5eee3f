"""Propagate hard statements before any message: exclude values of single atoms, and tie atoms that are equal.

A product distribution satisfies a hard statement only where the values of single atoms satisfy each grounding
of it. So units are propagated, atoms that imply each other are tied, and any other statement is refused by
name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.mean_field.circuit import Event, Values
from herbrand.engines.mean_field.grounded import Events, Leaders, merged_rows
from herbrand.errors import ContradictionError, Mistake, UnsupportedError
from herbrand.factors.ground_graph import ground_cases
from herbrand.factors.ground_quantifiers import Columns
from herbrand.factors.pieces import unique_rows
from herbrand.graphs import strong_component_of
from herbrand.language.show import statement_text
from herbrand.program.ground import Ground, LatentAtoms, ground
from herbrand.program.program import Allowed, Program, Weight

MOST_CHOICES = 256
"""Most ways to break a forbidden "no piece holds": it is one clause for each way to break every piece."""


@dataclass(frozen=True, eq=False)
class Forbidden:
    """Forbidden conjunctions of the same form: rows of atoms [row, literal], and the values ``allowed`` for
    each literal, which a row's atoms must not all have together."""

    statement: int
    atoms: np.ndarray
    allowed: tuple[Allowed, ...]

    def taken(self, rows: np.ndarray, literals: Sequence[int]) -> Forbidden:
        allowed = tuple(self.allowed[place] for place in literals)
        return Forbidden(self.statement, self.atoms[rows][:, literals], allowed)

    def led_by(self, leaders: Leaders) -> Iterator[Forbidden]:
        """The same over leaders, rows of one form merged; without rows that can no longer be violated."""
        columns = Columns(self.atoms, self.allowed, np.arange(len(self.atoms)))
        for _, atoms, allowed in merged_rows(columns, leaders):
            yield Forbidden(self.statement, atoms, allowed)


@dataclass(frozen=True, eq=False)
class SettledAtoms:
    """Consequences of hard statements. ``allowed``: the values left to atoms that have lost some;
    ``leaders``: the ties."""

    allowed: Mapping[int, Values]
    leaders: Leaders


def settled(ground: Ground) -> SettledAtoms:
    """Everything that follows from a program's forbidden templates; ``ground`` has no others.

    Raises ``UnsupportedError`` where a statement is not satisfied by that, ``ContradictionError`` where the
    statements exclude each other.
    """
    work = _Work(ground.program, ground.atoms)
    clauses = work.clauses(ground)
    while True:
        clauses, moved = work.propagated(clauses)
        tied = work.tie(clauses)
        if tied:
            clauses = work.rewritten(clauses)
        if not moved and not tied:
            break
    if clauses:
        raise _refusal(ground.program, clauses[0].statement)
    return SettledAtoms(work.everywhere(), work.leaders)


def leaders_of(ground: Ground) -> Leaders:
    """The ties that follow from forbidden templates, ignoring all that they forbid otherwise."""
    work = _Work(ground.program, ground.atoms)
    clauses = work.clauses(ground)
    while True:
        clauses, _ = work.propagated(clauses)
        if not work.tie(clauses):
            return work.leaders
        clauses = work.rewritten(clauses)


@dataclass
class _Work:
    """Unit propagation in progress. ``possible``: whether each value is left, an atom's values from
    ``starts`` on; ``left``: how many values each atom has left."""

    program: Program
    atoms: LatentAtoms

    def __post_init__(self) -> None:
        self.leaders = Leaders.nobody(self.atoms.count)
        valued = [self.atoms.evidence.is_valued(name) for name in self.atoms.codes]
        counts = [len(codes) for codes in self.atoms.codes.values()]
        self.true_or_false = ~np.repeat(np.array(valued, dtype=bool), np.array(counts, dtype=np.int64))
        self.left = np.array(self.atoms.value_counts, dtype=np.int64)
        self.starts = np.cumsum(self.left) - self.left
        self.possible = np.ones(int(self.left.sum()), dtype=bool)

    def every(self, atom: int) -> Values:
        return frozenset(range(int(self.atoms.value_counts[atom])))

    def clauses(self, ground: Ground) -> list[Forbidden]:
        """All conjunctions that the templates forbid."""
        cases = ground_cases(ground)
        events = Events(cases, self.leaders)
        clauses: list[Forbidden] = []
        for one, columns in zip(ground.templates, cases.rows, strict=True):
            if one.multiplicity and one.conjunction.blocks:
                clauses += self._without_blocks(one.template.statement, events.of(columns))
            elif one.multiplicity:
                rows = Forbidden(one.template.statement, columns.atoms, columns.allowed)
                clauses += rows.led_by(self.leaders)
        return clauses

    def _without_blocks(self, statement: int, events: Iterable[tuple[int, Event]]) -> list[Forbidden]:
        """The conjunctions that forbid events with quantifiers, rows with the same allowed values merged."""
        atoms: dict[tuple[Allowed, ...], list[list[int]]] = {}
        for _, event in events:
            for literals in self._broken(statement, event):
                allowed = tuple(tuple(sorted(values)) for values in literals.values())
                atoms.setdefault(allowed, []).append(list(literals))
        return [
            Forbidden(statement, np.array(rows, dtype=np.int64).reshape(len(rows), len(allowed)), allowed)
            for allowed, rows in atoms.items()
        ]

    def _broken(self, statement: int, event: Event) -> Iterator[dict[int, Values]]:
        """The conjunctions of literals that together cover an event, so that forbidding all of them forbids
        it."""
        if not event.blocks:
            yield dict(event.literals)
            return
        (some, pieces), rest = event.blocks[0], event.blocks[1:]
        if some:
            for piece in pieces:
                yield from self._with(statement, event.literals, piece.literals, (*piece.blocks, *rest))
            return
        if math.prod(map(_ways_to_break, pieces)) > MOST_CHOICES:
            raise _refusal(self.program, statement)
        for chosen in product(*(self._broken_by(piece) for piece in pieces)):
            opposite = _together(*(literals for literals, _ in chosen))
            inside = tuple(block for _, blocks in chosen for block in blocks)
            yield from self._with(statement, event.literals, opposite, (*inside, *rest))

    def _broken_by(self, piece: Event) -> Iterator[tuple[Mapping[int, Values], tuple]]:
        """Each way to make a piece false: a false literal, or a block with the opposite truth."""
        for atom, values in piece.literals.items():
            yield {atom: self.every(atom) - values}, ()
        for some, inner in piece.blocks:
            yield {}, ((not some, inner),)

    def _with(
        self, statement: int, literals: Mapping[int, Values], more: Mapping[int, Values], blocks: tuple
    ) -> Iterator[dict[int, Values]]:
        joint = _together(literals, more)
        if all(joint.values()):
            yield from self._broken(statement, Event(joint, blocks))

    def propagated(self, clauses: Sequence[Forbidden]) -> tuple[list[Forbidden], bool]:
        """Remove forbidden values from single atoms until nothing changes; the remaining clauses, and whether
        any was removed."""
        moved = False
        while True:
            left, again = [], False
            for clause in clauses:
                for rest in self._open(clause):
                    if len(rest.allowed) > 1:
                        left.append(rest)
                        continue
                    self._forbid(rest)
                    moved = again = True
            clauses = left
            if not again:
                return left, moved

    def _open(self, clause: Forbidden) -> Iterator[Forbidden]:
        """The literals of each row that may still be false, rows with the same such literals merged; rows
        with a false literal are dropped."""
        inside = np.zeros(clause.atoms.shape, np.int64)
        for place, allowed in enumerate(clause.allowed):
            starts = self.starts[clause.atoms[:, place]]
            for value in allowed:
                inside[:, place] += self.possible[starts + value]
        rows = np.flatnonzero(inside.all(axis=1))
        if not len(rows):
            return
        doubtful = (inside < self.left[clause.atoms])[rows]
        if len(rows) == len(inside) and doubtful.all():
            yield clause
            return
        first, form = unique_rows(doubtful)
        for number, representative in enumerate(first.tolist()):
            yield clause.taken(rows[form == number], np.flatnonzero(doubtful[representative]).tolist())

    def _forbid(self, clause: Forbidden) -> None:
        """Remove the values of clauses of one literal from their atoms. Raises ``ContradictionError`` where
        an atom has none left, or the clause has no literal."""
        for column, allowed in zip(clause.atoms.T, clause.allowed, strict=True):
            atoms = np.unique(column)
            for value in allowed:
                self._lose(atoms, value)
        if not self.left[clause.atoms].any(axis=1).all():
            raise _contradiction(self.program, clause.statement)

    def _lose(self, atoms: np.ndarray, value: int | np.ndarray) -> None:
        """Remove a value from each of some distinct atoms."""
        at = self.starts[atoms] + value
        self.left[atoms] -= self.possible[at]
        self.possible[at] = False

    def tie(self, clauses: Sequence[Forbidden]) -> bool:
        """Tie atoms that imply each other, by strong components of the implications of two-literal clauses
        (Aspvall, Plass and Tarjan 1979); whether there were any."""
        ends = [
            (rows, np.tile([values[0] for values in clause.allowed], (len(rows), 1)), clause.statement)
            for clause in clauses
            if len(clause.allowed) == 2
            and len(rows := clause.atoms[self.true_or_false[clause.atoms].all(axis=1)])
        ]
        if not ends:
            return False
        pairs, values, statements = zip(*ends, strict=True)
        atoms, value = np.concatenate(pairs), np.concatenate(values)
        names, place = np.unique(atoms, return_inverse=True)
        place = place.reshape(-1, 2)
        here, there = 2 * place + value, 2 * place + 1 - value
        size = 2 * len(names)
        links = np.stack([here, there[:, ::-1]], axis=2)
        component = strong_component_of(size, links.reshape(-1, 2))
        if (torn := component[0::2] == component[1::2]).any():
            stated = np.repeat(statements, [len(rows) for rows in pairs])
            raise _contradiction(self.program, int(stated[torn[place].all(axis=1)][0]))
        first = np.full(component.max() + 1, size)
        np.minimum.at(first, component, np.arange(size))
        head = first[component[1::2]]
        leader, opposite = names[head // 2], head % 2 == 0
        if (leader == names).all():
            return False
        self._follow(names, leader, opposite)
        return True

    def _follow(self, names: np.ndarray, leader: np.ndarray, opposite: np.ndarray) -> None:
        """Tie the atoms ``names`` to leaders, which also lose the values that these have lost."""
        to, flipped = np.arange(self.atoms.count), np.zeros(self.atoms.count, bool)
        to[names], flipped[names] = leader, opposite
        before = self.leaders
        self.leaders = Leaders(to[before.leader], before.opposite ^ flipped[before.leader])
        for value in (0, 1):
            lost = ~self.possible[self.starts[names] + value]
            for flip in (False, True):
                self._lose(np.unique(leader[lost & (opposite == flip)]), value ^ flip)

    def rewritten(self, clauses: Sequence[Forbidden]) -> list[Forbidden]:
        """The clauses over leaders; those that can no longer be violated are dropped."""
        return [rest for clause in clauses for rest in clause.led_by(self.leaders)]

    def everywhere(self) -> dict[int, Values]:
        """The values left to atoms that have lost some, including followers."""
        leader, opposite = self.leaders.leader, self.leaders.opposite
        lost = np.flatnonzero(self.left[leader] < self.atoms.value_counts[leader])
        by_atom: dict[int, Values] = {}
        for atom in lost.tolist():
            start = self.starts[leader[atom]]
            own = self.possible[start : start + self.atoms.value_counts[atom]]
            by_atom[atom] = frozenset(np.flatnonzero(own[::-1] if opposite[atom] else own).tolist())
        return by_atom


def _together(*conjunctions: Mapping[int, Values]) -> dict[int, Values]:
    """The values that all of these conjunctions allow for each atom."""
    joint: dict[int, Values] = {}
    for literals in conjunctions:
        for atom, values in literals.items():
            joint[atom] = joint.get(atom, values) & values
    return joint


def _ways_to_break(piece: Event) -> int:
    return len(piece.literals) + sum(1 if some else max(1, len(inner)) for some, inner in piece.blocks)


class UnkeptError(UnsupportedError):
    """A hard statement, with its number, that no product of single atoms satisfies."""

    statement: int


def penalised(program: Program, budget: Budget, penalty: float) -> Program:
    """The program with each hard statement that mean field cannot satisfy as a penalty on what it forbids.

    The penalties are additional weights, after those of the program.
    """
    while True:
        hard = tuple(t for t in program.templates if t.weight is None)
        try:
            grounded = ground(replace(program, templates=hard), budget)
            settled(grounded)
            return program
        except UnkeptError as refused:
            number = refused.statement
        own = len(program.weights)
        templates = tuple(
            replace(t, weight=own, sign=-1) if t.weight is None and t.statement == number else t
            for t in program.templates
        )
        program = replace(program, templates=templates, weights=(*program.weights, Weight(penalty)))


def _refusal(program: Program, number: int) -> UnkeptError:
    statement = program.statements[number]
    text = statement_text(statement)
    refused = UnkeptError(
        f"mean field cannot keep this hard statement: {text}",
        span=statement.span,
        hint="it keeps those that settle single atoms or make atoms equal; give this one a large weight, "
        "or use another engine",
    )
    refused.statement = number
    return refused


def _contradiction(program: Program, number: int) -> ContradictionError:
    statement = program.statements[number]
    text = statement_text(statement)
    return ContradictionError(
        Mistake(
            f"with the facts and the other hard statements, no world satisfies this one: {text}",
            statement.span,
        )
    )
