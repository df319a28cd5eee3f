"""Pool of child processes that answer requests, one at a time each; one over its limit is killed and
replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from herbrand.serving.frames import ANSWER, Frame
from herbrand.serving.nursery import Child, Nursery
from herbrand.serving.refusals import UNAVAILABLE, RefusedError

LATER, LATER_SHARE = 0.5, 0.25
"""Time beyond its limit after which a child is killed that has not ended by its own clock: seconds, and a
share of the limit."""
MOST_TASKS = 2_000
"""Tasks after which a child is replaced, as its model caches what it lowered for each evidence."""
AGAIN_SECONDS = 1.0
"""Seconds between attempts to replace a child."""
RETRY = "ask again later, or start the server with more --workers"


class Pool:
    """A pool of ``size`` children of a nursery; at most ``waiting`` requests wait for one of them."""

    def __init__(self, nursery: Nursery, size: int, waiting: int = 1_000) -> None:
        self._nursery, self.size, self._waiting_most = nursery, size, waiting
        self._idle: asyncio.Queue[Child] = asyncio.Queue()
        self._all: set[Child] = set()
        self._replacing: set[asyncio.Task[None]] = set()
        self.waiting = 0
        self.killed = 0
        self.lost = 0

    @property
    def busy(self) -> int:
        """Number of children at work."""
        return len(self._all) - self._idle.qsize()

    @property
    def alive(self) -> int:
        """Number of children."""
        return len(self._all)

    async def start(self) -> None:
        for _ in range(self.size):
            await self._add()

    async def stop(self) -> None:
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*(child.end() for child in list(self._all)))

    async def answer(self, task: dict[str, Any], seconds: float | None) -> bytes:
        """Answer a task as JSON; raise :class:`RefusedError` if it fails, or soon after ``seconds`` of
        work."""
        if self.waiting >= self._waiting_most:
            raise RefusedError(UNAVAILABLE, f"{self.waiting:,} requests are waiting already", RETRY)
        self.waiting += 1
        try:
            child = await self._free()
        finally:
            self.waiting -= 1
        try:
            async with asyncio.timeout(None if seconds is None else seconds + LATER + LATER_SHARE * seconds):
                await child.ask(task)
                reply = await child.next()
        except TimeoutError:
            self.killed += 1
            self._replace(child)
            hint = "ask for less, or allow more by time_limit, up to the server's --time-limit"
            raise RefusedError(UNAVAILABLE, f"not done after {seconds:g} s", hint) from None
        except BaseException:  # the client has left: the child's reply would go to another one
            self._replace(child)
            raise
        if reply is None:
            self.lost += 1
            self._replace(child)
            raise RefusedError(
                UNAVAILABLE, "the process that did the work was lost", "it may have lacked memory"
            )
        child.tasks += 1
        if child.tasks >= MOST_TASKS:
            self._replace(child)
        else:
            self._idle.put_nowait(child)
        return answer_in(reply)

    async def _free(self) -> Child:
        """Take an idle child; replace those that were lost meanwhile."""
        while (child := await self._idle.get()).lost:
            self.lost += 1
            self._replace(child)
        return child

    def _replace(self, child: Child) -> None:
        self._all.discard(child)
        task = asyncio.create_task(self._replaced(child))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replaced(self, child: Child) -> None:
        await child.end()
        while not self._nursery.stopped and not await self._added():
            await asyncio.sleep(AGAIN_SECONDS)

    async def _added(self) -> bool:
        with contextlib.suppress(RefusedError):
            await self._add()
            return True
        return False

    async def _add(self) -> None:
        child = await self._nursery.fork()
        self._all.add(child)
        self._idle.put_nowait(child)


def answer_in(reply: Frame) -> bytes:
    """Answer in a child's reply; raise :class:`RefusedError` if that is an error."""
    kind, body = reply
    if kind == ANSWER:
        return body
    refused = json.loads(body)
    error = refused["error"]
    raise RefusedError(refused["status"], error["message"], error["hint"], error["where"])
