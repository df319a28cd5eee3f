"""Reading makes millions of small values that all stay; the garbage collector only looks at them in vain.

>>> with collector_paused():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

PAUSES, OBJECTS = 64, 500_000
"""After so many pauses, which made so many objects, everything is looked at once: what was aged and is of no
use by now, such as models of requests long answered, would stay for good."""


@dataclass
class _Aged:
    """What happened since everything was looked at. ``frozen_by_others``: remembered once it is seen, as
    Python counts what is frozen by going through all of it, a tenth of a second for each text that is read
    where a few million objects are frozen."""

    frozen_by_others: bool = False
    pauses: int = 0
    objects: int = 0


_aged = _Aged()


class collector_paused:  # noqa: N801
    """No collections inside a block or a function: a third of the time of reading a large file."""

    def __enter__(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            _age_everything()
            gc.enable()

    def __call__(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def paused(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            with collector_paused():
                return function(*arguments, **named)

        return paused


def _age_everything() -> None:
    """Count what was made as old, so that the collector does not look at all of it the moment it is back.

    Not where somebody has frozen objects: thawing would touch theirs.
    """
    _aged.frozen_by_others = _aged.frozen_by_others or gc.get_freeze_count() > 0
    if _aged.frozen_by_others:
        return
    _aged.pauses += 1
    _aged.objects += gc.get_count()[0]
    if _aged.pauses >= PAUSES and _aged.objects >= OBJECTS:
        gc.collect()
        _aged.pauses = _aged.objects = 0
    gc.freeze()
    gc.unfreeze()
