"""Multiply the known literals of a product once, before any marginal is known, where that saves work.

``author(b1, a1) × author(b2, a2) × word(a1, w) × word(a2, w) × same(b1, b2)`` with all but ``same`` known is
one table over b1 and b2 times ``same``. Chains of large sparse relations are better left as they are, since a
product of them is denser than its factors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from herbrand.contraction import Contraction, Statistics, plan
from herbrand.engines.mean_field.products import Observed, Operand, Product, Together
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.errors import BudgetError

MOST_ENTRIES = 1 << 24
NO_LIMIT = 2**60


def folded(product: Product, relations: KnownRelations) -> Product:
    """The product, with its known literals as one operand if that makes each run cheaper."""
    known = tuple(x for x in product.operands if isinstance(x, Observed))
    others = tuple(x for x in product.operands if not isinstance(x, Observed))
    needed = {axis for operand in others for axis in operand.axes}
    bound = {axis for operand in known for axis in operand.axes}
    axes = tuple(axis for axis in product.sizes if axis in bound & needed)
    entries = math.prod(product.sizes[axis] for axis in axes)
    if len(known) + len(bound - needed) < 2 or entries > MOST_ENTRIES:
        return product
    smaller = Product(
        (*others, Together(known, axes, product.sizes.only(bound))),
        product.sizes.only(product.sizes.keys() - (bound - needed)),
    )
    listed: dict[Operand, Statistics] = {x: relations.statistics(x) for x in known}
    return smaller if _operations(smaller, {}) <= _operations(product, listed) else product


def _operations(product: Product, listed: Mapping[Operand, Statistics]) -> float:
    """Estimate of the operations of one run of the product."""
    contraction = Contraction(tuple(x.axes for x in product.operands), (), product.sizes)
    known = [listed.get(operand, Statistics()) for operand in product.operands]
    try:
        return plan(contraction, known, NO_LIMIT).operations
    except BudgetError:
        return math.inf
