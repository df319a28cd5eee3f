"""Laws that an ordinary test and its long twin both try, each on as many random draws as it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings


@dataclass(frozen=True)
class Law:
    """A plain function and the strategies of its arguments.

    Each call of ``holds`` wraps the function anew: hypothesis refuses a second ``settings`` on one function.
    """

    check: Callable[..., None]
    draws: tuple[Any, ...]

    def holds(self, base: settings, **changed: Any) -> None:
        settings(base, **changed)(given(*self.draws)(self.check))()


def law(*draws: Any) -> Callable[[Callable[..., None]], Law]:
    """Decorate a check with the strategies of its arguments.

    >>> from hypothesis import strategies as st
    >>> @law(st.integers(), st.integers())
    ... def commutes(x: int, y: int) -> None:
    ...     assert x + y == y + x
    >>> commutes.holds(settings(database=None), max_examples=20)
    """
    return lambda check: Law(check, draws)
