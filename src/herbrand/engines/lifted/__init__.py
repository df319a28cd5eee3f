"""Exact inference without grounding: counting how many constants are in which state."""
