"""``herbrand score``: a result file against labelled facts."""

from __future__ import annotations

from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli.opening import has_header
from herbrand.cli.options import Format, WrittenOrDrawn
from herbrand.cli.output import note, write_result, write_text
from herbrand.cli.parameters import takes
from herbrand.cli.tables import Table, sheet_table


@takes("score")
def command(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="What infer wrote: .json, .csv, .parquet.")],
    written: WrittenOrDrawn,
    facts: list[str],
    closed: list[str] | None = None,
    header: str | None = None,
) -> None:
    """Average precision (ties kept), ROC area, F1, log loss, calibration and accuracy of a result file.

    Rows without a label are left out, unless their predicate is --closed.
    """
    report = hb.score(result, list(facts), closed or (), header=has_header(header), note=note)
    if report.missing:
        note(f"{report.missing:,} labels have no row in the result and are left out")
    if not closed and report.pooled.true == report.pooled.rows:
        note("no label is false; --closed PRED counts what is not listed as false")
    if written.into is None and written.drawn is not None:
        page = report.to_html() if written.drawn is Format.html else report.to_svg() + "\n"
        write_text(page, written.output)
        return
    write_result(
        written,
        report.to_dict,
        lambda: [
            sheet_table(report),
            Table(report.bin_heads, report.bin_cells, "calibration"),
        ],
        report.to_arrow,
    )
