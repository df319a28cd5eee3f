"""Tables of networks as templates, a cell each, for engines and learners that read templates only.

>>> import herbrand as hb
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
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from herbrand.errors import BudgetError
from herbrand.language.syntax import NetworkTable
from herbrand.program.program import Conjunction, Literal, Program, Template, Weight

MOST_CELLS = 100_000
"""Each becomes a template, which takes tens of microseconds in every engine."""


def in_cells(program: Program) -> Program:
    """The same program without whole tables; ``BudgetError`` where they have too many cells."""
    if not program.tables:
        return program
    cells = sum(int(np.count_nonzero(table.values != 1)) for table in program.tables)
    if cells > MOST_CELLS:
        message = f"the tables of this network have {cells:,} cells; this reads {MOST_CELLS:,} at most"
        raise BudgetError(message, hint="infer with --engine exact reads whole tables")
    weights, templates = list(program.weights), list(program.templates)
    formula = 1 + max((template.formula for template in templates), default=-1)
    for number, statement in enumerate(program.statements):
        if isinstance(statement, NetworkTable):
            for conjunction, weight in _cells(statement):
                known = None if weight is None else len(weights)
                templates.append(Template(conjunction, known, 1, (), number, formula, ()))
                formula += 1
                if weight is not None:
                    weights.append(Weight(weight))
    return replace(program, weights=tuple(weights), templates=tuple(templates), tables=())


def _cells(table: NetworkTable) -> Iterator[tuple[Conjunction, float | None]]:
    """What holds in each cell and its log-weight, or None where it is impossible; an entry of 1 adds
    nothing."""
    for place, entry in np.ndenumerate(table.values):
        if entry != 1:
            literals = (Literal(name, (), (i,)) for name, i in zip(table.scope, place, strict=True))
            yield Conjunction((), tuple(literals)), None if entry == 0 else math.log(entry)
