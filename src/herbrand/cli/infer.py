"""``herbrand infer``: marginal probabilities, or the most probable world."""

from __future__ import annotations

from typing import Annotated

import typer

from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import open_model
from herbrand.cli.output import leave_unconverged, note, write_result
from herbrand.cli.tables import sheet_table


@spread
def command(
    opened: options.Opened,
    stepped: options.Stepped,
    written: options.Written,
    query: options.Query = None,
    given: options.Given = None,
    engine: options.EngineName = "auto",
    map: Annotated[bool, typer.Option("--map", help="The most probable world instead.")] = False,
    log_partition: Annotated[
        bool, typer.Option("--log-partition", help="Tell log Z in the table too.")
    ] = False,
    top: Annotated[
        int | None, typer.Option("--top", metavar="K", min=0, help="The K most probable rows.")
    ] = None,
    min: Annotated[
        float | None,
        typer.Option("--min", metavar="P", min=0, max=1, help="Rows of at least this probability."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --on: go on from the last step of a run that was cut off.")
    ] = False,
) -> None:
    """Marginal probabilities of the latent atoms, of what is queried, or the most probable world.

    Uses weighted and hard formulas.
    """
    answer = open_model(opened).infer(
        query or (),
        given=given or (),
        engine=engine,
        map=map,
        top=top,
        min=min,
        resume=resume,
        note=note,
        **stepped.told(),
    )
    title = answer.title
    if log_partition and answer.log_partition is not None:
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
