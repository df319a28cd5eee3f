"""Probability bounds: what the distributions that a theory allows say of a query."""
