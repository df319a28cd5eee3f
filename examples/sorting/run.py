"""An array sorted by a policy that learned on arrays of at most twelve elements.

python examples/sorting/run.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the games are no part of the installed package

from benchmarks.games.policies import load_policy  # noqa: E402
from benchmarks.games.rollouts import play  # noqa: E402
from benchmarks.games.sorting import Arrays  # noqa: E402

WEIGHTS = ROOT / "benchmarks" / "induction_weights" / "sorting-0.safetensors"


def main() -> None:
    policy, about = load_policy(WEIGHTS)
    largest = about["curriculum"]["last"]
    print(f"learned on arrays of {about['curriculum']['first']} to {largest} elements")
    show_one(policy)
    arrays = Arrays.draw(np.random.default_rng(1), worlds=20, objects=50)
    found = play(policy, arrays)
    least = np.mean([50 - cycles(row) for row in arrays.values])
    print(f"20 arrays of 50: {found.solved.sum()} sorted, {found.moves.mean():.2f} swaps on average")
    print(f"no policy can do with fewer than {least:.2f}")


def show_one(policy: object) -> None:
    """A game move by move."""
    episode = play(policy, Arrays(np.array([[4, 2, 0, 3, 1]])), keep_steps=True)  # type: ignore[arg-type]
    for step in episode.steps:
        left, right = divmod(int(step.actions[0]), step.games.objects)
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
