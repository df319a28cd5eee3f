"""Theory and fact paths as a model, with progress on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import herbrand as hb
from herbrand.cli.options import Header
from herbrand.cli.output import Bar

if TYPE_CHECKING:
    from herbrand.model import Model


def open_model(
    theories: Sequence[str],
    facts: Sequence[str] | None,
    dialect: str | None = None,
    open: Sequence[str] | None = None,
    closed: Sequence[str] | None = None,
    header: Header | None = None,
    ignore: Sequence[str] | None = None,
) -> Model:
    """The model that a command's options describe."""
    return hb.Model(
        hb.read(theories, dialect),
        list(facts) if facts else None,
        open=open or (),
        closed=closed or (),
        header=None if header is None else header is Header.yes,
        ignore=ignore or (),
        progress=_progress(),
    )


def _progress() -> Callable[[str, float], None]:
    """A bar on a terminal, once loading has taken a second."""
    bar = Bar("loading facts", began=time.monotonic())
    return bar.show
