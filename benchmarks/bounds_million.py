"""Bounds of a random network of a million atoms: processor seconds with the file, and memory."""

from __future__ import annotations

import resource

from benchmarks import credal_networks
from benchmarks.bounds import SECONDS
from benchmarks.bounds_scale import timed

ATOMS = 1_000_000


def report() -> str:
    """A Markdown table of one row; memory is the most held, the making of the file included."""
    timed(credal_networks.cyclic(100, 0))  # so that loading compiled code is not counted
    whole, bounding, sentences, passes = timed(credal_networks.cyclic(ATOMS, 0))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines = [
        SECONDS,
        "",
        "| class | atoms | sentences | seconds with file | of them bounding | passes | memory, GiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        f"| random | {ATOMS:,} | {sentences:,} | {whole:.1f} | {bounding:.1f} | {passes} | {memory:.1f} |",
    ]
    return "\n".join(lines)
