"""Machines in files of tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from herbrand.errors import HerbrandError
from herbrand.induction.target import Shape, TargetMachine
from herbrand.tensor_files import read_tensors, restoring, save_tensors


def save_machine(path: str | Path, machine: TargetMachine, about: dict[str, Any]) -> None:
    """Save weights and shape, with the command, seed and figures that made them in ``about``."""
    save_tensors(path, dict(machine.state_dict()), {**about, "shape": machine.shape.to_dict()})


def load_machine(path: str | Path) -> tuple[TargetMachine, dict[str, Any]]:
    """Load a machine, and what was saved ``about`` it."""
    tensors, about = read_tensors(path)
    if "shape" not in about:
        raise HerbrandError(f"'{path}' holds no machine")
    with restoring(path):
        shape = Shape.from_dict(about["shape"])
        machine = TargetMachine(**shape.to_dict())
        machine.load_state_dict(tensors)
    return machine, about
