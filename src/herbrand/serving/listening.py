"""An HTTP server on a socket of this machine, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from herbrand.errors import HerbrandError

BACKLOG = 2048
GRACEFUL_SECONDS, CUT_SECONDS = 1, 10
"""Seconds that requests under way may go on at shutdown, and that their refusals may take to be sent."""


def bound_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to listen on; port 0 takes a free one.

    The socket names its protocol: else asyncio leaves Nagle's algorithm on for its connections, and the
    second part of each answer waits 40 ms for the acknowledgement of the first.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = addresses[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "name another port: --port 0 takes a free one"
        if isinstance(error, socket.gaierror | UnicodeError):
            hint = "name an address of this machine: --host"
        raise HerbrandError(f"cannot listen on {host}:{port}: {reason}", hint=hint) from None
    listening.set_inheritable(False)
    return listening


def address_of(listening: socket.socket) -> str:
    """URL of a socket, for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Listening(uvicorn.Server):
    """A server that announces itself once it listens, and that signals end with status 0."""

    def __init__(self, app: Any, announce: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="error",  # its warnings are of what others send, and advise on packages
                access_log=False,
                lifespan="off",
                ws="none",
                backlog=BACKLOG,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACEFUL_SECONDS + CUT_SECONDS,
            )
        )
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as uvicorn does, but cancel requests under way before uvicorn would log them as
        errors."""
        cutting = asyncio.get_running_loop().call_later(GRACEFUL_SECONDS, self._cut)
        await super().shutdown(sockets)
        cutting.cancel()

    def _cut(self) -> None:
        for task in self.server_state.tasks:
            task.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture signals as uvicorn does, but do not raise a handled one again."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
