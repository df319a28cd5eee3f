"""One prepared process from which children are forked: a child begins in milliseconds with everything loaded.

The server starts ``python -m herbrand.serving.nursery``, which prepares a *role* (imports, a loaded model) in
one thread and then forks a child for each socket that it is sent. Forking from the server itself would copy
its threads' locks, and starting Python anew would load the model again.

A child ends when its socket closes; all of them end with the nursery, and the nursery with the server, also
if that was killed: its socket closes then.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from herbrand.budget import GUARDS
from herbrand.errors import HerbrandError
from herbrand.serving.frames import ANSWER, ERROR, TASK, Frame, frame, read_frame, receive, send
from herbrand.serving.refusals import UNAVAILABLE, RefusedError, fault_of, refusal_of

ROLES = {
    "service": ("herbrand.serving.service_work", "ServiceRole"),
    "studio": ("herbrand.serving.studio_work", "StudioRole"),
}
"""Module and class of each role, which the nursery imports."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Settings that keep libraries from starting threads before a fork: in a child the threads would be missing,
and their locks be held."""
PR_SET_PDEATHSIG = 1
STACK = 1 << 16
GONE_SECONDS = 10.0
FORK, READY = b"F", b"R"
Emit = Callable[[bytes, Any], None]


class Role(Protocol):
    """A role: what the children of a nursery work on. It is built in the nursery; ``work`` runs in a
    child."""

    def work(self, task: dict[str, Any], emit: Emit) -> Any:
        """Answer a task by JSON values, or by bytes. ``emit`` sends messages before the answer."""
        ...


# In the nursery's process


def main(control: socket.socket) -> None:
    """Prepare the role that the server names, then fork a child for each socket that it sends."""
    _end_with_parent()  # while the role is prepared, nobody reads the socket, which closes with the server
    GUARDS.own_process = True
    first = receive(control)
    if first is None:
        return
    asked = json.loads(first[1])
    module, name = ROLES[asked["role"]]
    try:
        role: Role = getattr(importlib.import_module(module), name)(**asked["settings"])
    except Exception as error:
        send(control, ERROR, _refusal(error))
        return
    send(control, READY, b"")
    children: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda *_: _reap(children))
    try:
        while True:
            asked_for, handles, _, _ = socket.recv_fds(control, 1, 1)
            if not asked_for:
                return
            pid = _forked(role, control, handles[0])
            children.add(pid)
            os.close(handles[0])
            send(control, FORK, str(pid).encode())
    finally:
        for pid in list(children):
            end_process(pid)


def _forked(role: Role, control: socket.socket, handle: int) -> int:
    nursery, pid = os.getpid(), os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        os.setsid()
        _end_with_parent(nursery)
        with socket.socket(fileno=handle) as channel:
            work(role, channel)
        status = 0
    finally:
        # Without the exit handlers and buffers that were copied from the nursery.
        os._exit(status)
    return 0


def work(role: Role, channel: socket.socket) -> None:
    """Do tasks from a socket until it closes."""
    while (message := receive(channel)) is not None:
        _, body = message
        try:
            answer = role.work(json.loads(body), lambda kind, what: send(channel, kind, encoded(what)))
            reply = (ANSWER, answer if isinstance(answer, bytes) else encoded(answer))
        except Exception as error:
            if os.environ.get("HERBRAND_DEBUG") and not isinstance(error, HerbrandError | RefusedError):
                sys.excepthook(type(error), error, error.__traceback__)
            reply = (ERROR, _refusal(error))
        send(channel, *reply)


def encoded(what: Any) -> bytes:
    """Encode values as JSON, as the command line does."""
    return json.dumps(what, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _refusal(error: Exception) -> bytes:
    if isinstance(error, HerbrandError):
        error = refusal_of(error)
    refused = error if isinstance(error, RefusedError) else fault_of(error)
    return encoded({"status": refused.status, **refused.body()})


def _reap(children: set[int]) -> None:
    for pid in list(children):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0]:
                children.discard(pid)


def _end_with_parent(parent: int | None = None) -> None:
    """Ask Linux to kill this process when its parent ends, in whatever way; exit if ``parent`` has ended
    already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent not in (None, os.getppid()):
            os._exit(1)


# In the server's process


@dataclass(eq=False)
class Child:
    """A forked process and its socket, on the server's side."""

    pid: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    tasks: int = field(default=0)

    @property
    def lost(self) -> bool:
        """Whether the child has ended, and all that it sent was read."""
        return self.reader.at_eof()

    async def ask(self, task: dict[str, Any]) -> None:
        """Send a task."""
        self.writer.write(frame(TASK, encoded(task)))
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def next(self) -> Frame | None:
        """Receive the child's next message; ``None`` if it has ended."""
        return await read_frame(self.reader)

    def close(self) -> None:
        """Close the socket, so that the child ends after its task."""
        self.writer.close()

    async def end(self) -> None:
        """Kill the child and what it started, and wait until it is gone, at most ``GONE_SECONDS``."""
        end_process(self.pid)
        self.writer.close()
        for _ in range(int(GONE_SECONDS / 0.005)):
            if not is_alive(self.pid):
                return
            await asyncio.sleep(0.005)


class Nursery:
    """The prepared process, from the server's side."""

    def __init__(self, role: str, **settings: Any) -> None:
        self._asked = {"role": role, "settings": settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = asyncio.Lock()
        self._prepared = asyncio.Event()
        self.stopped = False

    async def start(self) -> None:
        """Start the process and wait until its role is prepared; raise HerbrandError if that fails."""
        try:
            await self._start()
        finally:
            self._prepared.set()  # also on failure: those that wait for a child then try once more

    async def _start(self) -> None:
        if self.stopped:
            raise _error_of(None)
        here, there = socket.socketpair()
        self._process = subprocess.Popen(
            # -P: no module of the working directory may shadow one of ours.
            [sys.executable, "-P", "-m", "herbrand.serving.nursery", str(there.fileno())],
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # an interrupt of the terminal is for the server
        )
        there.close()
        self._control = here
        here.settimeout(None)
        send(here, TASK, encoded(self._asked))
        reply = await asyncio.get_running_loop().run_in_executor(None, receive, here)
        if reply is None or reply[0] != READY:
            await self._end()
            raise _error_of(reply)

    async def fork(self) -> Child:
        """Fork a child, once the role is prepared. A process that was lost is started again: where memory is
        short, the system kills the largest one."""
        await self._prepared.wait()
        forking = asyncio.ensure_future(self._fork())
        try:
            return await asyncio.shield(forking)  # half of an exchange with the process would spoil the next
        except asyncio.CancelledError:
            forking.add_done_callback(_unwanted)
            raise

    async def _fork(self) -> Child:
        async with self._lock:
            child = await self._forked()
            if child is None:
                await self._start_again()
                child = await self._forked()
            if child is None:
                raise RefusedError(UNAVAILABLE, "the server is shutting down")
            return child

    async def _forked(self) -> Child | None:
        here, there = socket.socketpair()
        with there:
            reply = await asyncio.get_running_loop().run_in_executor(None, self._ask_for_fork, there)
        if reply is None:
            here.close()
            return None
        reader, writer = await asyncio.open_connection(sock=here, limit=STACK)
        return Child(int(reply[1]), reader, writer)

    async def _start_again(self) -> None:
        await self._end()
        if self.stopped:
            return
        try:
            await self._start()
        except HerbrandError as error:
            raise refusal_of(error, UNAVAILABLE) from None

    def _ask_for_fork(self, channel: socket.socket) -> Frame | None:
        if self._control is None:
            return None
        try:
            socket.send_fds(self._control, [FORK], [channel.fileno()])
            return receive(self._control)
        except OSError:
            return None

    async def stop(self) -> None:
        """End the process and all its children, for good."""
        self.stopped = True
        self._prepared.set()
        await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None  # only once: later its pid may be another process's
        if process is None:
            return
        control, self._control = self._control, None
        end_process(process.pid)
        if control is not None:
            control.close()
        await asyncio.get_running_loop().run_in_executor(None, process.wait)


def _unwanted(forking: asyncio.Future[Child]) -> None:
    """Close the socket of a child that no request waits for any more, so that it ends."""
    if not forking.cancelled() and forking.exception() is None:
        forking.result().close()


def _error_of(reply: Frame | None) -> Exception:
    if reply is None:
        return HerbrandError("the process that runs the work ended while it was prepared")
    error = json.loads(reply[1])["error"]
    where = f"{error['where']}: " if error["where"] and error["where"] not in error["message"] else ""
    return HerbrandError(where + error["message"], hint=error["hint"])


def end_process(pid: int) -> None:
    """Kill a process and all that it started, also processes in sessions of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # stopped, it starts no more while its descendants are listed
    for each in (*_descendants(pid), pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    """Stop and yield the descendants of a process, as Linux lists them; none on other systems."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for task in tasks:
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGSTOP)
                yield from _descendants(child)
                yield child


def is_alive(pid: int) -> bool:
    """Whether a process exists, and is not merely waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return _is_known(pid) if sys.platform != "linux" else False
    return state not in "ZX"


def _is_known(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(socket.socket(fileno=int(sys.argv[1])))
