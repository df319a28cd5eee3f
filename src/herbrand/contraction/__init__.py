"""Sums of products over named axes: stated once, planned once, run in any algebra.

`expression` (what) → `order`, `planner` (how, at what cost) → `dense`, `sparse` (the arithmetic)
→ `execute` (one call for all of it). Nothing in here knows about logic. Names are imported when first used,
so that ``herbrand.contraction.expression`` alone costs no torch.

>>> import torch
>>> from herbrand.contraction import Contraction, Dense, contract
>>> product = Contraction.parse("row k, k column -> row column", {"row": 2, "k": 2, "column": 1})
>>> contract(product, [Dense(torch.eye(2)), Dense(torch.ones(2, 1))]).to_dense()
tensor([[1.],
        [1.]])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from herbrand.contraction.expression import Contraction

if TYPE_CHECKING:
    from herbrand.contraction.execute import contract, run, statistics
    from herbrand.contraction.planner import Plan, plan
    from herbrand.contraction.relation import Dense, Relation, Sparse, Support
    from herbrand.contraction.steps import Statistics

__all__ = [
    "Contraction",
    "Dense",
    "Plan",
    "Relation",
    "Sparse",
    "Statistics",
    "Support",
    "contract",
    "plan",
    "run",
    "statistics",
]

_HOMES = {
    "planner": ("Plan", "plan"),
    "steps": ("Statistics",),
    "relation": ("Dense", "Relation", "Sparse", "Support"),
    "execute": ("contract", "run", "statistics"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
