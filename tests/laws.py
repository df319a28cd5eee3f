"""Laws that an ordinary test and its long twin both try, and how many random draws they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings


def tries(most: int) -> int:
    """How many random draws a law makes: ``most`` in `make check-all`, which draws others every time. A sixth
    of them where the same are repeated, though eight where there are as many."""
    return max(most // 6, min(most, 8)) if settings().derandomize else most


def long(numbers: Iterable[Any], ordinary: int) -> list[Any]:
    """Parameters of a test: the first few are for `make test`, the others for `make check-all` alone."""
    every = list(numbers)
    return [*every[:ordinary], *(pytest.param(one, marks=pytest.mark.slow) for one in every[ordinary:])]


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
