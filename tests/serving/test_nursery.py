"""Children are forked one after the other, whoever has left, and none where nothing can be prepared; what the
studio has them do ends when nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from herbrand.errors import HerbrandError
from herbrand.serving import studio_runs
from herbrand.serving.frames import Frame
from herbrand.serving.nursery import Nursery, is_alive
from herbrand.serving.projects import Project
from herbrand.serving.refusals import RefusedError
from herbrand.serving.studio_runs import Runs
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


@asynccontextmanager
async def prepared() -> AsyncIterator[Nursery]:
    """A prepared process of the studio, which ends with the test."""
    nursery = Nursery("studio")
    await nursery.start()
    try:
        yield nursery
    finally:
        await nursery.stop()


ENDLESS = {
    "command": "infer",
    "main": "a.hb",
    "files": {"a.hb": "type t = 1..9\npredicate p(t)\n1: p(x)\n"},
    "options": {"engine": "gibbs", "samples": 10**9, "iterations": 10**9},
}


def test_a_run_that_nobody_listens_to_any_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is opened anew does not know the run of the page before, and eight of them were all."""
    monkeypatch.setattr(studio_runs, "UNHEARD_SECONDS", 0.5)

    async def states() -> tuple[str, str, bool]:
        async with prepared() as nursery:
            runs = Runs(nursery, Project(tmp_path))
            run = await runs.start(ENDLESS)
            async with aclosing(run.heard()) as heard:
                await anext(heard)
                await asyncio.sleep(1.5)
                while_heard = run.state
            assert run.ending is not None
            await asyncio.wait_for(run.ending, PATIENCE)
            return while_heard, run.state, is_alive(run.child.pid)

    assert asyncio.run(states()) == ("running", "cancelled", False)


def test_a_long_text_is_checked_while_others_are_answered(tmp_path: Path) -> None:
    """The server read it itself, and for twelve seconds no run could be cancelled."""
    text = "".join(f"{i % 7}.5: p{i}(x) and q{i}(x, y) => p{i + 1}(y)\n" for i in range(3_000))

    async def order() -> list[str]:
        async with prepared() as nursery:
            project = Project(tmp_path)
            transport = httpx.ASGITransport(studio_app(project, Runs(nursery, project)))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                done: list[str] = []

                async def asked(name: str, *call: Any, **more: Any) -> None:
                    answer = await client.request(*call, **more)
                    assert answer.status_code == 200, answer.text
                    done.append(name)

                body = {"main": "a.hb", "files": {"a.hb": text}}
                checked = asyncio.create_task(
                    asked("checked", "POST", "/api/check", json=body, timeout=PATIENCE)
                )
                await asyncio.sleep(0.2)
                await asked("listed", "GET", "/api/project?tables=no")
                await checked
            return done

    assert asyncio.run(order()) == ["listed", "checked"]
