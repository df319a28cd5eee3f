"""Files of named tensors and a JSON object that describes them: checkpoints of training, saved machines.

The format is safetensors, never pickle; an interrupted save leaves the file before it intact.

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
"""The only key of a file's metadata; safetensors would write several in an order that varies from run to
run."""
FORMAT, SUM = "herbrand-format", "herbrand-sum"
OURS = 1
"""Version of the format, raised when older files can no longer be read; a file without it has version 1."""


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Save tensors and, as JSON, their description ``about``; a missing folder is made.

    Raises an error if it would replace a file of another format.
    """
    refuse_losing(path)
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    header = {**about, FORMAT: OURS, SUM: _sum(plain, about)}
    data = to_bytes(plain, {ABOUT: json.dumps(header, sort_keys=True)})
    with written_whole(path, folders=True) as file:
        file.write(data)


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the description that :func:`save_tensors` wrote; raises an error for a missing
    file or another format."""
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
    """Checksum of the tensors and their description."""
    read = json.loads(json.dumps(about))  # numbers as keys come back as texts, in another order
    digest = hashlib.sha256(json.dumps(read, sort_keys=True).encode())
    digest.update(to_bytes(tensors))
    return digest.hexdigest()


def _refuse_another_format(path: str | Path, its_format: object) -> None:
    if its_format != OURS:
        raise HerbrandError(
            f"'{path}' was saved by another version of herbrand: its format is {its_format}, not {OURS}",
            hint="read it with the version that wrote it, or train anew",
        )


def under(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with ``name.`` before their names; :func:`within` undoes it."""
    return {f"{name}.{key}": tensor for key, tensor in tensors.items()}


def within(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors whose names begin with ``name.``, by the rest of their names."""
    return {
        key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items() if key.startswith(f"{name}.")
    }


@contextmanager
def restoring(path: str | Path) -> Iterator[None]:
    """A block that restores a state from a file; missing or unsuitable entries raise an error that names the
    file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error).split("\n")[0]
        raise HerbrandError(
            f"'{path}' does not hold what was saved: {reason}",
            hint="it was changed since, or saved by another version: train anew",
        ) from None


def whole_number(value: object) -> int:
    """The value if it is a whole number; raises ``ValueError`` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a count is no whole number")
    return value


def alike(tensor: Tensor, other: Tensor) -> Tensor:
    """The tensor if it has the shape and dtype of the other; raises ``ValueError`` otherwise."""
    if tensor.shape != other.shape or tensor.dtype != other.dtype:
        raise ValueError(f"a tensor of shape {tuple(tensor.shape)} stands for one of {tuple(other.shape)}")
    return tensor
