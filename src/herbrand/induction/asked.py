"""Choice between example worlds and one large world as the source of rules, by the options given.

>>> wants_worlds(["target", "worlds"]), wants_worlds(["target"])
(True, False)
"""

from __future__ import annotations

from collections.abc import Collection

from herbrand.errors import UnsupportedError

OF_WORLDS = ("engine", "noise", "budget", "save")
"""Options for example worlds only; those neither here nor in MINED are for both."""
MINED = ("length", "held_out")


def wants_worlds(given: Collection[str]) -> bool:
    """True if example worlds are given; raise UnsupportedError if another option does not fit."""
    if "worlds" not in given:
        _refuse(given, OF_WORLDS, "needs --worlds")
        return False
    _refuse(given, MINED, "is for one large world, and --worlds gives many")
    if "target" not in given:
        raise UnsupportedError("--worlds needs --target", hint="name the predicate that rules are wanted for")
    return True


def _refuse(given: Collection[str], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in given:
            raise UnsupportedError(f"--{name.replace('_', '-')} {why}")
