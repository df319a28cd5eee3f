"""The error for training facts that violate a hard statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from herbrand.errors import ContradictionError, Mistake
from herbrand.language.show import statement_text
from herbrand.learning.example import Example
from herbrand.program.program import Template

UNLISTED = "an unlisted atom counts as false in learning; name what is not known: --latent PRED"


def refuse_contradiction(world: Example, template: Template, predicate: str, violating: np.ndarray) -> None:
    """Raise ContradictionError if the facts, as they are, violate a hard statement at some of these atoms."""
    if len(violating):
        raise broken(world, template, f", as they state {world.evidence.literal_text(predicate, violating)}")


def broken(world: Example, template: Template, at: str = "") -> ContradictionError:
    """The error that the facts violate a hard statement; ``at`` names the literal."""
    statement = world.program.statements[template.statement]
    return ContradictionError(
        Mistake(
            f"the facts contradict this hard statement{at}: {statement_text(statement)}",
            statement.span,
            UNLISTED,
        )
    )


@contextmanager
def pointing_out_unlisted() -> Iterator[None]:
    """A block whose contradictions of facts with a false one get the advice on unlisted atoms."""
    try:
        yield
    except ContradictionError as error:
        raise ContradictionError(map(_pointed_out, error.mistakes), unlisted=error.unlisted) from None


def _pointed_out(mistake: Mistake) -> Mistake:
    return mistake if mistake.hint or "not " not in mistake.message else replace(mistake, hint=UNLISTED)
