"""Facts of a model, for display: its tables, their rows, and the graph of what they connect.

>>> import herbrand as hb
>>> theory = hb.parse("1.5: smokes(x) and friends(x, y) => smokes(y)")
>>> model = hb.Model(theory, {"friends": [("anna", "bob")]})
>>> [(table["predicate"], table["rows"], table["world"]) for table in tables_of(model)]
[('smokes', 0, 'open'), ('friends', 1, 'closed')]
>>> rows_of(model, "friends")["rows"]
[['anna', 'bob']]
>>> [edge["target"] for edge in graph_of(model)["edges"]]
['thing:"bob"']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from herbrand.budget import UNLIMITED
from herbrand.language.names import shown_constant
from herbrand.language.show import show_row
from herbrand.language.signature import Predicate
from herbrand.model import Model
from herbrand.program.program import Program

MOST_CONSTANTS = 200
"""Most constants of each type, for completion."""
MOST_NODES, MOST_EDGES = 300, 1_000


def _stated(model: Model) -> Program:
    return model.measured_program(UNLIMITED, derived=False)


def tables_of(model: Model) -> list[dict[str, Any]]:
    """Every predicate with its arguments, its world, its number of facts and some constants."""
    program = _stated(model)
    tables = []
    for predicate in program.signature.named.values():
        table = program.facts.tables.get(predicate.name)
        if table is not None:
            tables.append(
                {
                    "predicate": predicate.name,
                    "arguments": [{"name": name, "type": name} for name in predicate.column_types],
                    "rows": table.fact_count,
                    "world": table.world,
                    "constants": [_constants(program, name) for name in predicate.column_types],
                }
            )
    return tables


def _constants(program: Program, type_name: str) -> list[Any]:
    domain = program.facts.domain(type_name)
    return [domain.value(place) for place in range(min(len(domain), MOST_CONSTANTS))]


def rows_of(model: Model, name: str, offset: int = 0, limit: int = 200) -> dict[str, Any]:
    """Rows of a table from ``offset`` on, at most ``limit``, with the atom of each; further columns hold
    weights, truth values and probabilities, where there are any."""
    program = _stated(model)
    predicate = program.signature.predicate(name)
    table = program.facts.table(name)
    kinds = (
        ("weight", table.true, [] if table.weights is None else table.weights),
        ("truth", table.false, []),
        ("probability", table.soft, table.probabilities),
    )
    marks = [mark for mark, rows, numbers in kinds if len(numbers) or (mark == "truth" and len(rows))]

    def marked(mark: str, place: int, numbers: Any) -> list[Any]:
        """Further cells of a row: its truth value, probability or weight."""
        number = float(numbers[place]) if len(numbers) else None
        cells = {
            "truth": {"weight": True, "truth": False}.get(mark),
            mark: number if mark != "truth" else False,
        }
        return [cells.get(each) for each in marks]

    every = (
        (row, [*row, *marked(mark, place, numbers)])
        for mark, rows, numbers in kinds
        for place, row in enumerate(program.facts.rows(predicate, rows))
    )
    shown = list(islice(every, offset, offset + limit))
    return {
        "predicate": name,
        "columns": [*predicate.column_types, *marks],
        "rows": [cells for _, cells in shown],
        "atoms": [show_row(predicate, row) for row, _ in shown],
        "total": sum(len(rows) for _, rows, _ in kinds),
    }


def graph_of(
    model: Model,
    marginals: Sequence[Mapping[str, Any]] = (),
    most_nodes: int = MOST_NODES,
    most_edges: int = MOST_EDGES,
) -> dict[str, Any]:
    """Graph of the facts: constants are nodes, atoms of two arguments edges, and atoms of one argument marks
    of a node.

    ``marginals``: rows of an answer; their edges and marks have probabilities, those of facts have ``None``,
    as facts are certain.
    """
    program = _stated(model)
    graph = _Graph(most_nodes, most_edges)
    for predicate in program.signature.named.values():
        table = program.facts.tables.get(predicate.name)
        if table is not None and predicate.value_type is None:
            for row in program.facts.rows(predicate, table.true):
                graph.add(predicate, row, None)
    for marginal in marginals:
        predicate = program.signature.predicates.get(marginal.get("predicate") or "")
        arguments = marginal.get("arguments")
        if predicate is not None and isinstance(arguments, list) and len(arguments) == predicate.arity:
            graph.add(predicate, arguments, marginal.get("probability"), marginal.get("value"))
    for name, domain in program.facts.domains.items():
        for value in islice(map(domain.value, range(len(domain))), most_nodes + 1):
            graph.node(name, value)
    left_out = {"nodes": max(sum(map(len, program.facts.domains.values())) - len(graph.nodes), 0)}
    return {
        "nodes": list(graph.nodes.values()),
        "edges": graph.edges,
        "left_out": left_out | {"edges": graph.edges_left_out},
    }


class _Graph:
    """A graph to which nodes and edges are added, up to a size."""

    def __init__(self, most_nodes: int, most_edges: int) -> None:
        self._most_nodes, self._most_edges = most_nodes, most_edges
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []
        self.edges_left_out = 0

    def node(self, type_name: str, value: Any) -> dict[str, Any] | None:
        """Node of a constant, added if it is new; ``None`` if there are too many."""
        key = f"{type_name}:{shown_constant(value)}"
        if key not in self.nodes:
            if len(self.nodes) >= self._most_nodes:
                return None
            self.nodes[key] = {"id": key, "label": str(value), "type": type_name, "marks": []}
        return self.nodes[key]

    def add(self, predicate: Predicate, row: Sequence[Any], probability: Any, value: Any = None) -> None:
        """Add an atom of one or two arguments with its probability."""
        mark = {"predicate": predicate.name, "probability": probability}
        mark |= {"value": value} if value is not None else {}
        if predicate.arity == 1:
            node = self.node(predicate.types[0], row[0])
            if node is not None:
                node["marks"].append(mark)
        elif predicate.arity == 2:
            if len(self.edges) >= self._most_edges:
                self.edges_left_out += 1
                return
            ends = [self.node(name, each) for name, each in zip(predicate.types, row, strict=True)]
            if ends[0] is None or ends[1] is None:
                self.edges_left_out += 1
                return
            self.edges.append({"source": ends[0]["id"], "target": ends[1]["id"], **mark})
