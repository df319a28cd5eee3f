"""A robot that learns the way across a board by success and failure, and what it learned as rules.

python examples/grid_world/run.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from herbrand import tasks


@dataclass(frozen=True, eq=False)
class Board(tasks.Games):
    """The cells where the robot is and where it should go. A move goes to a cell beside, and only as many
    moves are allowed as the goal is away."""

    robot: np.ndarray
    target: np.ndarray
    side: np.ndarray

    vocabulary = {1: ("here", "goal"), 2: ("east", "south", "left", "above")}
    action = "go"

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        robot, target = np.argsort(rng.random((worlds, size**2)), 1)[:, :2].T
        return cls(robot, target, np.full(worlds, size))

    @property
    def size(self) -> int:
        return int(self.side[0])

    @property
    def objects(self) -> int:
        return self.size**2

    def relations(self) -> dict[str, np.ndarray]:
        """``east(x, y)``: y is the next cell to the east of x; ``left(x, y)``: x lies left of y."""
        cells = np.arange(self.objects)
        row, column = np.divmod(cells, self.size)
        down, right = row - row[:, None], column - column[:, None]
        board = {
            "east": (down == 0) & (right == 1),
            "south": (down == 1) & (right == 0),
            "left": right > 0,
            "above": down > 0,
        }
        every = {name: np.broadcast_to(table, (self.worlds, *table.shape)) for name, table in board.items()}
        return {**every, "here": cells == self.robot[:, None], "goal": cells == self.target[:, None]}

    def solved(self) -> np.ndarray:
        return self.robot == self.target

    def limit(self) -> np.ndarray:
        return self.away(self.target)

    def moved(self, actions: np.ndarray) -> Self:
        return replace(self, robot=np.where(self.away(actions) == 1, actions, self.robot))

    def away(self, cells: np.ndarray) -> np.ndarray:
        """How many moves lie between the robot and cells."""
        (row, column), (own_row, own_column) = np.divmod(cells, self.size), np.divmod(self.robot, self.size)
        return abs(row - own_row) + abs(column - own_column)


LESSONS = tasks.Curriculum(
    2, 4, ((6, 50),), epochs=100, games=16, exam_games=100, rate_decay=0.85, settle=0.5,
    method=tasks.Reinforce(entropy=0.01),
)  # fmt: skip


def main() -> None:
    learned = tasks.train(Board, LESSONS, seed=0)
    print("learned on boards of {} to {} cells a side".format(*learned.sizes))
    larger = learned.play(Board.draw(np.random.default_rng(1), worlds=100, size=8))
    print(f"boards of 8: {larger.solved.sum()} of 100 crossed by a shortest way")
    rules = learned.rules(larger=12, steps=1_500)
    print(*sorted(rules.text.splitlines()), sep="\n")
    print(f"by these rules alone, boards of 12: {rules.played.solved.sum()} of 100")


if __name__ == "__main__":
    main()
