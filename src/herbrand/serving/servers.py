"""The two servers that the command line runs, as calls that return when a signal has ended them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from herbrand.serving.gates import LOCAL, Gate
from herbrand.serving.listening import Listening, address_of, bound_socket
from herbrand.serving.nursery import Nursery
from herbrand.serving.pool import Pool
from herbrand.serving.projects import Project
from herbrand.serving.service import RequestLimits, service
from herbrand.serving.studio_runs import Runs
from herbrand.serving.studio_server import studio_app

Announce = Callable[[str], None]
MOST_ASKED = 8 * 2**20
MOST_SAVED = 64 * 2**20
MOST_UPLOADED = 512 * 2**20
"""Most bytes of a body: of a question, of the files of a project, of an uploaded table."""
TOKEN = "X-Herbrand-Token"


def serve(
    model: dict[str, Any],
    *,
    host: str,
    port: int,
    key: str | None,
    workers: int,
    memory: int | None,
    seconds: float | None,
    announce: Announce,
) -> None:
    """Answer questions about a model until a signal comes; raise if the model cannot be loaded."""

    async def run() -> None:
        with bound_socket(host, port) as listening:
            nursery = Nursery("service", memory=memory, seconds=seconds, **model)
            pool = Pool(nursery, workers)
            try:
                await nursery.start()
                await pool.start()
                hosts = LOCAL if key is None else None  # a client with the key may use the name of a proxy
                open = ("/health",)
                app = Gate(
                    service(pool, RequestLimits(seconds, memory)), MOST_ASKED, hosts=hosts, key=key, open=open
                )
                await Listening(app, lambda: announce(address_of(listening))).serve([listening])
            finally:
                await nursery.stop()

    asyncio.run(run())


def studio(
    theory: str | None,
    facts: Sequence[str],
    *,
    port: int,
    memory: int | None,
    seconds: float | None,
    announce: Announce,
) -> None:
    """Serve the studio over the folder of a theory until a signal comes."""
    project = Project.of(theory, facts)
    token = secrets.token_urlsafe(24)

    async def run() -> None:
        with bound_socket(LOCAL[0], port) as listening:
            nursery = Nursery("studio")
            starting = asyncio.create_task(nursery.start())
            runs = Runs(nursery, project, memory, seconds)
            app = Gate(
                studio_app(project, runs),
                MOST_SAVED,
                MOST_UPLOADED,
                hosts=LOCAL,
                key=token,
                header=TOKEN,
                guarded="/api",
            )
            try:
                address = address_of(listening)
                await Listening(app, lambda: announce(f"{address}/?token={token}")).serve([listening])
            finally:
                await nursery.stop()
                await asyncio.gather(starting, return_exceptions=True)

    asyncio.run(run())
