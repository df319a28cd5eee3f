"""The state of training in a file, so that it can be resumed: tensors by name, and what fits to them.

The file is written under another name and moved into place: an interrupted save leaves the last one whole.

>>> import tempfile, torch
>>> path = Path(tempfile.mkdtemp()) / "state.safetensors"
>>> save(path, {"w": torch.ones(2)}, {"step": 3})
>>> tensors, about = load(path)
>>> tensors["w"].tolist(), about["step"]
([1.0, 1.0], 3)
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from herbrand.errors import HerbrandError

ABOUT = "herbrand"


def save(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Tensors by name and a JSON object about them."""
    path = Path(path)
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    data = to_bytes(plain, {ABOUT: json.dumps(dict(about), sort_keys=True)})
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise HerbrandError(f"{path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save` wrote."""
    try:
        with safe_open(str(path), framework="pt") as file:
            about = (file.metadata() or {}).get(ABOUT)
            if about is None:
                raise HerbrandError(f"'{path}' is no state of training", hint="give what --save wrote")
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(about)  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise HerbrandError(f"'{path}' cannot be read: {error}", hint="give what --save wrote") from None
