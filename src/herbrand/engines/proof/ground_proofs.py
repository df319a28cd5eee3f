"""Which answers a ground search may rest on: those within the depth, or all of them at the fixpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.derivations import Derivations, Node, Row, derivations
from herbrand.engines.proof.fixpoint import Fixpoint, runner_of
from herbrand.engines.proof.plan import Mode
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.questions import Answers
from herbrand.engines.proof.unrolled import Unrolled


class GroundProofs:
    """The ground proofs of a program: within ``left`` calls, or all (``None``)."""

    def __init__(self, plans: Plans, budget: Budget, left: int | None) -> None:
        self._runner = runner_of(plans, Numbers.of("boolean"), budget)
        self._left = left
        self._unrolled = Unrolled(self._runner)
        self._fixpoint = Fixpoint(self._runner)

    def of(
        self, predicate: str, rows: list[Row], beside: Sequence[Node] = ()
    ) -> tuple[Derivations, list[Node]]:
        """The graph that the atoms' proofs make, and the node of each atom, those ``beside`` last."""
        asked = [*(Node(predicate, row, self._left) for row in rows), *beside]
        return derivations(self._runner, self._provided, asked)

    def _provided(self, predicate: str, mode: Mode, columns: list[np.ndarray], left: int | None) -> Answers:
        if left is None:
            return self._fixpoint.answers(predicate, mode, columns)
        return self._unrolled.by_input(self._unrolled.goal(predicate, mode, left), columns)
