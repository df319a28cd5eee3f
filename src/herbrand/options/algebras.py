"""Values of ``query --algebra``; a new algebra of queries is one row here."""

from __future__ import annotations

QUERY_ALGEBRAS: dict[str, str] = {
    "count": "real",
    "boolean": "boolean",
    "max": "max_product",
    "probability": "boolean",
    "independent": "independent",
}
"""Name of each algebra and its module in :mod:`herbrand.contraction.algebras`. The module of ``probability``
only tells which answers are possible; a circuit of their proofs computes the weights."""
