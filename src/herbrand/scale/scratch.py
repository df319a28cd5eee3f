"""Scratch databases for facts or joins that do not fit into memory, announced, and removed at the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from herbrand.budget import readable
from herbrand.engines.registry import DATABASE, ENGINES, runs_on_database
from herbrand.errors import BudgetError, HerbrandError, Mistake, UnsupportedError
from herbrand.facts.load import TooLarge
from herbrand.files import ScratchFolder
from herbrand.scale.inference import StoredModel
from herbrand.scale.place import DatabasePlace

WITHOUT_RESUME = "allow more by --memory, or name a database that stays, on a larger disk: --on duckdb:FILE"
MORE = "allow more by --memory"

MOST_ROWS_A_STEP = 1e9
"""Most rows joined in a step: more take a quarter of an hour or longer, and need an explicit ``--on``."""


StoredAt = Callable[[DatabasePlace], StoredModel]
Note = Callable[[str], None]


@contextmanager
def scratch_model(
    stored_at: StoredAt, reason: TooLarge, note: Note | None, engine: str = "auto"
) -> Iterator[StoredModel]:
    """Run the model on a scratch database; what no database supports is refused, with the reason for using
    one.

    ``engine`` is that of ``infer``; engines of other commands raise by themselves."""
    if not runs_on_database("infer", engine):
        known = ENGINES[DATABASE]["infer"]
        raise BudgetError(
            f"{reason.why}; {engine} runs in memory only",
            hint=f"allow more by --memory, or take an engine that runs on a database: {', '.join(known)}",
        )
    with scratch(reason) as place:
        if note is not None:
            note(notice(reason, place))
        try:
            yield stored_at(place)
        except BudgetError as error:
            raise _lasting(error) from None
        except UnsupportedError as error:
            raise _needed(error, reason) from None


def _lasting(error: BudgetError) -> BudgetError:
    """The error with hints to ``--resume`` replaced: a scratch database keeps nothing to resume from."""
    return BudgetError(
        [
            Mistake(one.message, one.span, WITHOUT_RESUME) if "--resume" in one.hint else one
            for one in error.mistakes
        ]
    )


def _needed(error: UnsupportedError, reason: TooLarge) -> HerbrandError:
    """The error with hints to leave out ``--on`` replaced, since the user did not give it."""
    if not any("--on" in one.hint for one in error.mistakes):
        return error
    return BudgetError(
        [
            Mistake(f"{reason.why}; {one.message}", one.span, MORE) if "--on" in one.hint else one
            for one in error.mistakes
        ]
    )


@contextmanager
def instead(stored_at: StoredAt, error: BudgetError, note: Note | None) -> Iterator[StoredModel]:
    """The model on a scratch database, after ``error`` in memory; raise both errors if that fails too."""

    def bounded(place: DatabasePlace) -> StoredModel:
        return replace(stored_at(place), most_rows=MOST_ROWS_A_STEP)

    several = len(error.mistakes) > 1
    why = "no engine can run it within the memory allowed" if several else error.mistakes[0].message
    try:
        with scratch_model(bounded, TooLarge(why), note) as model:
            yield model
    except HerbrandError as other:
        refused = other.mistakes[0]
        more = Mistake(f"nor does it run on a database: {refused.message}", hint=refused.hint)
        raise BudgetError((*map(_off_disk, error.mistakes), more)) from None


def _off_disk(mistake: Mistake) -> Mistake:
    """The mistake with a hint to ``--on`` replaced, since a database was tried."""
    return replace(mistake, hint=MORE) if "--on" in mistake.hint else mistake


@contextmanager
def scratch(reason: TooLarge) -> Iterator[DatabasePlace]:
    """A place for one call, in the folder for temporary files; raise BudgetError if the disk is too full."""
    with ScratchFolder() as folder:
        free = shutil.disk_usage(folder).free
        if reason.disk > free:
            raise BudgetError(
                f"{reason.why}; a database of them needs about {readable(reason.disk)} of disk, and "
                f"{readable(free)} are free in '{Path(folder).parent}'",
                hint="name one on another disk by --on duckdb:FILE, or another folder by TMPDIR",
            )
        yield DatabasePlace("duckdb", str(Path(folder) / "scratch.duckdb"), scratch=True)


def notice(reason: TooLarge, place: DatabasePlace) -> str:
    """The message that announces a scratch database."""
    return (
        f"{reason.why}: running on a scratch database, {place.target}, which is removed at the end; to keep "
        "it, and to be able to go on with --resume, name one: --on duckdb:FILE"
    )
