"""``herbrand check``: does it fit together, how large is it, and what can run it."""

from __future__ import annotations

from typing import Any

import herbrand as hb
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import Table
from herbrand.engines.described import budget_of


@takes("check")
def command(opened: Opened, written: Written, **options: Any) -> None:
    """Parse and type-check a theory; tell sizes, groundings, and which engines can run it at what cost."""
    budget = budget_of(options)
    report = hb.size_report(open_model(opened, budget), within=budget, **options)
    write_result(
        written,
        report.to_dict,
        lambda: [Table(report.heads, report.cells, words=report.words)],
        report.to_arrow,
    )
