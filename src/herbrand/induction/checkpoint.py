"""Machines and trainings of machines in files of tensors, and what of them must fit to go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from herbrand.errors import HerbrandError
from herbrand.induction.target import Shape, TargetMachine
from herbrand.tensor_files import read_tensors, restoring, save_tensors


def save_machine(path: str | Path, machine: TargetMachine, about: dict[str, Any]) -> None:
    """Saves weights and shape, with the command, seed and figures that made them in ``about``."""
    save_tensors(path, dict(machine.state_dict()), {**about, "shape": machine.shape.to_dict()})


def load_machine(path: str | Path) -> tuple[TargetMachine, dict[str, Any]]:
    """A saved machine, and what was said of it."""
    tensors, about = read_tensors(path)
    if "shape" not in about:
        raise HerbrandError(f"'{path}' holds no machine")
    with restoring(path):
        shape = Shape.from_dict(about["shape"])
        machine = TargetMachine(**shape.to_dict())
        machine.load_state_dict(tensors)
    return machine, about


def within(name: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors that were saved under ``name.``, by what follows it."""
    return {
        key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items() if key.startswith(f"{name}.")
    }


def optimiser_slots(optimiser: torch.optim.Optimizer, model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What Adam remembers of each parameter, by names to save it under."""
    names = [name for name, _ in model.named_parameters()]
    held = optimiser.state_dict()["state"]
    return {
        f"optimiser.{names[number]}.{slot}": value
        for number, slots in held.items()
        for slot, value in slots.items()
    }


def restore_optimiser(
    optimiser: torch.optim.Optimizer, model: torch.nn.Module, tensors: dict[str, torch.Tensor]
) -> None:
    """Gives a fresh Adam of the same model what :func:`optimiser_slots` gave."""
    held: dict[int, dict[str, Any]] = {}
    for number, (name, _) in enumerate(model.named_parameters()):
        slots = {s: tensors.get(f"optimiser.{name}.{s}") for s in ("step", "exp_avg", "exp_avg_sq")}
        if slots["step"] is not None:
            held[number] = slots
    optimiser.load_state_dict({**optimiser.state_dict(), "state": held})
