"""``herbrand check``: mistakes, sizes, and the engines that can run a theory."""

from __future__ import annotations

from typing import Any

import herbrand as hb
from herbrand.budget import budget_of
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import Table
from herbrand.extras import later

refuse_asked = later("herbrand.reports.lint:refuse_asked")


@takes("check")
def command(opened: Opened, written: Written, lint: bool = False, **options: Any) -> None:
    """Parse and type-check a theory; show sizes, groundings, and which engines can run it at what cost.

    --lint warns of what is likely wrong in a theory that is well-formed.
    """
    budget = budget_of(options)
    model = open_model(opened, budget)
    if lint:
        refuse_asked(options)
        report = hb.lint(model, within=budget, **options)
    else:
        report = hb.size_report(model, within=budget, **options)
    write_result(
        written,
        report.to_dict,
        lambda: [Table(report.heads, report.cells, report.title if lint else None, report.words)],
        report.to_arrow,
    )
