"""Exact probabilities by compiled circuits: one compilation, then sums, maxima and samples in linear time."""
