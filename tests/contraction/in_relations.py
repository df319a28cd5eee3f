"""Contractions of dense and sparse tables by way of relations, so that the kernel's laws are held to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from herbrand.contraction import Contraction, Dense, Relation, Sparse
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.over_relations import VALUE, Operand, contracted, planned
from herbrand.contraction.relation import has_background
from herbrand.relations.database import Database
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation as Rows
from herbrand.relations.stored import Scratch


def contract_in(database: Database, contraction: Contraction, relations: Sequence[Relation]) -> Relation:
    """The contraction over relations in a database."""
    with Scratch(database) as scratch:
        operands = [_operand(one, algebra_named(contraction.algebra), scratch) for one in relations]
        return _collected(contraction, operands, scratch)


def contract_in_memory(contraction: Contraction, relations: Sequence[Relation]) -> Relation:
    """The contraction over relations in memory."""
    operands = [_operand(one, algebra_named(contraction.algebra), None) for one in relations]
    return _collected(contraction, operands, None)


def _operand(relation: Relation, algebra: Algebra, scratch: Scratch | None) -> Operand:
    """The relation's entries as rows."""
    if isinstance(relation, Dense):
        shape = relation.shape
        indices = np.stack(np.unravel_index(np.arange(relation.tensor.numel()), shape or (1,)), axis=1)
        indices, values, background = indices[:, : len(shape)], relation.tensor.reshape(-1), None
    else:
        indices, values = relation.indices, relation.values
        background = float(relation.default) if has_background(relation, algebra) else None
    columns = tuple(f"a{place}" for place in range(indices.shape[1]))
    data = {column: indices[:, place] for place, column in enumerate(columns)}
    rows: Rows = Memory.of(**data, **{VALUE: values.detach().numpy()})
    if scratch is not None:
        rows = scratch.put(rows)  # type: ignore[arg-type]
    return Operand(rows, columns, background, len(indices))


def _collected(contraction: Contraction, operands: Sequence[Operand], scratch: Scratch | None) -> Relation:
    algebra, shape = algebra_named(contraction.algebra), contraction.shape(contraction.output)
    numbers = Memory.numbers if scratch is None else scratch.numbers
    found = contracted(planned(contraction, [one.statistics for one in operands]), operands, numbers)
    dtype = getattr(torch, algebra.dtypes[0])
    base = algebra.zero
    if found.everywhere is not None:
        listed = found.everywhere.arrays()[VALUE]
        base = listed[0].item() if len(listed) else algebra.zero
    if found.rows is None:
        empty = np.empty((0, len(shape)), np.int64)
        return Sparse.of(empty, torch.empty(0, dtype=dtype), shape, base, contraction.algebra)
    arrays = found.rows.arrays()
    named = [arrays[name].astype(np.int64) for name in found.columns]
    indices = np.stack(named, axis=1) if named else np.empty((len(arrays[VALUE]), 0), np.int64)
    values = torch.from_numpy(np.array(arrays[VALUE]))
    entries = (values + base if found.everywhere is not None else values).to(dtype)
    return Sparse.of(indices, entries, shape, base, contraction.algebra)
