"""``herbrand check``: does it fit together, how large is it, and what can run it."""

from __future__ import annotations

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.opening import open_model
from herbrand.cli.output import text_table, write_result

NAME = "check"


def command(
    theory: options.Theories,
    facts: options.Facts = None,
    format: options.OutputFormat = options.Format.table,
    output: options.Output = None,
    memory: options.Memory = None,
    dialect: options.Dialect = None,
    open: options.Open = None,
    closed: options.Closed = None,
    header: options.HasHeader = None,
) -> None:
    """Parse and type-check a theory; tell sizes, groundings, and which engines can run it at what cost."""
    model = open_model(theory, facts, dialect, open, closed, header)
    report = hb.size_report(model, memory)
    write_result(
        format,
        output,
        report.to_dict,
        lambda: [text_table(("what", "size", "detail"), report.rows(), words=(0, 2))],
        report.to_arrow,
    )
