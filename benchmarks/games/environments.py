"""The decision tasks as Gymnasium environments, for anyone's agent (``pip install 'herbrand[worlds]'``).

>>> environment = environment_named("sorting", objects=5)
>>> observation, info = environment.reset(seed=1)
>>> observation["binary"].shape, info["action_mask"].sum()
((5, 5, 2), np.int64(20))
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from benchmarks.games.blocks import Towers
from benchmarks.games.path import Walks
from benchmarks.games.sorting import Arrays
from herbrand.errors import UnsupportedError, nearest

GAMES: dict[str, Any] = {"sorting": Arrays, "path": Walks, "blocks": Towers}
ARITIES = ("nullary", "unary", "binary", "ternary")
MOVE = -0.01
"""The reward of a move that does not finish the task; one that does is rewarded by 1."""


def games_named(name: str) -> Any:
    """The kind of games of this name; raises ``UnsupportedError`` where there is none."""
    if name not in GAMES:
        raise UnsupportedError(
            f"there is no decision task '{name}'", hint=nearest(name, GAMES) or f"one of {', '.join(GAMES)}"
        )
    return GAMES[name]


def environment_named(name: str, objects: int, render_mode: str | None = None) -> Any:
    """A ``gymnasium.Env`` with worlds of this many objects.

    ``reset(options={...})`` may say what else a draw takes, such as ``{"distance": 4}`` for ``path``.
    Observations are a dictionary of 0/1 arrays by arity; ``info["action_mask"]`` tells which actions do
    something. Sorting and blocks world stop after 2 and 4 moves an object (truncated); a path that is not
    the shortest is a failure (terminated)."""
    kind = games_named(name)
    if objects < 2:
        raise UnsupportedError(f"{objects} objects are too few for {name}", hint="at least 2")
    return _environment_class()(kind, objects, render_mode)


def _environment_class() -> Callable[..., Any]:
    try:
        import gymnasium
    except ImportError:
        raise UnsupportedError("environments need gymnasium", hint="pip install 'herbrand[worlds]'") from None

    class LogicEnvironment(gymnasium.Env[Any, Any]):
        metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 (the base class has it so)

        def __init__(self, kind: Any, objects: int, render_mode: str | None = None) -> None:
            self.kind, self.objects, self.render_mode = kind, objects, render_mode
            example = kind.draw(np.random.default_rng(0), 1, objects)
            self.observation_space = gymnasium.spaces.Dict(
                {
                    ARITIES[arity]: gymnasium.spaces.MultiBinary(tensor.shape[1:])
                    for arity, tensor in example.predicates().items()
                }
            )
            self.action_space = gymnasium.spaces.Discrete(example.actions)
            self.games: Any = None
            self.moves = 0

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
            super().reset(seed=seed)
            try:
                self.games = self.kind.draw(self.np_random, 1, self.objects, **(options or {}))
            except TypeError:
                unknown = ", ".join(sorted(options or {}))
                raise UnsupportedError(f"this task has no such options: {unknown}") from None
            self.moves = 0
            return self._observation(), self._info()

        def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
            if self.games is None:
                raise UnsupportedError("reset() comes before the first step()")
            number = _whole(action)
            if number is None or not 0 <= number < self.games.actions:
                raise UnsupportedError(f"there is no action {action}", hint=f"0 to {self.games.actions - 1}")
            self.games = self.games.moved(np.array([number]))
            self.moves += 1
            solved = bool(self.games.solved()[0])
            late = self.moves >= int(self.games.limit()[0]) and not solved
            lost = late and self.kind.limit_is_part_of_the_task
            reward = 1.0 if solved else MOVE
            return self._observation(), reward, solved or lost, late and not lost, self._info()

        def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
            return repr(self.games) if self.render_mode == "ansi" else None

        def _observation(self) -> dict[str, np.ndarray]:
            return {
                ARITIES[arity]: tensor[0].numpy().astype(np.int8)
                for arity, tensor in self.games.predicates().items()
            }

        def _info(self) -> dict[str, Any]:
            return {
                "action_mask": self.games.legal()[0].astype(np.int8),
                "solved": bool(self.games.solved()[0]),
                "limit": int(self.games.limit()[0]),
            }

    return LogicEnvironment


def _whole(action: Any) -> int | None:
    try:
        return index(action)
    except TypeError:
        return None
