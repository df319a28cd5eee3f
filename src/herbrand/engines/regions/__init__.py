"""Generalized belief propagation over counts: messages between regions are distributions of joint counts."""
