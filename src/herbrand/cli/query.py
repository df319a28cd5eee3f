"""``herbrand query``: answers of a goal by the rules of a theory, with weights."""

from __future__ import annotations

from typing import Any

from herbrand.budget import budget_of
from herbrand.cli.opening import last_argument, open_model
from herbrand.cli.options import OpenedForGoal, Written
from herbrand.cli.output import leave_unconverged, note, write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table


@takes("query")
def command(opened: OpenedForGoal, written: Written, **options: Any) -> None:
    """Answers of a goal by the rules, heaviest first: herbrand query family.hb 'uncle("liam", y)'

    The weight of an answer is the number of its proofs, or the sum of the products of the weights they use.
    """
    stated, goal = last_argument(opened, "the goal")
    budget = budget_of(options)
    answer = open_model(stated, budget).query(goal, within=budget, **options)
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer)],
        answer.to_arrow,
    )
    if not len(answer):
        note("no answer")
    for name, column in zip(answer.variables, answer.columns, strict=True):
        if len(name) > 1 and name in column:
            note(f'{name} is a variable; the constant is "{name}"')
    if answer.truncated:
        note("a call was cut by the depth: deeper proofs are not counted; allow more by --depth")
    leave_unconverged(answer.status)
