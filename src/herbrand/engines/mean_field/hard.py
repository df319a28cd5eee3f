"""What hard statements settle before any message: values of single atoms, and atoms that are one.

A product distribution keeps a hard statement only where each grounding of it is kept by what single atoms
are. So units are propagated, atoms that imply each other are made one, and what remains is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.mean_field.circuit import Event, Values
from herbrand.engines.mean_field.grounded import Events, Leaders
from herbrand.errors import ContradictionError, Mistake, UnsupportedError
from herbrand.factors.ground_graph import ground_cases
from herbrand.graphs import strong_component_of
from herbrand.language.show import show_statement
from herbrand.program.ground import Ground, LatentAtoms, ground
from herbrand.program.program import Program, Weight

MOST_CHOICES = 256
"""A forbidden "no piece holds" is one clause for each way to break every piece; up to this many are tried."""


@dataclass(frozen=True)
class ForbiddenValues:
    """Atoms with values that they must not all have together."""

    statement: int
    literals: Mapping[int, Values]


@dataclass(frozen=True, eq=False)
class SettledAtoms:
    """``allowed``: the values left to atoms that have lost some; ``leaders``: atoms that are one."""

    allowed: Mapping[int, Values]
    leaders: Leaders


def settled(ground: Ground) -> SettledAtoms:
    """Everything that a program's forbidden templates, which are all it has, settle.

    Raises ``UnsupportedError`` where a statement is not settled by that, ``ContradictionError`` where the
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
    """Atoms that forbidden templates make one, whatever else they say."""
    work = _Work(ground.program, ground.atoms)
    clauses = work.clauses(ground)
    while True:
        clauses, _ = work.propagated(clauses)
        if not work.tie(clauses):
            return work.leaders
        clauses = work.rewritten(clauses)


@dataclass
class _Work:
    program: Program
    atoms: LatentAtoms
    allowed: dict[int, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.leaders = Leaders.nobody(self.atoms.count)
        valued = [self.atoms.evidence.is_valued(name) for name in self.atoms.codes]
        counts = [len(codes) for codes in self.atoms.codes.values()]
        self.true_or_false = ~np.repeat(np.array(valued, dtype=bool), np.array(counts, dtype=np.int64))

    def every(self, atom: int) -> Values:
        return frozenset(range(int(self.atoms.value_counts[atom])))

    def clauses(self, ground: Ground) -> list[ForbiddenValues]:
        """Everything that the templates forbid."""
        cases = ground_cases(ground)
        events = Events(cases, self.leaders)
        return [
            ForbiddenValues(one.template.statement, literals)
            for one, columns in zip(ground.templates, cases.rows, strict=True)
            if one.multiplicity
            for _, event in events.of(columns)
            for literals in self._broken(one.template.statement, event)
        ]

    def _broken(self, statement: int, event: Event) -> Iterator[dict[int, Values]]:
        """The conjunctions that are forbidden together with an event."""
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
            opposite: dict[int, Values] = {}
            for literals, _ in chosen:
                for atom, values in literals.items():
                    opposite[atom] = opposite.get(atom, values) & values
            inside = tuple(block for _, blocks in chosen for block in blocks)
            yield from self._with(statement, event.literals, opposite, (*inside, *rest))

    def _broken_by(self, piece: Event) -> Iterator[tuple[Mapping[int, Values], tuple]]:
        """What each makes a piece fail: a literal that is false, or a block that says the opposite."""
        for atom, values in piece.literals.items():
            yield {atom: self.every(atom) - values}, ()
        for some, inner in piece.blocks:
            yield {}, ((not some, inner),)

    def _with(
        self, statement: int, literals: Mapping[int, Values], more: Mapping[int, Values], blocks: tuple
    ) -> Iterator[dict[int, Values]]:
        joint = dict(literals)
        for atom, values in more.items():
            joint[atom] = joint.get(atom, values) & values
        if all(joint.values()):
            yield from self._broken(statement, Event(joint, blocks))

    def propagated(self, clauses: Sequence[ForbiddenValues]) -> tuple[list[ForbiddenValues], bool]:
        """What is left of the clauses once single atoms have lost the values that these forbid."""
        moved = False
        while True:
            left, again = [], False
            for clause in clauses:
                literals = self._open(clause)
                if literals is None:
                    continue
                if len(literals) > 1:
                    left.append(ForbiddenValues(clause.statement, literals))
                    continue
                self._forbid(clause.statement, literals)
                moved = again = True
            clauses = left
            if not again:
                return left, moved

    def _open(self, clause: ForbiddenValues) -> dict[int, Values] | None:
        """The literals that may still be false; ``None`` where one is."""
        literals = {}
        for atom, values in clause.literals.items():
            left = self.allowed.get(atom)
            if left is not None and not left & values:
                return None
            if (left is None and len(values) == self.atoms.value_counts[atom]) or (
                left is not None and left <= values
            ):
                continue
            literals[atom] = values
        return literals

    def _forbid(self, statement: int, literals: Mapping[int, Values]) -> None:
        for atom, values in literals.items():
            self.allowed[atom] = self.allowed.get(atom, self.every(atom)) - values
            if self.allowed[atom]:
                return
        raise _contradiction(self.program, statement)

    def tie(self, clauses: Sequence[ForbiddenValues]) -> bool:
        """Make atoms one that imply each other, by the strong components of the implications."""
        pairs = [
            [(atom, next(iter(values))) for atom, values in clause.literals.items()]
            for clause in clauses
            if len(clause.literals) == 2 and all(self.true_or_false[atom] for atom in clause.literals)
        ]
        if not pairs:
            return False
        ends = np.array(pairs, dtype=np.int64)
        names, place = np.unique(ends[:, :, 0], return_inverse=True)
        place = place.reshape(-1, 2)
        value = ends[:, :, 1]
        here, there = 2 * place + value, 2 * place + 1 - value
        size = 2 * len(names)
        links = np.stack([here, there[:, ::-1]], axis=2)
        component = strong_component_of(size, links.reshape(-1, 2))
        if (component[0::2] == component[1::2]).any():
            raise _contradiction(self.program, clauses[0].statement)
        first = np.full(component.max() + 1, size)
        np.minimum.at(first, component, np.arange(size))
        head = first[component[1::2]]
        leader, opposite = names[head // 2], head % 2 == 0
        if (leader == names).all():
            return False
        self._follow(
            dict(zip(names.tolist(), zip(leader.tolist(), opposite.tolist(), strict=True), strict=True))
        )
        return True

    def _follow(self, new: Mapping[int, tuple[int, bool]]) -> None:
        leader, opposite = self.leaders.leader.copy(), self.leaders.opposite.copy()
        for atom in np.flatnonzero(np.isin(leader, list(new))).tolist():
            to, flipped = new[int(leader[atom])]
            leader[atom], opposite[atom] = to, bool(opposite[atom]) ^ flipped
        before, self.leaders = self.allowed, Leaders(leader, opposite)
        self.allowed = {}
        for atom, values in before.items():
            to, flipped = new.get(atom, (atom, False))
            values = frozenset(1 - value for value in values) if flipped else values
            self.allowed[to] = self.allowed.get(to, values) & values

    def rewritten(self, clauses: Sequence[ForbiddenValues]) -> list[ForbiddenValues]:
        """The clauses in terms of leaders; one that can no longer be broken is dropped."""
        found = []
        for clause in clauses:
            literals: dict[int, Values] = {}
            for atom, allowed in clause.literals.items():
                leader, values = self.leaders.literal(atom, allowed)
                literals[leader] = literals.get(leader, values) & values
            if all(literals.values()):
                found.append(ForbiddenValues(clause.statement, literals))
        return found

    def everywhere(self) -> dict[int, Values]:
        """The values left, followers included."""
        found = dict(self.allowed)
        leading = np.isin(self.leaders.leader, list(self.allowed))
        for atom in np.flatnonzero(leading).tolist():
            values = self.allowed[int(self.leaders.leader[atom])]
            found[atom] = frozenset(1 - v for v in values) if self.leaders.opposite[atom] else values
        return found


def _ways_to_break(piece: Event) -> int:
    return len(piece.literals) + sum(1 if some else max(1, len(inner)) for some, inner in piece.blocks)


class UnkeptError(UnsupportedError):
    """Of the hard statement with this number, which no product of single atoms keeps."""

    statement: int


def penalised(program: Program, budget: Budget, penalty: float) -> Program:
    """The program with each hard statement that mean field cannot keep as a penalty on what it forbids.

    The penalties are weights of their own, after those that the program has.
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
    text = next(iter(show_statement(statement)))
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
    text = next(iter(show_statement(statement)))
    return ContradictionError(
        Mistake(
            f"with the facts and the other hard statements, no world satisfies this one: {text}",
            statement.span,
        )
    )
