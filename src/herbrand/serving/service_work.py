"""Work of the children of ``herbrand serve``: answering requests over one loaded model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget, bound_data, resident_bytes
from herbrand.errors import HerbrandError
from herbrand.serving.json_requests import answered, limited
from herbrand.serving.nursery import Emit, encoded
from herbrand.serving.refusals import refusal_of

WARM_SECONDS = 5.0
"""Most seconds of each first call, which load compiled loops before any child is forked."""
LIBRARIES = 256 * 2**20
"""Bytes that libraries may allocate in a child, beside the budget of a request."""


class ServiceRole:
    """A model, loaded once in the nursery and shared by all children."""

    def __init__(
        self,
        theory: Sequence[str],
        dialect: str | None = None,
        memory: int | None = None,
        seconds: float | None = None,
        **model: Any,
    ) -> None:
        self._model = hb.Model(hb.read(theory, dialect), **model)
        self._memory, self._seconds = memory, seconds
        self._child = 0
        self._warm()

    def _warm(self) -> None:
        """Read the facts, so that mistakes are refused before the first request, and load compiled loops."""
        self._model.measured_program(UNLIMITED, derived=False)
        calls = [self._model.infer, self._model.bound, *map(self._goal, list(self._model.theory.derived)[:1])]
        for call in calls:
            with contextlib.suppress(HerbrandError):
                call(within=Budget(seconds=WARM_SECONDS))

    def _goal(self, predicate: str) -> Callable[..., object]:
        """Call that queries all atoms of a derived predicate."""
        names = [f"x{place}" for place in range(self._model.signature.predicate(predicate).arity)]
        return partial(self._model.query, f"`{predicate}`({', '.join(names)})" if names else f"`{predicate}`")

    def work(self, task: dict[str, Any], emit: Emit) -> bytes:
        self._bound_memory()
        request, command = task["asked"], task["command"]
        budget = limited(request, self._memory, self._seconds)
        try:
            return encoded(answered(self._model, command, request, budget).to_dict())
        except HerbrandError as error:
            raise refusal_of(error, command=command) from None

    def _bound_memory(self) -> None:
        """Limit, once, what this child may allocate beyond what it was forked with."""
        if self._memory is not None and self._child != os.getpid():
            self._child = os.getpid()
            bound_data(resident_bytes() + self._memory + LIBRARIES)
