"""Runs of the studio: each a child process, whose events a browser can read from the first on at any time."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from herbrand.errors import HerbrandError
from herbrand.files import ScratchFolder
from herbrand.serving.frames import ANSWER, EVENT, Frame
from herbrand.serving.json_requests import request_of, seconds_of
from herbrand.serving.nursery import Child, Nursery
from herbrand.serving.pool import LATER, LATER_SHARE, answer_in
from herbrand.serving.projects import Project
from herbrand.serving.refusals import BAD_REQUEST, NOT_FOUND, UNAVAILABLE, RefusedError, refusal_of

COMMANDS = ("infer", "bound", "query", "learn", "induce", "compare", "explain", "sample")
OF_MODEL = ("open", "closed", "ignore", "header", "dialect")
"""Options of the model, rather than of the call."""
MOST_RUNNING, MOST_KEPT = 8, 30
LOST = "the process that did the work was lost; it may have lacked memory"
LOOK_SECONDS = 30.0
"""Most seconds of a look at the facts."""
CHECK_SECONDS = 120.0
"""Most seconds of a check of a text: one of a megabyte takes half a minute."""
UNHEARD_SECONDS = 60.0
"""Seconds after which a run is cancelled that no page listens to: its page was closed or loaded anew, and
nothing else could cancel it."""
State = Literal["running", "done", "error", "cancelled"]


@dataclass(eq=False)
class StudioRun:
    """A run with its events. The last event is the answer, an error, or that it was cancelled."""

    id: str
    command: str
    child: Child
    scratch: ScratchFolder
    began: float = field(default_factory=time.monotonic)
    state: State = "running"
    seconds: float = 0.0
    events: list[tuple[str, str]] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    listeners: int = 0
    last_heard: float = field(default_factory=time.monotonic)
    ending: asyncio.Task[None] | None = None

    def described(self) -> dict[str, Any]:
        running = self.state == "running"
        return {
            "id": self.id,
            "command": self.command,
            "state": self.state,
            "pid": self.child.pid if running else None,
            "seconds": time.monotonic() - self.began if running else self.seconds,
        }

    async def add(self, event: str, data: str, state: State = "running") -> None:
        """Add an event and wake the listeners; nothing is added after the last event."""
        if self.state != "running":
            return
        self.events.append((event, data))
        if state != "running":
            self.state, self.seconds = state, time.monotonic() - self.began
        async with self.changed:
            self.changed.notify_all()

    async def heard(self, first: int = 0) -> AsyncIterator[tuple[int, str, str]]:
        """Yield events with their numbers, from ``first`` to the last; a number beyond the present events
        means the next one."""
        first = min(first, len(self.events))
        self.listeners += 1
        try:
            while True:
                while first < len(self.events):  # more may come while one is read
                    yield first, *self.events[first]
                    first += 1
                if self.state != "running":
                    return
                async with self.changed:
                    while len(self.events) == first and self.state == "running":
                        await self.changed.wait()
        finally:
            self.listeners -= 1
            self.last_heard = time.monotonic()


class Runs:
    """The runs of a project: starts, keeps and ends them."""

    def __init__(
        self, nursery: Nursery, project: Project, memory: int | None = None, seconds: float | None = None
    ) -> None:
        self._nursery, self._project = nursery, project
        self._seconds = seconds
        self._limits = {"memory": memory, "seconds": seconds}
        self._runs: dict[str, StudioRun] = {}
        self._numbers = itertools.count(1)
        self._starting = 0
        self._reader: Child | None = None
        self._reading = asyncio.Lock()

    def named(self, name: str) -> StudioRun:
        if name not in self._runs:
            raise RefusedError(NOT_FOUND, f"there is no run '{name}'")
        return self._runs[name]

    async def start(self, body: dict[str, Any]) -> StudioRun:
        """Start a run; raise RefusedError if the request is wrong, or too many runs are under way."""
        command = body.get("command")
        if command not in COMMANDS:
            raise RefusedError(
                BAD_REQUEST,
                f"there is no command {json.dumps(command)[:60]}",
                f"one of {', '.join(COMMANDS)}",
            )
        under_way = self._starting + sum(run.state == "running" for run in self._runs.values())
        if under_way >= MOST_RUNNING:
            raise RefusedError(UNAVAILABLE, f"{MOST_RUNNING} runs are under way", "cancel one, or wait")
        request, model = _request_in(command, body)
        self._starting += 1
        try:
            return await self._started(command, request, model, body)
        finally:
            self._starting -= 1

    async def _started(
        self, command: str, request: dict[str, Any], model: dict[str, Any], body: dict[str, Any]
    ) -> StudioRun:
        seconds = seconds_of(request, self._seconds)
        task = {"kind": "run", "command": command, "asked": request, "model": model}
        child, scratch = await self._begun(task, body)
        run = StudioRun(f"r{next(self._numbers)}", command, child, scratch)
        self._runs[run.id] = run
        run.ending = asyncio.create_task(self._followed(run, seconds))
        self._forget()
        return run

    async def look(self, kind: str, body: dict[str, Any], **more: Any) -> Any:
        """Return the result of a short task over the project's files, which may take ``LOOK_SECONDS``."""
        child, scratch = await self._begun({"kind": kind, "model": {}, **more}, body)
        try:
            return json.loads(answer_in(await _reply(child, LOOK_SECONDS)))
        finally:
            await child.end()
            await asyncio.to_thread(scratch.cleanup)

    async def read(self, kind: str, **more: Any) -> Any:
        """Return the result of a task over texts alone. One process does all of these, one after another, and
        caches the statements that it has read; if the server itself read a long text, it would answer no
        other request meanwhile.

        A request whose client leaves while it waits is skipped; a task under way is finished, as the next
        text is nearly the same."""
        await self._reading.acquire()
        reading = asyncio.ensure_future(self._read({"kind": kind, **self._limits, **more}))
        reading.add_done_callback(lambda _: self._reading.release())
        return json.loads(answer_in(await asyncio.shield(reading)))

    async def _read(self, task: dict[str, Any]) -> Frame:
        child, self._reader = self._reader, None
        if child is None or child.lost:
            child = await self._nursery.fork()
        try:
            await child.ask(task)
            reply = await _reply(child, CHECK_SECONDS)
        except BaseException:
            await child.end()
            raise
        self._reader = child
        return reply

    async def cancel(self, name: str) -> StudioRun:
        """End a run; its process is gone when this returns."""
        run = self.named(name)
        await run.add("cancelled", "{}", "cancelled")
        await run.child.end()
        return run

    async def _begun(self, task: dict[str, Any], body: dict[str, Any]) -> tuple[Child, ScratchFolder]:
        """Start a child at a task, in a copy of the project with the editor's files."""
        files, names, facts = _files_in(body), theories_in(body), _facts_in(body)
        for name in (*names, *_worlds_in(body)):
            self._project.path(name)
        paths = [self._fact(predicate, name) for predicate, name in facts]
        scratch = await asyncio.to_thread(self._project.laid_out, names, files)
        try:
            child = await self._nursery.fork()
            folder = f"{scratch.name}/project"
            await child.ask({**task, **self._limits, "folder": folder, "theory": names, "facts": paths})
        except BaseException:
            scratch.cleanup()
            raise
        return child, scratch

    def _fact(self, predicate: str | None, name: str) -> str:
        path = self._project.facts_path(name)
        return path if predicate is None else f"{predicate}={path}"

    async def _followed(self, run: StudioRun, seconds: float | None) -> None:
        watching = asyncio.create_task(self._unheard(run))
        try:
            async with asyncio.timeout(None if seconds is None else seconds + LATER + LATER_SHARE * seconds):
                await _heard(run)
        except TimeoutError:
            error = RefusedError(UNAVAILABLE, f"not done after {seconds:g} s", "allow more by --time-limit")
            await run.add("error", json.dumps(error.body()["error"]), "error")
        finally:
            watching.cancel()
            await run.child.end()
            await asyncio.to_thread(run.scratch.cleanup)

    async def _unheard(self, run: StudioRun) -> None:
        """Cancel a run once no page has listened to it for ``UNHEARD_SECONDS``."""
        while run.listeners or time.monotonic() < run.last_heard + UNHEARD_SECONDS:
            await asyncio.sleep(UNHEARD_SECONDS / 10)
        await self.cancel(run.id)

    def _forget(self) -> None:
        ended = [name for name, run in self._runs.items() if run.state != "running"]
        for name in ended[: max(len(self._runs) - MOST_KEPT, 0)]:
            del self._runs[name]


async def _reply(child: Child, seconds: float) -> Frame:
    """Wait for the reply to a short task; raise RefusedError if it is late, or the child was lost."""
    try:
        async with asyncio.timeout(seconds):
            reply = await child.next()
    except TimeoutError:
        raise RefusedError(UNAVAILABLE, f"not done after {seconds:g} s", "ask about less at a time") from None
    if reply is None:
        raise RefusedError(UNAVAILABLE, LOST)
    return reply


async def _heard(run: StudioRun) -> None:
    """Add what a child sends to its run, until its last message."""
    while (message := await run.child.next()) is not None:
        kind, body = message
        if kind == EVENT:
            message = json.loads(body)
            await run.add(message["event"], json.dumps(message["data"], ensure_ascii=False))
        elif kind == ANSWER:
            return await run.add("answer", body.decode(), "done")
        else:
            error = json.loads(body)["error"]
            return await run.add("error", json.dumps(error, ensure_ascii=False), "error")
    return await run.add("error", json.dumps(RefusedError(UNAVAILABLE, LOST).body()["error"]), "error")


def _request_in(command: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check a request; return the options of the call, and those of the model."""
    options = dict(_object(body, "options"))
    model = {name: options.pop(name) for name in OF_MODEL if options.get(name) is not None}
    header = model.pop("header", None)
    if header is not None:
        if header not in ("yes", "no"):
            raise RefusedError(BAD_REQUEST, "'header' is yes or no")
        model["header"] = header == "yes"
    for name in ("query", "given"):
        given = body.get(name)
        if given not in (None, [], ""):
            options[name] = given
    try:
        return request_of(command, options), model
    except HerbrandError as error:
        raise refusal_of(error, BAD_REQUEST) from None


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    member = body.get(name) or {}
    if not isinstance(member, dict):
        raise RefusedError(BAD_REQUEST, f"'{name}' is an object")
    return member


def _files_in(body: dict[str, Any]) -> dict[str, str]:
    files = _object(body, "files")
    if not all(isinstance(text, str) for text in files.values()):
        raise RefusedError(BAD_REQUEST, "'files' holds texts by their names")
    return files


def theories_in(body: dict[str, Any]) -> list[str]:
    """Names of the theory files in ``main``: one, several that make up one theory, or none."""
    main = body.get("main")
    names = [] if main is None else [main] if isinstance(main, str) else main
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RefusedError(BAD_REQUEST, "'main' is the name of a theory file, or a list of names")
    return names


def _worlds_in(asked: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the folders of worlds in the options; raise RefusedError for worlds of another form,
    which could name files outside the project. A number is that of the worlds to sample."""
    options = _object(asked, "options")
    for option in ("worlds", "held_out"):
        given = options.get(option)
        if isinstance(given, str):
            yield given
        elif given is not None and not isinstance(given, int | float):
            raise RefusedError(BAD_REQUEST, f"'{option}' is the name of a folder of the project")


def _facts_in(body: dict[str, Any]) -> list[tuple[str | None, str]]:
    """Tables as ``(predicate, file)``; each is given as a name, or as an object of both."""
    facts = body.get("facts") or []
    files: list[tuple[str | None, str]] = []
    for each in facts if isinstance(facts, list) else [facts]:
        entry = {"file": each} if isinstance(each, str) else each
        file = entry.get("file") if isinstance(entry, dict) else None
        predicate = entry.get("predicate") if isinstance(entry, dict) else None
        if not isinstance(file, str) or not isinstance(predicate, str | None):
            raise RefusedError(
                BAD_REQUEST, "'facts' holds names of tables, or objects of 'predicate' and 'file'"
            )
        files.append((predicate, file))
    return files
