"""Generalized belief propagation over counts: regions whose messages are joint distributions of counts."""
