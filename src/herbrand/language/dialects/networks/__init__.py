"""Bayesian and Markov networks, whole tables at a time: ``.bif``, ``.uai`` and ``.uai.evid``."""
