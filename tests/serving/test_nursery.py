"""Children are forked one after the other, whoever has left, and none where nothing can be prepared."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from herbrand.errors import HerbrandError
from herbrand.serving.frames import Frame
from herbrand.serving.nursery import Nursery
from herbrand.serving.projects import Project
from herbrand.serving.refusals import RefusedError
from herbrand.serving.studio_server import studio_app
from tests.serving.conftest import PATIENCE, httpx


class Slow(Nursery):
    """A process that answers when it may, and how many ask it at once."""

    def __init__(self) -> None:
        super().__init__("studio")
        self.begun, self.may = threading.Event(), threading.Event()
        self.under_way: list[int] = []
        self.most = 0

    def _ask_for_fork(self, channel: Any) -> Frame | None:
        self.under_way.append(1)
        self.most = max(self.most, len(self.under_way))
        self.begun.set()
        assert self.may.wait(PATIENCE)
        try:
            return super()._ask_for_fork(channel)
        finally:
            self.under_way.pop()


def test_a_fork_that_nobody_waits_for_is_ended_before_the_next() -> None:
    """Else two would read from one socket, and take each other's processes for their own."""

    async def two() -> int:
        nursery = Slow()
        await nursery.start()
        try:
            left = asyncio.create_task(nursery.fork())
            await asyncio.to_thread(nursery.begun.wait, PATIENCE)
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)
            asked = asyncio.create_task(nursery.fork())
            await asyncio.sleep(0.2)  # in which it would begin
            nursery.may.set()
            child = await asked
            await child.end()
            return nursery.most
        finally:
            nursery.may.set()
            await nursery.stop()

    assert asyncio.run(two()) == 1


def test_who_waits_for_a_child_hears_that_none_can_be_prepared() -> None:
    async def hears() -> None:
        nursery = Nursery("studio", nonsense=1)
        waiting = asyncio.create_task(nursery.fork())
        with pytest.raises(HerbrandError):
            await nursery.start()
        with pytest.raises(RefusedError):
            await asyncio.wait_for(waiting, PATIENCE)
        await nursery.stop()

    asyncio.run(hears())


def test_what_was_stopped_before_it_began_does_not_begin() -> None:
    async def begins() -> None:
        nursery = Nursery("studio")
        await nursery.stop()
        with pytest.raises(HerbrandError):
            await nursery.start()

    asyncio.run(begins())


class Together(Project):
    """Two who look at a file look at it together, where they can."""

    barrier = threading.Barrier(2)

    def refuse_changed(self, name: str, before: str | None) -> None:
        super().refuse_changed(name, before)
        try:
            self.barrier.wait(0.5)
        except threading.BrokenBarrierError:
            return


def test_of_two_who_save_a_file_at_once_one_is_refused(tmp_path: Path) -> None:
    async def both() -> list[int]:
        transport = httpx.ASGITransport(studio_app(Together(tmp_path), None))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            bodies = [{"text": text, "before": None} for text in ("1: a\n", "1: b\n")]
            answers = await asyncio.gather(*(client.put("/api/files/a.hb", json=body) for body in bodies))
        return sorted(answer.status_code for answer in answers)

    assert asyncio.run(both()) == [200, 409]
