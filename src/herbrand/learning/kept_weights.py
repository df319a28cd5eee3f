"""Weights of an unfinished climb, saved to a file from which it can resume.

A concave function has one maximum, so a climb ends in the same weights wherever it resumes.

>>> import tempfile
>>> path = tempfile.mkdtemp() + "/weights"
>>> owners = Owners(("?: smokes(x)", "?[x]: tall(x)"), ((0, ()), (1, ("anna",))))
>>> KeptWeights(3, np.array([0.5, -1.0]), -2.0).save(path, owners)
>>> kept_weights(path, owners, lambda weights: -2.0).weights.tolist()
[0.5, -1.0]
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from herbrand.errors import UnsupportedError
from herbrand.language.written_weights import Key
from herbrand.tensor_files import alike, read_tensors, restoring, save_tensors, whole_number

SAME = 1e-6
"""Values within this relative difference belong to the same facts: a database adds up in any order."""


@dataclass(frozen=True)
class Owners:
    """Identity of the weights: the texts of all ``statements`` with weights, and the key of each weight."""

    statements: tuple[str, ...]
    keys: tuple[Key, ...]

    @property
    def mark(self) -> str:
        """A hash of both. Equal functions of different predicates differ only in their statements."""
        return hashlib.sha256(repr((self.statements, self.keys)).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class KeptWeights:
    """Weights after so many ``steps``, and the ``value`` of the function there."""

    steps: int
    weights: np.ndarray
    value: float

    def save(self, path: str, owners: Owners) -> None:
        """Save them to a file."""
        about = {"steps": self.steps, "value": self.value, "owners": owners.mark}
        save_tensors(path, {"weights": torch.from_numpy(self.weights)}, about)


def kept_weights(path: str, owners: Owners, value: Callable[[np.ndarray], float]) -> KeptWeights:
    """The saved weights; raise UnsupportedError if they are of another theory or of other facts, whose
    function has another value there."""
    tensors, about = read_tensors(path)
    if about.get("owners") != owners.mark:
        raise _other(path)
    with restoring(path):
        weights = alike(tensors["weights"], torch.zeros(len(owners.keys), dtype=torch.float64))
        kept = KeptWeights(whole_number(about["steps"]), weights.numpy(), float(about["value"]))
    if not math.isclose(value(kept.weights), kept.value, rel_tol=SAME, abs_tol=SAME):
        raise _other(path)
    return kept


def _other(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"'{path}' keeps weights of another theory or other facts",
        hint="resume with the theory, facts and targets it was saved with",
    )
