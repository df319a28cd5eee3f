"""Derivations of an atom, for drawing: the groundings of rules and choices below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from herbrand.budget import UNLIMITED
from herbrand.engines.circuit.grounding import Atom, Grounding, Instance, Stated, lowered_all
from herbrand.engines.reading import ExplainedAtom
from herbrand.language.names import shown_where
from herbrand.language.show import statement_text
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program


def derivations_of(program: Program, queried: ExplainedAtom, most: int) -> dict[str, Any]:
    """Atoms below a derived one, the nearest first, and the groundings whose atoms are all drawn.

    A grounding derives one of its ``heads`` from its ``atoms``; certain atoms are left out of these.
    """
    statements = lowered_all(program.uncertain, program.signature, program.facts)
    stated = Stated(Evidence(program), program.signature, program.facts)
    grounding = Grounding(statements, stated, UNLIMITED)
    start = queried.predicate, queried.row
    grounding.ask(*start)
    deriving = grounding.rules()
    near = _below(start, deriving)
    drawn = dict(list(near.items())[:most])
    return {
        "atoms": [{"atom": program.atom_text(*atom), "steps": steps} for atom, steps in drawn.items()],
        "groundings": list(_groundings(program, deriving, drawn)),
        "left_out": len(near) - len(drawn),
    }


def _below(start: Atom, deriving: Mapping[Atom, Sequence[Instance]]) -> dict[Atom, int]:
    """Atoms from which ``start`` is derived, each with the number of groundings between."""
    near, edge = {start: 0}, [start]
    while edge:
        instances = chain.from_iterable(deriving.get(atom, ()) for atom in edge)
        reached = chain.from_iterable(instance.parts for instance in instances)
        steps = near[edge[0]] + 1
        edge = [atom for atom in dict.fromkeys(reached) if atom not in near]
        near |= dict.fromkeys(edge, steps)
    return near


def _groundings(
    program: Program, deriving: Mapping[Atom, Sequence[Instance]], drawn: Mapping[Atom, int]
) -> Iterator[dict[str, Any]]:
    own = {id(instance): instance for atom in drawn for instance in deriving.get(atom, ())}
    for instance in own.values():
        if all(part in drawn for part in instance.parts):
            yield {
                "statement": statement_text(instance.lowered.statement),
                "where": shown_where(instance.constants(program.facts).items()),
                "atoms": [program.atom_text(*part) for part in instance.parts],
                "heads": [
                    program.atom_text(*head) for head in dict.fromkeys(instance.heads) if head in drawn
                ],
            }
