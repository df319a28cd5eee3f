"""``herbrand query``: answers of a goal by the rules of a theory, with weights."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import last_argument, open_model
from herbrand.cli.output import leave_unconverged, note, write_result
from herbrand.cli.tables import sheet_table


class Normalize(StrEnum):
    none = "none"
    sum = "sum"
    softmax = "softmax"


@spread
def command(
    opened: options.Opened,
    limited: options.Limited,
    written: options.Written,
    given: options.Given = None,
    engine: options.EngineName = "auto",
    algebra: Annotated[
        str,
        typer.Option(
            "--algebra",
            metavar="count|boolean|max|probability|independent",
            help="What a weight is: the sum of proofs, whether there is one, the best, how probable one is.",
        ),
    ] = "count",
    depth: Annotated[
        str, typer.Option("--depth", metavar="D|fixpoint", help="How deep calls may go; the goal is at 0.")
    ] = "10",
    normalize: Annotated[
        Normalize, typer.Option("--normalize", help="Make the weights add up to 1.")
    ] = Normalize.none,
    top: Annotated[
        int | None, typer.Option("--top", metavar="K", min=0, help="The K heaviest answers.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Count in integers of up to 4,200 digits.")] = False,
) -> None:
    """Answers of a goal by the rules, heaviest first: herbrand query family.hb 'uncle("liam", y)'

    The weight of an answer is the number of its proofs, or the sum of the products of the weights they use.
    """
    opened, goal = last_argument(opened, "the goal")
    answer = open_model(opened).query(
        goal,
        given=given or (),
        engine=engine,
        algebra=algebra,
        depth=depth,
        normalize=normalize.value,
        top=top,
        exact=exact,
        **limited.told(),
    )
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer)],
        answer.to_arrow,
    )
    if not len(answer):
        note("no answer")
    if answer.truncated:
        note("a call was cut by the depth: deeper proofs are not counted; allow more by --depth")
    leave_unconverged(answer.status)
