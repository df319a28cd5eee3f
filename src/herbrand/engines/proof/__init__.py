"""Proofs of Horn rules counted, weighed and listed: rules compiled to functions of sparse tables.

`rules`, `clauses` (what was said) → `branches`, `ordering`, `planning`, `plan` (how each predicate is
computed, mode by mode) → `unrolled` or `fixpoint` (the two ways to run a plan) over `steps`, `pushing`,
`table`, `relation` and an `arithmetic`. `derivations` lists ground proofs, for `heaviest`, `explain` and
`probability`. `query` is the front door.
"""
