"""Trainings of Neural Logic Machines on disk: checkpoints of those that run, figures of those that ended.

Checkpoints stand in ``build/induction``; graduated weights, and the figures of every run, in
``benchmarks/induction_weights``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "induction_weights"
RUNNING = HERE.parent / "build" / "induction"


def weights_of(name: str, seed: int) -> Path:
    return KEPT / f"{name}-{seed}.safetensors"


def unfinished(name: str, seeds: Iterable[int]) -> Iterator[tuple[int, Path]]:
    """The seeds whose runs have not ended, each with its checkpoint, which need not exist."""
    for seed in seeds:
        if not _result(name, seed).exists():
            yield seed, RUNNING / f"{name}-{seed}.safetensors"


def end(about: dict[str, Any], checkpoint: Path) -> None:
    """Keep the figures of a run; ``about`` says its task and seed."""
    KEPT.mkdir(exist_ok=True)
    _write(about)
    checkpoint.unlink(missing_ok=True)


def add_final(name: str, seed: int, figures: dict[str, Any]) -> None:
    """The figures of a final exam join the others of the run."""
    _write({**json.loads(_result(name, seed).read_text()), "final": figures})
    print(name, seed, figures, flush=True)


def ended(name: str) -> list[dict[str, Any]]:
    """The figures of all runs of a task that have ended."""
    return [json.loads(path.read_text()) for path in sorted(KEPT.glob(f"{name}-*.json"))]


def middle(runs: list[dict[str, Any]], figure: str) -> str:
    """The median of a figure over runs, for a table."""
    return f"{median(run[figure] for run in runs):,.0f}" if runs else ""


def _result(name: str, seed: int) -> Path:
    return KEPT / f"{name}-{seed}.json"


def _write(about: dict[str, Any]) -> None:
    _result(about["task"], about["seed"]).write_text(json.dumps(about, indent=1) + "\n")
