"""Inference engines: one file for each, and one loop that runs them all."""
