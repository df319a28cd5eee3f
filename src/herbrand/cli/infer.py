"""``herbrand infer``: marginal probabilities, or the most probable world; or what a machine concludes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import herbrand as hb
from herbrand.budget import budget_of
from herbrand.cli.opening import has_header, open_model
from herbrand.cli.options import Opened, Written
from herbrand.cli.output import leave_unconverged, note, write_result
from herbrand.cli.parameters import takes
from herbrand.cli.tables import sheet_table
from herbrand.errors import UnsupportedError

if TYPE_CHECKING:
    from herbrand.answers.marginals import Marginals

MACHINE = ".hbm"
"""Ending of the files that hold a machine."""

OF_MACHINES = frozenset({"theory", "facts", "header", "top", "min"})
"""Options that a machine uses."""


@takes("infer")
def command(opened: Opened, written: Written, **options: Any) -> None:
    """Marginal probabilities of the latent atoms, of what is queried, or the most probable world.

    Uses weighted and hard formulas. A file .hbm, which induce --save wrote, stands alone: how likely its
    target holds of each tuple in the world of --facts.
    """
    if any(path.endswith(MACHINE) for path in opened.theory):
        answer = _concluded(opened, options)
    else:
        budget = budget_of(options)
        answer = open_model(opened, budget).infer(note=note, within=budget, **options)
    title = answer.title
    if options.get("log_partition"):
        title += f"\nlog partition {_log_partition(answer)}"
    if answer.log_weight is not None:
        title += f"\nlog weight {answer.log_weight:z.6f}"
    write_result(
        written,
        answer.to_dict,
        lambda: [sheet_table(answer, title)],
        answer.to_arrow,
    )
    leave_unconverged(answer.status)


def _log_partition(answer: Marginals) -> str:
    if answer.log_partition is None:
        return f"not given {'by ' + answer.engine if answer.log_weight is None else 'with --map'}"
    return f"{answer.log_partition:z.6f} ({answer.log_partition_guarantee})"


def _concluded(opened: Opened, options: dict[str, Any]) -> Marginals:
    given = {one.name for one in fields(opened) if getattr(opened, one.name)} | set(options)
    needless = sorted(given - OF_MACHINES)
    if needless:
        raise UnsupportedError(f"a machine does not use --{needless[0].replace('_', '-')}")
    machine, *others = opened.theory
    if others:
        raise UnsupportedError(f"'{machine}' and other files: a machine ({MACHINE}) stands alone")
    answer = hb.conclude(machine, opened.facts, header=has_header(opened.header), note=note)
    return answer.filtered(options.get("top"), options.get("min"))
