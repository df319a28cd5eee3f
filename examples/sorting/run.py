"""An array sorted by a policy that learned on arrays of at most twelve elements.

python examples/sorting/run.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from herbrand import tasks

WEIGHTS = Path(__file__).parents[2] / "benchmarks" / "induction_weights" / "sorting-0.safetensors"


@dataclass(frozen=True, eq=False)
class Arrays(tasks.Games):
    """``values``: ``[worlds, size]``. An action swaps the elements of two slots."""

    values: np.ndarray

    vocabulary = {2: ("before", "smaller")}
    action, arity, depth = "swap", 2, 3

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        return cls(np.argsort(rng.random((worlds, size)), 1))

    @property
    def size(self) -> int:
        return self.values.shape[1]

    def relations(self) -> dict[str, np.ndarray]:
        slots = np.arange(self.size)
        before = np.broadcast_to(slots[:, None] < slots, (self.worlds, self.size, self.size))
        return {"before": before, "smaller": self.values[:, :, None] < self.values[:, None]}

    def legal(self) -> np.ndarray:
        apart = ~np.eye(self.size, dtype=bool).ravel()
        return np.broadcast_to(apart, (self.worlds, self.actions))

    def solved(self) -> np.ndarray:
        return np.all(np.diff(self.values, axis=1) >= 0, axis=1)

    def limit(self) -> np.ndarray:
        return np.full(self.worlds, 2 * self.size)

    def moved(self, actions: np.ndarray) -> Self:
        every, values = np.arange(self.worlds), self.values.copy()
        left, right = self.named(actions)
        values[every, left], values[every, right] = self.values[every, right], self.values[every, left]
        return replace(self, values=values)


def main() -> None:
    learned = tasks.LearnedPolicy.load(WEIGHTS, Arrays)
    print("learned on arrays of {} to {} elements".format(*learned.sizes))
    show_one(learned)
    arrays = Arrays.draw(np.random.default_rng(1), worlds=20, size=50)
    found = learned.play(arrays)
    least = np.mean([50 - cycles(row) for row in arrays.values])
    print(f"20 arrays of 50: {found.solved.sum()} sorted, {found.moves.mean():.2f} swaps on average")
    print(f"no policy can do with fewer than {least:.2f}")


def show_one(learned: tasks.LearnedPolicy) -> None:
    """A game move by move."""
    episode = learned.play(Arrays(np.array([[4, 2, 0, 3, 1]])), keep_steps=True)
    for step in episode.steps:
        left, right = (int(slot[0]) for slot in step.games.named(step.actions))
        print(*step.games.values[0], f"  swap slots {left} and {right}")


def cycles(permutation: np.ndarray) -> int:
    """How many cycles a permutation has; a swap joins or splits one, and the sorted array has the most."""
    left, count = set(range(len(permutation))), 0
    while left:
        place, count = left.pop(), count + 1
        while (place := int(permutation[place])) in left:
            left.remove(place)
    return count


if __name__ == "__main__":
    main()
