"""Choose the large predicates of which only exceptions are listed, since all other atoms get the same
message.

``likes(x, y) and ... => buys(x, y)`` over an observed ``likes`` moves ``buys`` at the listed pairs;
``0.3: buys(x, y)`` moves all alike. So the pairs that known relations select are listed, and one entry serves
all others. Where a message may differ from atom to atom, the whole table is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from herbrand.contraction import Contraction, Sparse, contract
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import SHARE, SMALLEST, Observed, Product, Quantified, is_relation
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.engines.mean_field.score import readings
from herbrand.errors import BudgetError
from herbrand.program.evidence import Evidence, codes_of


def exceptions(
    predicate: str, products: Iterable[Product], evidence: Evidence, relations: KnownRelations
) -> np.ndarray | None:
    """The codes to list, sorted; ``None`` where the whole table is needed or cheaper."""
    sizes = evidence.sizes(predicate)
    total = math.prod(sizes)
    if evidence.is_valued(predicate) or total < SMALLEST:
        return None
    parts = [evidence.known(predicate).codes, evidence.opinions(predicate)[0]]
    for product in products:
        for reading in readings(product.operands):
            if reading.source == predicate:
                codes = _singled_out(reading, product, evidence, relations)
                if codes is None:
                    return None
                parts.append(codes)
    codes = np.unique(np.concatenate(parts))
    return codes if len(codes) * SHARE <= total else None


def selecting(reading: Reading, product: Product, evidence: Evidence) -> list[Observed] | None:
    """The known operands whose join has the atoms that a product moves differently from the rest, none where
    it moves all alike; ``None`` where any atom may differ."""
    axes = reading.axes
    if len(axes) < len(reading.arguments) or reading not in product.operands:
        return None
    others = list(product.operands)
    others.remove(reading)
    if not any(set(operand.axes) & set(axes) for operand in others):
        return []
    if any(isinstance(operand, Quantified) for operand in others):
        return None
    known = [x for x in others if isinstance(x, Observed) and is_relation(x.literal, evidence)]
    return known if set(axes) <= {axis for operand in known for axis in operand.axes} else None


def selection(reading: Reading, known: Sequence[Observed], product: Product) -> Contraction:
    """The join of the known operands, over the axes of the reading."""
    bound = {axis for operand in known for axis in operand.axes}
    return Contraction(tuple(x.axes for x in known), reading.axes, product.sizes.only(bound))


def _singled_out(
    reading: Reading, product: Product, evidence: Evidence, relations: KnownRelations
) -> np.ndarray | None:
    """The atoms that a product moves differently from the rest; ``None`` where any atom may differ."""
    known = selecting(reading, product, evidence)
    if not known:
        return None if known is None else evidence.known(reading.source).codes[:0]
    contraction = selection(reading, known, product)
    try:
        relation = contract(contraction, [relations.relation(x) for x in known], relations.memory)
    except BudgetError:
        return None
    if not isinstance(relation, Sparse):
        return np.flatnonzero(relation.to_dense().numpy().ravel())
    return codes_of(relation.indices, relation.shape)
