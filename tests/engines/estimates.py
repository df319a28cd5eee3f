"""What engines say of a program: their costs, and why they refuse."""

from __future__ import annotations

from typing import Any

from herbrand.engines.engine import Cost, Refusal
from herbrand.program.program import Program
from herbrand.program.question import Question


def told_by(engine: Any, program: Program, question: Question | None = None) -> Cost | Refusal:
    """What the engine says, asked for nothing in particular."""
    prepared = engine.prepare(program, question or Question(), engine.budget)
    return prepared if isinstance(prepared, Refusal) else prepared.cost()


def cost_of(engine: Any, program: Program, question: Question | None = None) -> Cost:
    """What its run costs; it must be able to run."""
    found = told_by(engine, program, question)
    assert isinstance(found, Cost), found
    return found


def refusal_of(engine: Any, program: Program, question: Question | None = None) -> str:
    """Why it does not run; it must refuse."""
    found = told_by(engine, program, question)
    assert isinstance(found, Refusal), found
    return found.why
