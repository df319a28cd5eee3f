"""``herbrand check``: does it fit together, how large is it, and what can run it."""

from __future__ import annotations

import herbrand as hb
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import Table


@takes("check")
def command(opened: Opened, written: Written, memory: str | None = None) -> None:
    """Parse and type-check a theory; tell sizes, groundings, and which engines can run it at what cost."""
    report = hb.size_report(open_model(opened), memory)
    write_result(
        written,
        report.to_dict,
        lambda: [Table(report.heads, report.cells, words=report.words)],
        report.to_arrow,
    )
