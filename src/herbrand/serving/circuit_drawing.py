"""The compiled circuit of one atom, for drawing: what makes it true, in mutually exclusive cases.

>>> import herbrand as hb
>>> theory = hb.parse("0.5 :: rain\\n0.2 :: hose\\nwet :- rain\\nwet :- hose")
>>> for node in circuit_of(hb.Model(theory), "wet")["nodes"]:
...     print(node["kind"], node["text"] or node["parts"], round(node["share"], 3))
or [1, 2] 1.0
literal rain 0.833
and [3, 4] 0.167
literal not rain 0.167
literal hose 0.167
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.constraints import FALSE, TRUE
from herbrand.engines.circuit.grounding import Instance
from herbrand.engines.circuit.search import PRODUCT
from herbrand.engines.circuit.worlds import Worlds
from herbrand.engines.reading import ExplainedAtom
from herbrand.errors import UnsupportedError
from herbrand.language.names import shown_where
from herbrand.language.show import statement_text
from herbrand.model import Model
from herbrand.program.ground import ground
from herbrand.program.program import Program
from herbrand.serving.surroundings import MOST_ROWS, queried_atom

MOST_NODES = 150
"""Most nodes of a drawing."""
ANYTHING_ELSE = "anything else"
"""Text of a case without drawn literals."""


def circuit_of(model: Model, atom: str, given: Sequence[str] = ()) -> dict[str, Any]:
    """Nodes of the circuit, the root first, and each before its ``parts``, which are numbers of nodes.

    ``share``: probability, given the atom and the evidence, that the node holds as a part of the case that
    applies. ``row``: length of the longest path from the root.
    """
    program, queried = queried_atom(model, atom, given)
    if queried.known is not None:
        _refuse_settled(queried.text, queried.known)
    worlds, literal = _worlds_of(program, queried)
    texts = dict(_texts(worlds))
    worlds.net.require([literal])
    circuit, log_weights = worlds.made.circuit(list(texts), UNLIMITED, sums=False)
    values = circuit.values(log_weights)
    if values[circuit.root] == -np.inf:
        _refuse_settled(queried.text, False)
    drawn = _Drawing(circuit, circuit.flows(values), texts)
    root = drawn.root()
    if root is None:
        _refuse_settled(queried.text, True)
    nodes = list(drawn.nodes(root))
    if len(nodes) > MOST_NODES:
        raise UnsupportedError(
            f"the circuit of {queried.text} has {len(nodes):,} nodes, and {MOST_NODES} can be drawn",
            hint="give evidence, or choose an atom that rests on fewer choices",
        )
    return {"nodes": nodes}


def _worlds_of(program: Program, queried: ExplainedAtom) -> tuple[Worlds, int]:
    """Encode all worlds of a program, and return them with the literal of the atom."""
    worlds = Worlds(ground(program, UNLIMITED, MOST_ROWS), UNLIMITED, ChoiceConstraints())
    worlds.add_formulas()
    axis = queried.axis(worlds.ground.atoms)
    worlds.solve(worlds.patterns(axis))
    literal = worlds.axis(axis)[queried.value]
    if literal in (TRUE, FALSE):
        _refuse_settled(queried.text, literal == TRUE)
    return worlds, literal


def _refuse_settled(text: str, holds: bool) -> NoReturn:
    raise UnsupportedError(
        f"{text} holds in {'every' if holds else 'no'} world under the evidence: no circuit is needed",
        hint="choose an atom that has a probability between 0 and 1",
    )


@dataclass(eq=False)
class _Drawing:
    """The nodes to draw. ``parts``: by a node's number in the circuit; ``same``: the node drawn for each
    node. Literals without a text, such as those of weights, follow from the others and are left out, and a
    node of one part is drawn as this part."""

    circuit: Circuit
    flows: np.ndarray
    texts: Mapping[int, str]
    parts: dict[int, list[int]] = field(default_factory=dict)
    same: dict[int, int | None] = field(default_factory=dict)

    def root(self) -> int | None:
        """The node drawn for the circuit's root; ``None`` if nothing is left to draw."""
        for node in np.flatnonzero(self.flows > 0).tolist():  # kids have smaller numbers
            self.same[node] = self._made(node)
        return self.same[self.circuit.root]

    def _made(self, node: int) -> int | None:
        """The node drawn for a node; ``None`` if there is none."""
        circuit = self.circuit
        if node < 2 + 2 * circuit.variables:
            return self._kept(node, []) if node - 2 in self.texts else None
        low, high = circuit.starts[node : node + 2]
        kids = [kid for kid in circuit.kids[low:high].tolist() if self.flows[kid] > 0]
        parts = [self.same[kid] for kid in kids]
        drawn = [part for part in parts if part is not None]
        if circuit.kinds[node] == PRODUCT or len(parts) == 1:
            return drawn[0] if len(drawn) == 1 else self._kept(node, drawn) if drawn else None
        if not drawn:
            return None
        cases = zip(kids, parts, strict=True)
        return self._kept(node, [self._kept(kid, []) if part is None else part for kid, part in cases])

    def _kept(self, node: int, parts: list[int]) -> int:
        self.parts[node] = parts
        return node

    def nodes(self, root: int) -> Iterator[dict[str, Any]]:
        rows = {root: 0}
        for node in sorted(self.parts, reverse=True):
            for part in self.parts[node] if node in rows else ():
                rows[part] = max(rows.get(part, 0), rows[node] + 1)
        places = {node: place for place, node in enumerate(rows)}
        for node, row in rows.items():
            parts = [places[part] for part in self.parts[node]]
            yield {
                "kind": self._kind(node),
                "text": "" if parts else self.texts.get(node - 2, ANYTHING_ELSE),
                "share": float(min(self.flows[node], 1.0)),
                "row": row,
                "parts": parts,
            }

    def _kind(self, node: int) -> str:
        if not self.parts[node]:
            return "literal"
        return "and" if self.circuit.kinds[node] == PRODUCT else "or"


def _texts(worlds: Worlds) -> Iterator[tuple[int, str]]:
    """Texts of the literals of choices and of atoms that no rule or choice derives."""
    chosen = [
        (variable, head, instance)
        for instance, drawn in worlds.drawn
        for variable, head in zip(drawn.variables, instance.heads, strict=True)
        if variable >= 0
    ]
    times = Counter(head for _, head, _ in chosen)
    for variable, head, instance in chosen:
        text = worlds.program.atom_text(*head)
        if times[head] > 1:
            text += f" by {_chosen_by(worlds, instance)}"
        yield 2 * variable, text
        yield 2 * variable + 1, f"not {text}"
    for (name, row), literals in worlds.open_axes():
        valued = worlds.ground.evidence.is_valued(name)
        for value, literal in enumerate(literals):
            if literal >= 0:
                text = worlds.program.atom_text(name, (*row, value) if valued else row)
                yield literal, text if valued or value else f"not {text}"


def _chosen_by(worlds: Worlds, instance: Instance) -> str:
    """Text of the statement of a choice, and of its constants."""
    where = shown_where(instance.constants(worlds.program.facts).items())
    text = statement_text(instance.lowered.statement)
    return f"{text}, {where}" if where else text
