"""The values of options, checked alike for every command and from Python: numbers in their range, texts.

>>> check_values({"iterations": 0})
Traceback (most recent call last):
herbrand.errors.UnsupportedError: --iterations is a whole number from 1 on, not 0
>>> texts(None), texts("smokes"), texts(["smokes", "rain"])
((), ('smokes',), ('smokes', 'rain'))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from herbrand.errors import UnsupportedError

LEAST_WHOLE = {"seed": 0, "top": 0} | dict.fromkeys(
    ("iterations", "starts", "samples", "layers", "batch", "size", "patience"), 1
)
NUMBERS = ("seconds", "tolerance", "damping", "cost", "l1", "l2", "rate")
"""From 0 on; no number at all (nan) is none of them."""
REAL = ("min", "clip")


def check_values(told: Mapping[str, Any]) -> None:
    """Raise for the first option whose value makes no sense; ``None`` leaves an option out."""
    for name, value in told.items():
        if value is None:
            continue
        if name in LEAST_WHOLE:
            least = LEAST_WHOLE[name]
            _refuse(
                name,
                value,
                isinstance(value, Integral) and int(value) >= least,
                f"a whole number from {least} on",
            )
        elif name in NUMBERS:
            _refuse(name, value, isinstance(value, Real) and float(value) >= 0, "a number from 0 on")
        elif name in REAL:
            _refuse(name, value, isinstance(value, Real) and value == value, "a number")


def texts(told: Any) -> tuple[str, ...]:
    """One text or several as a tuple; ``None`` is none."""
    if told is None:
        return ()
    found = (told,) if isinstance(told, str) or not isinstance(told, Iterable) else tuple(told)
    for text in found:
        if not isinstance(text, str):
            raise UnsupportedError(f"expected a text, or a list of texts, not {text!r}")
    return found


def _refuse(name: str, value: Any, sensible: bool, expected: str) -> None:
    if not sensible:
        shown = "time-limit" if name == "seconds" else name.replace("_", "-")
        raise UnsupportedError(f"--{shown} is {expected}, not {value!r}")
