"""``herbrand bound``: lower and upper probabilities."""

from __future__ import annotations

import time
from typing import Any

from herbrand.budget import budget_of
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import Bar, leave_unconverged, note, write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table


@takes("bound")
def command(opened: Opened, written: Written, **options: Any) -> None:
    """Lower and upper probabilities of queries, or of every atom.

    Uses probability bounds. Facts of open predicates condition; those of observed ones select groundings.
    """
    bar = Bar("bounding", began=time.monotonic())
    budget = budget_of(options)
    answer = open_model(opened, budget).bound(note=note, progress=bar.show, within=budget, **options)
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer)],
        answer.to_arrow,
    )
    if not len(answer):
        note("the theory has no atom, so there is nothing to bound")
    leave_unconverged(answer.status)
