"""Logical credal networks: ``.lcn`` files of bounds on propositional formulas."""
