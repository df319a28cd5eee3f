"""``herbrand explain``: why an atom has its probability, its bound or its weight."""

from __future__ import annotations

from typing import Any

from herbrand.budget import budget_of
from herbrand.cli.opening import last_argument, open_model
from herbrand.cli.options import OpenedForReasons, Written
from herbrand.cli.output import note, write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table


@takes("explain")
def command(opened: OpenedForReasons, written: Written, query: str | None = None, **options: Any) -> None:
    """Why: the statements and groundings that moved a probability, a bound or a weight, heaviest first.

    What to explain is the last argument: herbrand explain smokers.hb --facts facts 'smokes("anna")'
    """
    asked, query = (opened, query) if query else last_argument(opened, "what to explain")
    budget = budget_of(options)
    why = open_model(asked, budget).explain(query, note=note, within=budget, **options)
    write_result(
        written,
        why.to_dict,
        lambda: [sheet_table(end) for end in why.ends],
        why.to_arrow,
    )
