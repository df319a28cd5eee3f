"""``herbrand infer``: marginal probabilities, or the most probable world."""

from __future__ import annotations

from typing import Annotated

import typer

from herbrand.cli import options
from herbrand.cli.opening import open_model
from herbrand.cli.output import note, text_table, write_result

NAME = "infer"
NOT_CONVERGED = 3


def command(
    theory: options.Theories,
    facts: options.Facts = None,
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
        float | None, typer.Option("--min", metavar="P", help="Rows of at least this probability.")
    ] = None,
    format: options.OutputFormat = options.Format.table,
    output: options.Output = None,
    memory: options.Memory = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    dialect: options.Dialect = None,
    open: options.Open = None,
    closed: options.Closed = None,
    header: options.HasHeader = None,
    ignore: options.Ignore = None,
) -> None:
    """Marginal probabilities of the latent atoms, of what is queried, or the most probable world.

    Uses weighted and hard formulas.
    """
    model = open_model(theory, facts, dialect, open, closed, header, ignore)
    answer = model.infer(
        query or (),
        given=given or (),
        engine=engine,
        map=map,
        top=top,
        min=min,
        memory=memory,
        time_limit=time_limit,
        seed=seed,
        note=note,
    )
    title = answer.title
    if log_partition and answer.log_partition is not None:
        title += f"\nlog partition {answer.log_partition:.6f} ({answer.log_partition_guarantee})"
    if answer.log_weight is not None:
        title += f"\nlog weight {answer.log_weight:.6f}"
    write_result(
        format,
        output,
        answer.to_dict,
        lambda: [text_table(answer.heads, answer.cells(), title)],
        answer.to_arrow,
    )
    if not answer.status.converged:
        note(f"not converged: {answer.status.advice}")
        raise typer.Exit(NOT_CONVERGED)
