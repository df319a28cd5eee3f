"""A game as a Gymnasium environment, for anyone's agent (``pip install 'herbrand[worlds]'``)."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.tasks.games import Games
from herbrand.tasks.rollouts import MOVE

ARITIES = ("nullary", "unary", "binary", "ternary")


def environment(kind: type[Games], size: int, render_mode: str | None = None) -> Any:
    """A ``gymnasium.Env`` with games of this size.

    ``reset(options={...})`` may say what else a draw takes. Observations are a dictionary of 0/1 arrays by
    arity; ``info["action_mask"]`` tells which actions do something. Out of moves, a game is lost (terminated)
    where the limit is a part of the task, and else stopped (truncated)."""
    return _environment_class()(kind, size, render_mode)


def _environment_class() -> Callable[..., Any]:
    try:
        import gymnasium
    except ImportError:
        raise UnsupportedError("environments need gymnasium", hint="pip install 'herbrand[worlds]'") from None

    class LogicEnvironment(gymnasium.Env[Any, Any]):
        metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 (the base class has it so)

        def __init__(self, kind: type[Games], size: int, render_mode: str | None = None) -> None:
            self.kind, self.size, self.render_mode = kind, size, render_mode
            example = kind.draw(np.random.default_rng(0), 1, size)
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
                self.games = self.kind.draw(self.np_random, 1, self.size, **(options or {}))
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
            before, self.games = self.games, self.games.moved(np.array([number]))
            self.moves += 1
            solved = bool(self.games.solved()[0])
            late = self.moves >= int(self.games.limit()[0]) and not solved
            lost = late and self.kind.limit_is_part_of_the_task
            earned = before.rewards(self.games)
            reward = float(earned[0]) if earned is not None else 1.0 if solved else MOVE
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
