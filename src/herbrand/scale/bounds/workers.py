"""Worker processes for record batches, each batch processed by one of them; one that dies is replaced.

A worker is a new Python process that reads batches from its standard input and writes a function's result for
each to its standard output. So nothing is pickled, nothing of this process is copied, and a script needs no
guard around its main part. A batch whose worker was killed is given to another one.

>>> with Workers("herbrand.scale.bounds.workers:echoed", 1) as workers:
...     [batch.to_pylist() for batch in workers.worked([pa.RecordBatch.from_pydict({"a": [1, 2]})])]
[[{'a': 1}, {'a': 2}]]
"""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import IO, Self

import pyarrow as pa

from herbrand.errors import BudgetError, HerbrandError

Work = Callable[[pa.RecordBatch], pa.RecordBatch]
MOST_DEATHS = 4
"""Number of workers that die one after another on a batch before it is given up."""
PROGRAM = "from herbrand.scale.bounds.workers import serve; serve()"


class Workers:
    """Pool of workers; ``function``, named as ``module:name``, maps a record batch to a record batch."""

    def __init__(self, function: str, count: int) -> None:
        self.function = function
        self.count = count
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: set[subprocess.Popen[bytes]] = set()
        self._threads = ThreadPoolExecutor(count)
        self._closed = False

    @property
    def processes(self) -> list[int]:
        """Process numbers of the workers that are alive."""
        return [process.pid for process in self._all if process.poll() is None]

    def worked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the function's result for each batch, in order; batches are read ahead, one for each
        worker."""
        waiting: list[Future[pa.RecordBatch]] = []
        for batch in batches:
            waiting.append(self._threads.submit(self._work, batch))
            if len(waiting) > self.count:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()

    def _work(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for _ in range(MOST_DEATHS):
            process = self._one()
            try:
                reply = _asked(process, batch)
            except (OSError, EOFError, pa.ArrowException):
                self._end(process)
                if self._closed:
                    break
                continue
            self._idle.put(process)
            if reply.schema.names == [COMPLAINT]:
                raise HerbrandError(f"a worker failed: {reply[COMPLAINT][0].as_py()}")
            return reply
        raise BudgetError(
            f"{MOST_DEATHS} worker processes died one after another over the same part",
            hint="most likely memory ran out; what was finished stands, and --resume goes on from there",
        )

    def _one(self) -> subprocess.Popen[bytes]:
        """An idle worker, or a new one; there are never more than threads."""
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        # There is a worker for each processor, so more threads in a worker would only compete.
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self.function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._all.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        self._all.discard(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for process in list(self._all):
            self._end(process)
        self._threads.shutdown(wait=True, cancel_futures=True)


COMPLAINT = "complaint"


def serve() -> None:
    """Process batches of the parent process until its end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    module, _, name = sys.argv[1].partition(":")
    function: Work = getattr(importlib.import_module(module), name)
    into, out = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write among the answers
    while (batch := _read(into)) is not None:
        try:
            reply = function(batch)
        except Exception as error:
            reply = pa.RecordBatch.from_pydict({COMPLAINT: [f"{type(error).__name__}: {error}"]})
        _write(out, reply)


def echoed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch unchanged, for tests of workers."""
    return batch


def _asked(process: subprocess.Popen[bytes], batch: pa.RecordBatch) -> pa.RecordBatch:
    assert process.stdin is not None and process.stdout is not None
    _write(process.stdin, batch)
    reply = _read(process.stdout)
    if reply is None:
        raise EOFError
    return reply


def _write(pipe: IO[bytes], batch: pa.RecordBatch) -> None:
    """Write one batch as an Arrow stream, preceded by its length."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, batch.schema) as stream:
        stream.write_batch(batch)
    data = written.getvalue()
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> pa.RecordBatch | None:
    """The next batch; ``None`` at the end."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    if len(data) < size:
        return None
    return next(iter(pa.ipc.open_stream(data)))
