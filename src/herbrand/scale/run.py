"""Runs of steps on a database: the note of the last complete step, and the limits of the run.

A step makes new tables beside the old ones, then writes the note; so a run that is interrupted at any time
resumes from the step before. The note is for one run only: other facts, another theory or other options have
another fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from herbrand.engines.engine import Settings
from herbrand.errors import UnsupportedError
from herbrand.language.network_tables import NetworkTable
from herbrand.language.show import statement_text
from herbrand.language.syntax import Choice, Statement
from herbrand.program.question import Question
from herbrand.relations.database import Database
from herbrand.scale.evidence import StoredEvidence

RUN = "run"
LAYOUT = 4
"""Version of the tables of steps; a run with tables of another version starts again."""


@dataclass(frozen=True)
class StoredRun:
    """Storage of a run's steps. ``room``: free bytes of disk, ``None`` if unknown; ``top`` and ``least``
    limit the rows of the answer to the most probable ones, and to probabilities of at least ``least``."""

    database: Database
    fingerprint: str = ""
    resume: bool = False
    room: int | None = None
    top: int | None = None
    least: float | None = None

    def begin(self) -> None:
        """Delete the note of an earlier run."""
        self.database.drop(RUN)

    def keep(self, state: dict[str, Any]) -> None:
        """Write the note that the tables of this step are complete."""
        self.database.keep(RUN, json.dumps({"fingerprint": self.fingerprint, **state}))

    def kept(self) -> dict[str, Any]:
        """The state of the last complete step; raise UnsupportedError if another run wrote it."""
        note = self.database.noted(RUN)
        if note.get("fingerprint") != self.fingerprint:
            raise nothing_to_resume(self.database)
        return note


@dataclass(frozen=True, eq=False)
class StoredProgram:
    """A program with facts in a database, and the run that stores the steps of inference."""

    evidence: StoredEvidence
    run: StoredRun

    @property
    def database(self) -> Database:
        return self.run.database


def nothing_to_resume(database: Database) -> UnsupportedError:
    return UnsupportedError(
        f"{database.name} keeps no run of this theory with these facts and options",
        hint="leave out --resume to begin anew",
    )


def explained_in_memory() -> UnsupportedError:
    """The error of engines on a database, which cannot explain."""
    return UnsupportedError("explain runs in memory only", hint="leave out --on")


def refuse_unserved(statements: Iterable[Statement], command: str) -> None:
    """Raise UnsupportedError for the first choice or network table: these are evaluated in memory only."""
    for statement in statements:
        if isinstance(statement, Choice | NetworkTable):
            raise UnsupportedError(
                f"on a database {command} cannot use this statement: {statement_text(statement)}",
                span=statement.span,
                hint="leave out --on, or ask by query" if isinstance(statement, Choice) else "leave out --on",
            )


def refuse_foreign_settings(settings: Settings, engine: str) -> None:
    """Raise UnsupportedError for options that no engine on a database supports."""
    if settings.schedule not in (None, "parallel"):
        raise UnsupportedError(f"on a database {engine} is parallel, not {settings.schedule}")
    if settings.clip is not None:
        raise UnsupportedError("on a database messages are not clipped", hint="leave out --clip, or --on")
    if settings.starts not in (None, 1):
        raise UnsupportedError(f"on a database {engine} has one start")


def refuse_most_probable(question: Question) -> None:
    """Raise UnsupportedError: mean field finds a most probable world by moving atoms singly, not all at
    once."""
    if question.most_probable:
        raise UnsupportedError(
            "the most probable world cannot be asked of a database", hint="leave out --map, or --on"
        )
