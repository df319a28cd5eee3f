"""Open the theory and the facts of a command as a model, with progress on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import herbrand as hb
from herbrand.budget import GUARDS
from herbrand.cli.options import Opened
from herbrand.cli.output import Bar, note

if TYPE_CHECKING:
    from herbrand.budget import Budget
    from herbrand.model import Model


def open_model(opened: Opened, budget: Budget) -> Model:
    """Open the model that a command's options describe, within its budget."""
    GUARDS.keep(budget, elsewhere=(opened.on or "").startswith("spark"))
    return hb.Model(
        hb.read(opened.theory, opened.dialect, budget),
        list(opened.facts) if opened.facts else None,
        open=opened.open or (),
        closed=opened.closed or (),
        header=has_header(opened.header),
        ignore=opened.ignore or (),
        on=opened.on,
        progress=_progress(),
        note=note,
    )


def has_header(header: str | None) -> bool | None:
    """Value of ``--header``; None if it was not given."""
    return None if header is None else header == "yes"


def last_argument(opened: Opened, what: str) -> tuple[Opened, str]:
    """Split off the last argument, which is no theory file but ``what`` the command asks for."""
    *theory, asked = opened.theory
    if not theory or (Path(asked).is_file() and not Path(theory[0]).exists()):
        raise typer.BadParameter(f"name {what} after the theory files")
    return replace(opened, theory=theory), asked


def _progress() -> Callable[[str, float], None]:
    """A progress bar on a terminal, once loading has taken a second."""
    bar = Bar("loading facts", began=time.monotonic())
    return bar.show
