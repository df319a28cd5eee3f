"""What ``query --algebra`` may say: a new algebra of queries is one row here."""

from __future__ import annotations

QUERY_ALGEBRAS: dict[str, str] = {
    "count": "real",
    "boolean": "boolean",
    "max": "max_product",
    "probability": "boolean",
    "independent": "independent",
}
"""For each name the module of :mod:`herbrand.contraction.algebras` that proofs are summed up in. Of
``probability`` that says which answers are possible; a circuit of their proofs weighs them."""
