"""Tensors by name in a file, with a JSON object that tells what they are: trainings and machines on disk.

The format is safetensors, never pickle, and a save that is interrupted leaves the last one whole.

>>> import tempfile, torch
>>> path = Path(tempfile.mkdtemp()) / "state.safetensors"
>>> save_tensors(path, {"w": torch.ones(2)}, {"step": 3})
>>> tensors, about = read_tensors(path)
>>> tensors["w"].tolist(), about["step"]
([1.0, 1.0], 3)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from herbrand.errors import HerbrandError
from herbrand.whole_files import written_whole

ABOUT = "herbrand"
"""The entry of a file's metadata that holds ours."""


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Saves tensors, and as JSON what is to be known of them; a folder that is not there is made."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    data = to_bytes(plain, {ABOUT: json.dumps(dict(about), sort_keys=True)})
    with written_whole(path, folders=True) as file:
        file.write(data)


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save_tensors` wrote; raises where the file is missing or is something else."""
    if not Path(path).is_file():
        raise HerbrandError(f"there is no file '{path}'")
    try:
        with safe_open(str(path), framework="pt") as file:
            about = json.loads((file.metadata() or {})[ABOUT])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        reason = "it does not say what it holds" if isinstance(error, KeyError) else str(error)
        raise HerbrandError(
            f"'{path}' is not a file of ours: {reason}", hint="expected what herbrand saved"
        ) from None
