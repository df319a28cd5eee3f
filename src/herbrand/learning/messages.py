"""Messages of each statement to each atom from uniform marginals: features for any classifier.

One pass of mean-field messages, statement by statement at weight 1: [atom, statement]. Their weighted sum is
the prediction of one :mod:`layer <herbrand.learning.layers>`; a custom classifier may combine them otherwise,
which then is another model than the theory's.

>>> import herbrand as hb
>>> theory = hb.parse('?: smokes(x) => cancer(x)\\n?: not cancer(x)')
>>> model = hb.Model(theory, {"smokes": ["anna", "bob"], "cancer": ["anna"]})
>>> world = example(theory, World(model.signature, model.program.facts), Aim(("cancer",)))
>>> statement_messages(world, "cancer").tolist()
[[1.0, -1.0], [1.0, -1.0]]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from herbrand.errors import UnsupportedError
from herbrand.learning.example import Aim, Example, World, example
from herbrand.nn.logic_layer import LogicLayer

__all__ = ["Aim", "World", "example", "statement_messages"]


def statement_messages(world: Example, target: str, memory: int | None = None) -> np.ndarray:
    """Sum the messages of each weighted statement's groundings to every atom of a target.

    Log-odds of true at weight 1, [atom, statement]; atoms in the order of their codes.
    """
    if world.hidden.is_valued(target):
        raise UnsupportedError(
            f"{target} is many-valued; messages are for what is true or false",
            hint="learn its weights by --method layers",
        )
    program = world.program
    columns = []
    for number, weight in enumerate(program.weights):
        own = tuple(template for template in program.templates if template.weight == number)
        alone = replace(
            program,
            templates=own,
            weights=tuple(
                replace(w, value=1.0, by=()) if i == number else w for i, w in enumerate(program.weights)
            ),
        )
        if weight.by:
            alone = replace(alone, templates=tuple(replace(t, weight_arguments=()) for t in own))
        layer = LogicLayer(alone, iterations=1, damping=0.0, memory=memory).double()
        with torch.no_grad():
            columns.append(layer.log_odds()[target].reshape(-1).numpy())
    atoms = world.hidden.known(target).atom_count
    return np.stack(columns, axis=1) if columns else np.empty((atoms, 0))
