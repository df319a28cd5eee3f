"""``herbrand check``: does it fit together, how large is it, and what can run it."""

from __future__ import annotations

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import open_model
from herbrand.cli.output import write_result
from herbrand.cli.tables import Table


@spread
def command(opened: options.Opened, written: options.Written, memory: options.Memory = None) -> None:
    """Parse and type-check a theory; tell sizes, groundings, and which engines can run it at what cost."""
    report = hb.size_report(open_model(opened), memory)
    write_result(
        written,
        report.to_dict,
        lambda: [Table(report.heads, report.cells, words=report.words)],
        report.to_arrow,
    )
