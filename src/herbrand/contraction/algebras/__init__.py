"""The algebras that sums of products can be computed in: one module a member, each defining ``ALGEBRA``.

`real` (+, ×) · `log` (log-sum-exp, +) · `maximum` (max, + of log weights) · `max_product` (max, ×) ·
`boolean` (or, and) · `counting` (+, × of int64, exact or refused)
"""

ADDED: dict[str, object] = {}
"""Algebras that live elsewhere, by name; :func:`herbrand.contraction.algebra.register` adds one."""
