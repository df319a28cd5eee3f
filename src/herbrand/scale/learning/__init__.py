"""Weights learned from facts in a database: counts by joins, values and slopes by grouped sums."""
