"""Explanations of goals over rules made in a test."""

from __future__ import annotations

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Status
from herbrand.engines.engine import first_state
from herbrand.engines.proof.engine import ByProofs, Goals
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import Request


def explained(rules: Proof, goal: str, request: Request) -> Explanation:
    """The heaviest proofs of a goal."""
    engine = ByProofs(request)
    return engine.explain(first_state(engine, rules, Goals(goal)), Status(False, 0))
