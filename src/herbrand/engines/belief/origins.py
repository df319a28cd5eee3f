"""Statements, with constants, from which a factor or an axis of a graph was made.

Takes a compiled program; gives texts in the printer's form with the constants of variables. In a graph of
classes only the constants of the queried atom are shown, as the others represent many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.reading import ExplainedAtom
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import SOME, Array
from herbrand.factors.program_graph import Origin
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value
from herbrand.program.ground import Ground
from herbrand.program.program import Literal, literals_of

Stated = tuple[str, tuple[tuple[str, Value], ...]]
"""A statement and the constants of its variables."""


def opinion_on(compiled: Compiled, axis: int) -> Stated:
    """Soft evidence on the atom of an axis, in a ground graph."""
    assert compiled.built.ground is not None
    return soft_evidence_on(compiled.evidence.atom_text(*compiled.built.ground.atoms.atom(axis))[0])


def soft_evidence_on(atom: str) -> Stated:
    return f"soft evidence on {atom}", ()


class Origins:
    """Look-up of the origins of a compiled graph's parts; ``queried`` is the atom that is explained."""

    def __init__(self, compiled: Compiled, queried: ExplainedAtom) -> None:
        self.compiled, self.queried = compiled, queried
        self.texts: dict[int, str] = {}

    def of_factors(self, factors: Iterable[int]) -> dict[int, tuple[Stated, ...]]:
        """Statements of each factor."""
        graph = self.compiled.built.graph
        owners = {f: self._maker(f) for f in factors if graph.table_starts[f] == SOME}
        tables = self.in_tables([f for f in factors if f not in owners])
        helpers = self.on_axes(sorted(set(owners.values())))
        stated = {f: tuple(dict.fromkeys(tables[f])) for f in tables}
        return stated | {f: tuple(dict.fromkeys(s for s, _ in helpers[a])) for f, a in owners.items()}

    def _maker(self, factor: int) -> int:
        """Helper of a quantifier's factor that a statement made; for a nested helper, that of
        the outermost one."""
        built = self.compiled.built
        graph = built.graph
        axis = int(graph.edge_axes[graph.factor_edges[factor]])
        while not self.on_axes([axis])[axis]:
            edges = np.flatnonzero(graph.edge_axes == axis)
            above = graph.owners[edges]
            member_of = above[graph.factor_edges[above] != edges]
            if not len(member_of):
                break
            axis = int(graph.edge_axes[graph.factor_edges[member_of[0]]])
        return axis

    def in_tables(self, factors: list[int]) -> dict[int, list[Stated]]:
        """Statements and groundings of each table factor."""
        stated: dict[int, list[Stated]] = {factor: [] for factor in factors}
        for origin in self.compiled.built.in_tables:
            for at in np.flatnonzero(np.isin(origin.places, factors)).tolist():
                stated[int(origin.places[at])].append(self._stated_at(origin, at))
        return stated

    def on_axes(self, axes: list[int]) -> dict[int, list[tuple[Stated, Array | None]]]:
        """Statements and groundings of each axis, with the table that each adds to the axis's own weights."""
        stated: dict[int, list[tuple[Stated, Array | None]]] = {axis: [] for axis in axes}
        for origin in self.compiled.built.on_axes:
            for at in np.flatnonzero(np.isin(origin.places, axes)).tolist():
                table = origin.table if origin.piece else None
                stated[int(origin.places[at])].append((self._stated_at(origin, at), table))
        return stated

    def _stated_at(self, origin: Origin, at: int) -> Stated:
        """Statement and constants of one of the parts that come from a template."""
        if self.compiled.built.ground is None:
            return self._stated_of_class(origin.template)
        return self._stated_on_ground(self.compiled.built.ground, origin.template, int(origin.rows[at]))

    def _stated_on_ground(self, ground: Ground, number: int, row: int) -> Stated:
        template = ground.templates[number]
        program, types = self.compiled.program, template.template.conjunction.types
        grounding = tuple(
            (name, program.domain(types[name]).value(int(column[row])))
            for name, column in template.bindings.columns.items()
        )
        return self._text(number), grounding

    def _stated_of_class(self, number: int) -> Stated:
        """Statement with the constants of variables that a literal about this atom binds."""
        queried, program = self.queried, self.compiled.program
        literals = [
            x for x in literals_of(program.templates[number].conjunction) if x.predicate == queried.predicate
        ]
        grounding: dict[str, Value] = {}
        if len(literals) == 1:
            grounding = self._bound_by(literals[0], queried.arguments)
        return self._text(number), tuple(grounding.items())

    def _bound_by(self, literal: Literal, constants: Sequence[int]) -> dict[str, Value]:
        program = self.compiled.program
        types = program.signature.predicates[literal.predicate].types
        return {
            argument: program.domain(type_name).value(constant)
            for argument, constant, type_name in zip(literal.arguments, constants, types, strict=True)
            if isinstance(argument, str)
        }

    def _text(self, number: int) -> str:
        if number not in self.texts:
            program = self.compiled.program
            statement = program.statements[program.templates[number].statement]
            self.texts[number] = statement_text(statement)
        return self.texts[number]


def reason_of(stated: tuple[Stated, ...], contribution: float) -> Reason:
    """Reason for a contribution; a joint one if several statements are about the same atoms."""
    groundings: dict[str, list[dict[str, Value]]] = defaultdict(list)
    for text, grounding in stated:
        groundings[text].append(dict(grounding))
    parts = tuple(Reason(text, _shared(several)) for text, several in groundings.items())
    if len(parts) == 1:
        return replace(parts[0], contribution=contribution)
    return Reason(f"{len(parts)} statements about the same atoms", {}, contribution, parts)


def _shared(groundings: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Constants that all groundings of one factor share; those of the first if all have the same constants
    in another order."""
    first = groundings[0]
    if all(Counter(one.values()) == Counter(first.values()) for one in groundings):
        return dict(first)
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in groundings)}
