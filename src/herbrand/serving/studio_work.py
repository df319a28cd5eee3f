"""Work of the children of ``herbrand studio``: a run, or a look at the facts, in a copy of the project."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import herbrand as hb
from herbrand.budget import LIBRARIES, UNLIMITED, Budget, bound_data
from herbrand.errors import HerbrandError
from herbrand.extras import imported
from herbrand.induction.asked import wants_worlds
from herbrand.language.theory import Theory
from herbrand.reports.result_file import read_rows
from herbrand.reports.score import score_file
from herbrand.serving.checking import checked_files
from herbrand.serving.circuit_drawing import circuit_of
from herbrand.serving.frames import EVENT
from herbrand.serving.json_requests import Watching, answered, limited
from herbrand.serving.nursery import Emit
from herbrand.serving.surroundings import surroundings_of
from herbrand.serving.tables import graph_of, rows_of, tables_of

OFTEN = 0.05
"""Least seconds between two reports of progress: a browser shows no more."""
COST_SECONDS = 5.0
"""Most seconds for the estimate of a run before it begins."""
STEP = re.compile(r"iteration ([\d,]+), residual (\S+)")


class StudioRole:
    """Role of the studio's children. It imports in advance what runs and their estimates need, all engines
    and databases among them, so that each begins at once."""

    def __init__(self) -> None:
        hb.size_report(hb.Model(hb.parse("0.5: rain")))
        imported("herbrand.scale.sizes")

    def work(self, task: dict[str, Any], emit: Emit) -> Any:
        budget = limited(task.get("asked", {}), task["memory"], task["seconds"])
        if budget.memory is not None:
            bound_data(budget.memory + LIBRARIES)
        if "folder" not in task:
            return TEXTS[task["kind"]](task)
        os.chdir(task["folder"])
        return _run(task, emit, budget) if task["kind"] == "run" else LOOKS[task["kind"]](task)


def _run(task: Mapping[str, Any], emit: Emit, budget: Budget) -> dict[str, Any]:
    command, asked = task["command"], dict(task["asked"])
    events = Events(emit)
    watching = Watching(events.note, events.progress, events.learned)
    if command == "induce":
        return _induced(task, asked, watching) | {"command": command}
    model = _model(task, budget, watching)
    if command in ("infer", "bound", "compare"):
        events.cost(lambda: hb.size_report(model, within=budget.at_most(COST_SECONDS)).to_dict())
    answer = answered(model, command, asked, budget, watching)
    events.progress("done", 1.0)
    reply = {"command": command, **answer.to_dict()}
    advice = getattr(getattr(answer, "status", None), "advice", "")
    return reply | {"notes": events.notes} | ({"advice": advice} if advice else {})


def _induced(task: Mapping[str, Any], asked: dict[str, Any], watching: Watching) -> dict[str, Any]:
    theory = hb.read(task["theory"]) if task["theory"] else None
    header = task["model"].get("header")
    induced = hb.induce if wants_worlds(asked) else hb.mine
    result = induced(
        theory,
        facts=task["facts"] or None,
        header=header,
        watch=watching.progress,
        note=watching.note,
        **asked,
    )
    return result.to_dict() | {"theory": result.text}


def _model(task: Mapping[str, Any], budget: Budget = UNLIMITED, watching: Watching | None = None) -> hb.Model:
    own = dict(task["model"])
    theory = hb.read(task["theory"], own.pop("dialect", None), budget) if task["theory"] else Theory()
    heard = Watching() if watching is None else watching
    return hb.Model(theory, task["facts"] or None, note=heard.note, progress=heard.progress, **own)


class Events:
    """Events of a run, sent to the browser."""

    def __init__(self, emit: Emit, clock: Callable[[], float] = time.monotonic) -> None:
        self._emit, self._clock, self._next = emit, clock, 0.0
        self.notes: list[str] = []

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        self._emit(EVENT, {"event": event, "data": data})

    def note(self, text: str) -> None:
        """Send a note, which is no result."""
        self.notes.append(text)
        self.send("note", {"text": text})

    def progress(self, text: str, share: float, step: int | None = None) -> None:
        """Send progress, at most every ``OFTEN`` seconds unless all is done; send a step of an iteration as a
        trace too."""
        match = STEP.fullmatch(text)
        if match is not None:
            step = int(match[1].replace(",", ""))
            self.trace(step, float(match[2]))
        now = self._clock()
        if now >= self._next or share >= 1:
            self._next = now + OFTEN
            fraction = share if 0 <= share <= 1 else None
            self.send("progress", {"text": text, "fraction": fraction, "step": step, "bound": None})

    def trace(self, step: int, value: float) -> None:
        """Send a step and its value; after step 200 only every n-th, where n is a hundredth of the steps so
        far."""
        if step <= 200 or step % (step // 100) == 0:
            self.send("trace", {"step": step, "value": value if abs(value) < float("inf") else None})

    def learned(self, progress: Any) -> None:
        """Send a step of learning with its metric, as a trace and as progress."""
        self.trace(progress.step, float(progress.value))
        share = min(progress.step / max(progress.steps, 1), 1.0)
        self.progress(f"{progress.metric} {progress.value:.4f}", share, progress.step)

    def cost(self, estimate: Callable[[], Mapping[str, Any]]) -> None:
        """Send the estimated cost of a run, if there is one within ``COST_SECONDS``."""
        with contextlib.suppress(HerbrandError):
            self.send("cost", estimate())


def _tables(task: Mapping[str, Any]) -> dict[str, Any]:
    """Tables under the theory; if they contradict it, each table by itself, and the mistake."""
    try:
        return {"facts": tables_of(_model(task)), "mistake": None}
    except HerbrandError as error:
        tables: list[dict[str, Any]] = []
        for path in task["facts"]:
            with contextlib.suppress(HerbrandError):
                tables += tables_of(hb.Model(Theory(), [path]))
        return {"facts": tables, "mistake": str(error)}


def _table(task: Mapping[str, Any]) -> dict[str, Any]:
    return rows_of(_model(task), task["predicate"], task["offset"], task["limit"])


def _graph(task: Mapping[str, Any]) -> dict[str, Any]:
    return graph_of(_model(task), task["marginals"], task["most_nodes"], task["most_edges"])


def _surroundings(task: Mapping[str, Any]) -> dict[str, Any]:
    return surroundings_of(_model(task), task["atom"], task["given"])


def _circuit(task: Mapping[str, Any]) -> dict[str, Any]:
    return circuit_of(_model(task), task["atom"], task["given"])


def _scored(task: Mapping[str, Any]) -> dict[str, Any]:
    """Score the last answer against labels, which are the facts of this task."""
    rows = read_rows(task["marginals"], "the answer")
    return score_file(rows, task["facts"], task["closed"]).to_dict()


TEXTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "check": lambda task: checked_files(task["texts"]),
    "format": lambda task: {"text": hb.formatted(task["text"], task["name"])},
}
"""Tasks over texts alone."""
LOOKS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "check": lambda task: checked_files(task["texts"], Path()),
    "tables": _tables,
    "table": _table,
    "graph": _graph,
    "surroundings": _surroundings,
    "circuit": _circuit,
    "score": _scored,
}
