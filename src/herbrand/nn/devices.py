"""Where tensors are made that layers need for themselves."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def on_processor() -> AbstractContextManager[object]:
    """Tensors are made on the processor, whatever the default device is: NumPy and compiled loops reach them.

    >>> with torch.device("meta"), on_processor():
    ...     torch.zeros(1).device.type
    'cpu'
    """
    return nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")
