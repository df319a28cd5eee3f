"""Weights learned from facts in a database: counts by joins, objectives and gradients by grouped sums."""
