"""The keywords of calls from Python, for editors and type checkers: a misspelt one is an error there too.

The names and values are those of :mod:`herbrand.options.table`; a test holds the two equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypedDict


class LimitOptions(TypedDict, total=False):
    """What a call may take. ``None`` leaves an option out, here and below."""

    memory: int | str | None
    time_limit: float | None
    seed: int | None


class InferOptions(LimitOptions, total=False):
    """Of ``infer`` and ``compare``: how an engine steps."""

    tolerance: float | None
    iterations: int | None
    schedule: Literal["parallel", "sequential"] | None
    damping: float | None
    starts: int | None
    samples: int | None
    cost: float | None
    structure: Literal["merged", "counts", "elements", "partial", "ground"] | None
    clip: float | None


class BoundOptions(LimitOptions, total=False):
    """Of ``bound``."""

    tolerance: float | None
    iterations: int | None
    independence: Literal["markov", "none"] | None
    mode: Literal["sound", "paper"] | None


class QueryOptions(LimitOptions, total=False):
    """Of ``query``."""

    algebra: str | None
    depth: int | str | None
    normalize: Literal["none", "sum", "softmax"] | None
    top: int | None
    exact: bool | None


class ExplainOptions(InferOptions, total=False):
    """Of ``explain``: those of ``infer``, ``bound`` or ``query``, whichever explains."""

    independence: Literal["markov", "none"] | None
    mode: Literal["sound", "paper"] | None
    depth: int | str | None
    proofs: int | None


class SampleOptions(LimitOptions, total=False):
    """Of ``sample``."""


class LearnOptions(LimitOptions, total=False):
    """Of ``learn``."""

    tolerance: float | None
    iterations: int | None
    l2: float | None
    l1: float | None
    layers: int | None
    rate: float | None
    batch: int | None
    observed: float | None
    size: int | None
    clip: float | None
    depth: int | None
    loss: Literal["cross-entropy", "softmax", "margin"] | None
    asked: int | None
    patience: int | None
    save: str | Path | None
    resume: str | Path | None
    relearn: bool | None
    starts: int | None
