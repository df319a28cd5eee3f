"""Tensors by name in a file, with a JSON object that describes them: trainings and machines on disk.

The format is safetensors, never pickle, and a save that is interrupted leaves the last one whole.

>>> import tempfile, torch
>>> path = Path(tempfile.mkdtemp()) / "state.safetensors"
>>> save_tensors(path, {"w": torch.ones(2)}, {"step": 3})
>>> tensors, about = read_tensors(path)
>>> tensors["w"].tolist(), about["step"]
([1.0, 1.0], 3)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from herbrand.errors import HerbrandError
from herbrand.files import irregular, refuse_losing, written_whole

ABOUT = "herbrand"
"""The only entry of a file's metadata: safetensors writes several in an order that changes by the run."""
FORMAT, SUM = "herbrand-format", "herbrand-sum"
OURS = 1
"""Raised when files change so that older ones cannot be read; a file without it is of the first."""


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Saves tensors, and as JSON what is to be known of them; a folder that is not there is made.

    Raises where a file of another kind would be lost.
    """
    refuse_losing(path)
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    header = {**about, FORMAT: OURS, SUM: _sum(plain, about)}
    data = to_bytes(plain, {ABOUT: json.dumps(header, sort_keys=True)})
    with written_whole(path, folders=True) as file:
        file.write(data)


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save_tensors` wrote; raises where the file is missing or is something else."""
    if not Path(path).is_file():
        kind = irregular(path)
        raise HerbrandError(f"there is no file '{path}'" + (f": that is {kind}" if kind else ""))
    try:
        with safe_open(str(path), framework="pt") as file:
            about = json.loads((file.metadata() or {})[ABOUT])
            if not isinstance(about, dict):
                raise ValueError("what it says of itself is no JSON object")
            _refuse_another_format(path, about.pop(FORMAT, OURS))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if about.pop(SUM, None) not in (None, _sum(tensors, about)):
            raise ValueError("it was changed since it was saved, or is damaged")
        return tensors, about
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        reason = "it does not say what it holds" if isinstance(error, KeyError) else str(error)
        raise HerbrandError(
            f"'{path}' is not a file of ours: {reason}", hint="expected what herbrand saved"
        ) from None


def _sum(tensors: dict[str, Tensor], about: Mapping[str, Any]) -> str:
    """Differs where what is saved does, be it by a single bit."""
    read = json.loads(json.dumps(about))  # numbers as keys come back as texts, in another order
    made = hashlib.sha256(json.dumps(read, sort_keys=True).encode())
    made.update(to_bytes(tensors))
    return made.hexdigest()


def _refuse_another_format(path: str | Path, its_format: object) -> None:
    if its_format != OURS:
        raise HerbrandError(
            f"'{path}' was saved by another version of herbrand: its format is {its_format}, not {OURS}",
            hint="read it with the version that wrote it, or train anew",
        )


def within(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that were saved under ``name.``, by what follows it."""
    return {
        key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items() if key.startswith(f"{name}.")
    }


@contextmanager
def restoring(path: str | Path) -> Iterator[None]:
    """While a state is put back from a file: what is missing or of another kind is the file's fault."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error).split("\n")[0]
        raise HerbrandError(
            f"'{path}' does not hold what was saved: {reason}",
            hint="it was changed since, or saved by another version: train anew",
        ) from None


def whole_number(value: object) -> int:
    """A count that was saved; raises ``ValueError`` for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a count is no whole number")
    return value


def alike(tensor: Tensor, other: Tensor) -> Tensor:
    """The tensor; raises ``ValueError`` unless it has the shape and the kind of numbers of the other."""
    if tensor.shape != other.shape or tensor.dtype != other.dtype:
        raise ValueError(f"a tensor of shape {tuple(tensor.shape)} stands for one of {tuple(other.shape)}")
    return tensor
