"""The games that benchmarks play, and the schools that their policies went to, by name.

>>> plan = Curriculum(6, 6, epochs=2, lessons=1, games=2, exam_games=9)
>>> [lesson.size for lesson in school_of("sorting", plan, seed=1).run()]
[6, 6]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from benchmarks.games.blocks import Towers
from benchmarks.games.critic import ActorCritic
from benchmarks.games.path import Walks
from benchmarks.games.tower_policy import TowerPolicy
from examples.sorting.run import Arrays
from herbrand.errors import HerbrandError, UnsupportedError, nearest
from herbrand.induction.machine import draw_weights
from herbrand.tasks.curriculum import Curriculum, Schooling
from herbrand.tasks.environment import environment
from herbrand.tasks.policies import ActionPolicy, fresh_policy
from herbrand.tasks.reinforce import Reinforce
from herbrand.tensor_files import read_tensors, restoring, save_tensors

GAMES: dict[str, Any] = {"sorting": Arrays, "path": Walks, "blocks": Towers}

CURRICULA = {
    "sorting": Curriculum(4, 12, ((20, 100), (50, 50)), spread=1.0),
    "path": Curriculum(
        3,
        12,
        ((20, 200), (50, 50)),
        lessons=20,
        games=16,
        exam_games=600,
        rate_decay=0.85,
        settle=0.3,
        retake=True,
        method=Reinforce(entropy=0.01),
    ),
    "blocks": Curriculum(
        2,
        12,
        ((20, 50), *[(50, 20)] * 10),
        lessons=20,
        games=64,
        exam_games=100,
        rate_decay=0.9,
        settle=0.5,
        patience=5,
        method=ActorCritic(),
    ),
}
"""First and last sizes are those of the paper (sorting: up to 10 there)."""


def games_named(name: str) -> Any:
    """The kind of games of this name; raises ``UnsupportedError`` where there is none."""
    if name not in GAMES:
        raise UnsupportedError(
            f"there is no decision task '{name}'", hint=nearest(name, GAMES) or f"one of {', '.join(GAMES)}"
        )
    return GAMES[name]


def environment_named(name: str, objects: int, render_mode: str | None = None) -> Any:
    """A ``gymnasium.Env`` with worlds of this many objects; ``{"distance": 4}`` is an option of ``path``."""
    kind = games_named(name)
    if objects < 2:
        raise UnsupportedError(f"{objects} objects are too few for {name}", hint="at least 2")
    return environment(kind, objects, render_mode)


def policy_for(name: str, seed: int = 0) -> nn.Module:
    """A fresh policy; equal seeds, equal weights.

    Depth and breadth are the paper's, but for blocks world: what has to be known of a block takes four layers
    (see the decisions), and the paper's seven take longer than the five there. Sorting needs to tell little,
    and fresh weights that tell more at the start generalise worse."""
    kind, spread = games_named(name), CURRICULA[name].spread
    if name != "blocks":
        return fresh_policy(kind, seed, spread)
    policy = TowerPolicy()
    draw_weights(policy, seed, spread)
    return policy


def school_of(name: str, curriculum: Curriculum | None = None, seed: int = 0) -> Schooling:
    """The school of a game by name."""
    kind, plan = games_named(name), curriculum or CURRICULA[name]
    if isinstance(plan.method, ActorCritic) and name != "blocks":
        raise UnsupportedError(f"the critic counts moves of blocks, and not of {name}", hint="Reinforce()")
    return Schooling(kind, plan, seed, policy=policy_for(name, seed), name=name)


def save_policy(path: str | Path, policy: nn.Module, about: dict[str, Any]) -> None:
    """Saves weights with what is to be known of them; ``about["task"]`` names the game."""
    if isinstance(policy, ActionPolicy):
        policy.save(path, about)
    else:
        save_tensors(path, dict(policy.state_dict()), about)


def load_policy(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """A saved policy, and what was said of it."""
    tensors, about = read_tensors(path)
    if about.get("task") not in GAMES:
        raise HerbrandError(f"'{path}' holds no policy", hint="expected what save_policy wrote")
    if about["task"] != "blocks":
        return ActionPolicy.load(path)
    policy = policy_for("blocks")
    with restoring(path):
        policy.load_state_dict(tensors)
    return policy, about
