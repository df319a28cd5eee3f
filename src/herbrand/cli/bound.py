"""``herbrand bound``: lower and upper probabilities."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import open_model
from herbrand.cli.output import Bar, leave_unconverged, note, write_result
from herbrand.cli.tables import sheet_table


class Independence(StrEnum):
    markov = "markov"
    none = "none"


class Mode(StrEnum):
    sound = "sound"
    paper = "paper"


@spread
def command(
    opened: options.Opened,
    limited: options.Limited,
    written: options.Written,
    query: Annotated[
        list[str] | None,
        typer.Option("--query", metavar="'P(q | e)'", help="A probability; every atom if none. Repeatable."),
    ] = None,
    given: options.Given = None,
    engine: options.EngineName = "auto",
    independence: Annotated[
        Independence,
        typer.Option("--independence", help="The networks' Markov condition, or nothing but what is stated."),
    ] = Independence.markov,
    mode: Annotated[
        Mode, typer.Option("--mode", help="Messages that are bounds, or as published (ariel).")
    ] = Mode.sound,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="T", min=0, help="How far from the tightest an end may be."),
    ] = None,
    iterations: options.Iterations = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last sweep of a run on a database.")
    ] = False,
) -> None:
    """Lower and upper probabilities of queries, or of every atom.

    Uses probability bounds. Facts of open predicates condition; those of observed ones select groundings.
    """
    bar = Bar("bounding", began=time.monotonic())
    answer = open_model(opened).bound(
        query or (),
        given=given or (),
        engine=engine,
        independence=independence.value,
        mode=mode.value,
        tolerance=tolerance,
        iterations=iterations,
        resume=resume,
        note=note,
        progress=bar.show,
        **limited.told(),
    )
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer)],
        answer.to_arrow,
    )
    leave_unconverged(answer.status)
