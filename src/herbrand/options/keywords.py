"""Types of the keyword arguments of Python calls, so that editors and type checkers report misspelt ones.

The names and values are those of :mod:`herbrand.options.table`; a test compares the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypedDict


class LimitOptions(TypedDict, total=False):
    """Limits of a call. ``None`` leaves an option out, here and below."""

    memory: int | str | None
    time_limit: float | None
    seed: int | None


class InferOptions(LimitOptions, total=False):
    """Options of ``infer`` and ``compare``."""

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
    """Options of ``bound``."""

    tolerance: float | None
    iterations: int | None
    independence: Literal["markov", "none"] | None
    mode: Literal["sound", "paper"] | None


class QueryOptions(LimitOptions, total=False):
    """Options of ``query``."""

    algebra: str | None
    depth: int | str | None
    normalize: Literal["none", "sum", "softmax"] | None
    top: int | None
    exact: bool | None


class ExplainOptions(InferOptions, total=False):
    """Options of ``explain``: those of the command whose answer is explained (``infer``, ``bound``,
    ``query``)."""

    independence: Literal["markov", "none"] | None
    mode: Literal["sound", "paper"] | None
    depth: int | str | None
    proofs: int | None


class SampleOptions(LimitOptions, total=False):
    """Options of ``sample``."""


class LearnOptions(LimitOptions, total=False):
    """Options of ``learn``."""

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
