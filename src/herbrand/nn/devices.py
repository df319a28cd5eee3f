"""The device of tensors that layers make for internal use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def on_processor() -> AbstractContextManager[object]:
    """A block in which tensors are made on the CPU, where NumPy and compiled loops can read them.

    >>> with torch.device("meta"), on_processor():
    ...     torch.zeros(1).device.type
    'cpu'
    """
    return nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")
