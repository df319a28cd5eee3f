"""Numbers as JSON can hold them: it has no infinity, and what is not finite is written by its name.

>>> in_json(0.5), in_json(float("-inf")), in_json(3), in_json(None)
(0.5, '-inf', 3, None)
"""

from __future__ import annotations

import math
from typing import Any


def in_json(value: Any) -> Any:
    """The value itself, or the name of a float that is not finite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
