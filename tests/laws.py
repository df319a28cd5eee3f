"""Laws that an ordinary test and its long twin both try, and how many random draws they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings


def tries(most: int, few: int | None = None) -> int:
    """How many random draws a law makes: ``most`` in `make check-all`, which draws others every time. Where
    the same are repeated ``few``, for laws of which each draw takes a tenth of a second or more; a sixth
    where no number is given, though eight where there are as many."""
    if not settings().derandomize:
        return most
    return max(most // 6, min(most, 8)) if few is None else few


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
