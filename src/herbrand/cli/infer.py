"""``herbrand infer``: marginal probabilities, or the most probable world."""

from __future__ import annotations

from typing import Any

from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import leave_unconverged, note, write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table
from herbrand.engines.described import budget_of


@takes("infer")
def command(opened: Opened, written: Written, **options: Any) -> None:
    """Marginal probabilities of the latent atoms, of what is queried, or the most probable world.

    Uses weighted and hard formulas.
    """
    budget = budget_of(options)
    answer = open_model(opened, budget).infer(note=note, within=budget, **options)
    title = answer.title
    if options.get("log_partition") and answer.log_partition is not None:
        title += f"\nlog partition {answer.log_partition:.6f} ({answer.log_partition_guarantee})"
    if answer.log_weight is not None:
        title += f"\nlog weight {answer.log_weight:.6f}"
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer, title)],
        answer.to_arrow,
    )
    leave_unconverged(answer.status)
