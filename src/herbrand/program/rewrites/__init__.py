"""Meaning-preserving rewrites, one a file."""
