"""``herbrand sample``: worlds drawn from the distribution that a theory describes."""

from __future__ import annotations

from typing import Any

from herbrand.budget import budget_of
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table


@takes("sample")
def command(opened: Opened, written: Written, **options: Any) -> None:
    """Worlds drawn at random, as probable as the theory says: herbrand sample alarm.hb --worlds 10"""
    budget = budget_of(options)
    known = {name: value for name, value in options.items() if value is not None}
    drawn = open_model(opened, budget).sample(within=budget, **known)
    write_result(
        written,
        drawn.to_dict,
        lambda: [sheet_table(drawn)],
        drawn.to_arrow,
    )
