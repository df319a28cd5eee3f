"""``herbrand learn``: weights for the statements, rules and facts that are to be learned."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from herbrand.budget import GUARDS, budget_of
from herbrand.cli.opening import open_model
from herbrand.cli.options import Format, Opened, Written, refuse_no_theory
from herbrand.cli.output import Bar, leave_unconverged, note, write_result, write_text
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table

if TYPE_CHECKING:
    from herbrand.learning.settings import Progress


@takes("learn")
def command(opened: Opened, format: str = Format.table, output: str | None = None, **options: Any) -> None:
    """Weights of statements such as '?: smokes(x) => cancer(x)', learned from facts; gives a theory.

    By --method proof those of rules '@ ?' and of facts of 'learned' predicates, from right answers.
    Every predicate is closed unless it is --latent. The theory goes to -o, or to standard output.
    """
    refuse_no_theory(output)
    bar = Bar("learning", began=time.monotonic())

    def watch(progress: Progress) -> None:
        done = progress.step / max(progress.steps, 1)
        bar.show(f"{progress.metric} {progress.value:.4f}", min(done, 1.0))

    budget = budget_of(options)
    learning = open_model(opened, budget).learn(watch=watch, note=note, within=budget, **options)
    bar.show("learned", 1.0)
    if output is not None:
        write_text(learning.text, output)
    if output is None and format == Format.table:
        note(learning.title)
        write_text(learning.text, None)
        GUARDS.answered()
    else:
        write_result(
            Written(format, None),
            learning.to_dict,
            lambda: [sheet_table(learning)],
            learning.to_arrow,
        )
    leave_unconverged(learning.status)
