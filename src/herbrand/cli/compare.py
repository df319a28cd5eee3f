"""``herbrand compare``: several engines on one theory, side by side."""

from __future__ import annotations

from typing import Any

import herbrand as hb
from herbrand.budget import budget_of
from herbrand.cli.opening import open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import Table


@takes("compare")
def command(opened: Opened, written: Written, engine: list[str] | None = None, **options: Any) -> None:
    """Several engines on one theory, with time and the largest difference from the exact answer."""
    budget = budget_of(options)
    comparison = hb.compare(open_model(opened, budget), engine or (), within=budget, **options)

    def tables() -> list[Table]:
        heads = ("engine", "guarantee", "seconds", "log partition", "largest difference")
        return [Table(heads, comparison.summary), Table(comparison.heads, comparison.cells)]

    write_result(written, comparison.to_dict, tables, comparison.to_arrow)
