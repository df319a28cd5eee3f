"""Machines and trainings on disk, in the safetensors format: tensors, and JSON that says what they are.

A file is written under another name and moved into place, so an interrupted save leaves the last one whole.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from herbrand.errors import HerbrandError
from herbrand.induction.target import Shape, TargetMachine

ABOUT = "herbrand"
"""The entry of a file's metadata that holds ours."""


def write_tensors(path: str | Path, tensors: dict[str, torch.Tensor], about: dict[str, Any]) -> None:
    """Saves tensors and what is to be known of them."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = save({name: t.detach().contiguous() for name, t in tensors.items()}, {ABOUT: json.dumps(about)})
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_tensors(path: str | Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """What :func:`write_tensors` saved; raises where the file is missing or is something else."""
    if not Path(path).is_file():
        raise HerbrandError(f"there is no file '{path}'")
    try:
        with safe_open(str(path), "pt") as file:
            about = json.loads((file.metadata() or {})[ABOUT])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError) as error:
        raise HerbrandError(
            f"'{path}' is not a file of ours: {error}", hint="expected a machine saved by herbrand"
        ) from None


def save_machine(path: str | Path, machine: TargetMachine, about: dict[str, Any]) -> None:
    """Saves weights and shape, with the command, seed and figures that made them in ``about``."""
    write_tensors(path, dict(machine.state_dict()), {**about, "shape": machine.shape.to_dict()})


def load_machine(path: str | Path) -> tuple[TargetMachine, dict[str, Any]]:
    """A saved machine, and what was said of it."""
    tensors, about = read_tensors(path)
    if "shape" not in about:
        raise HerbrandError(f"'{path}' holds no machine")
    shape = Shape.from_dict(about["shape"])
    machine = TargetMachine(**shape.to_dict())
    machine.load_state_dict(tensors)
    return machine, about


def refuse_another(path: str | Path, about: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise unless the run saved in a file is ours: what we are, and what it was said to be."""
    for name, value in ours.items():
        if about.get(name) != value:
            raise HerbrandError(
                f"'{path}' was saved with another {name}: {about.get(name)}", hint=f"this run has {value}"
            )


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
    """Gives a fresh Adam of the same model what :func:`optimiser_slots` told."""
    held: dict[int, dict[str, Any]] = {}
    for number, (name, _) in enumerate(model.named_parameters()):
        slots = {s: tensors.get(f"optimiser.{name}.{s}") for s in ("step", "exp_avg", "exp_avg_sq")}
        if slots["step"] is not None:
            held[number] = slots
    optimiser.load_state_dict({**optimiser.state_dict(), "state": held})
