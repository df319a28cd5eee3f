"""Machines and the state of trainings, in files of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from herbrand.errors import HerbrandError
from herbrand.induction.target import Shape, TargetMachine
from herbrand.tensor_files import read_tensors, restoring, save_tensors, within


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


def training_tensors(
    name: str, model: torch.nn.Module, optimiser: torch.optim.Optimizer
) -> dict[str, torch.Tensor]:
    """Named tensors of a model, under ``name.``, and of Adam's state of each parameter, under
    ``optimiser.``."""
    learned = {f"{name}.{key}": tensor for key, tensor in model.state_dict().items()}
    names = [key for key, _ in model.named_parameters()]
    return learned | {
        f"optimiser.{names[number]}.{slot}": value
        for number, slots in optimiser.state_dict()["state"].items()
        for slot, value in slots.items()
    }


def restore_training(
    name: str, model: torch.nn.Module, optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]
) -> None:
    """Load the tensors of :func:`training_tensors` into a model and its Adam; they are not changed."""
    model.load_state_dict(within(name, tensors))
    saved, held = within("optimiser", tensors), dict[int, dict[str, Any]]()
    for number, (parameter, _) in enumerate(model.named_parameters()):
        if f"{parameter}.step" in saved:
            # Copies: Adam updates its state in place, and the saved tensors may be loaded again.
            slots = ("step", "exp_avg", "exp_avg_sq")
            held[number] = {slot: saved[f"{parameter}.{slot}"].clone() for slot in slots}
    optimiser.load_state_dict({**optimiser.state_dict(), "state": held})
