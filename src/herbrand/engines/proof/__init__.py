"""Proofs of Horn rules counted, weighed and listed: rules compiled to functions of sparse tables.

`horn_program`, `goals` (rules with facts, and goals) → `planning`, `plan` (how each predicate is computed,
mode by mode) → `unrolled` or `fixpoint` (the two ways to run a plan) over `steps`, `join_sum`, `table` and an
`arithmetic`. `derivations` lists ground proofs, for `best_proofs` and `explain`; `probability` sums over
worlds. `query` is the entry point.
"""
