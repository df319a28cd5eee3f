"""Exact inference without grounding, by counting how many constants are in each state."""
