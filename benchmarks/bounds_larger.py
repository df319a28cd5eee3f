"""Exact probability bounds of networks larger than any in the ARIEL paper; an open bound tells its gap."""

from __future__ import annotations

from benchmarks.bounds import solved_table

SIZES = {"polytree": (15, 20, 30), "dag": (12, 15), "cyclic": (7, 8)}
INSTANCES = 3
SECONDS_A_NETWORK = {"polytree": 30.0, "dag": 30.0, "cyclic": 30.0}


def report() -> str:
    """A Markdown table, a row a class and size."""
    return solved_table(SIZES, INSTANCES, SECONDS_A_NETWORK)
