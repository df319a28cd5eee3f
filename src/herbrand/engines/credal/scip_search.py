"""A process of its own in which SCIP looks for good points of programs with products.

SCIP is quick at finding points and now and then ends its process. So it runs apart from ours: it is sent
programs, and what it answers is a suggestion, never a proof. If it dies, or does not answer in time, it is
killed, and nothing is lost but the suggestion. One process serves all questions.

    python -m herbrand.engines.credal.scip_search

reads pickled requests from standard input and writes pickled answers, each behind its length in 8 bytes.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import math
import os
import pickle
import selectors
import struct
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np

from herbrand.engines.credal.polynomial import PolynomialProgram

MODULE = "herbrand.engines.credal.scip_search"
GRACE = 3.0
"""Seconds beyond its time limit after which a search is killed."""
STARTING = 20.0
"""Seconds within which a process must have started."""
MOST_MEGABYTES = 2000.0
FEASIBLE = 1e-9
LEAST_SECONDS = 0.05


@cache
def search_installed() -> bool:
    """Whether SCIP can be asked here."""
    return importlib.util.find_spec("pyscipopt") is not None


@dataclass(frozen=True, eq=False)
class Request:
    """The least ``cost @ x`` over a program, to be searched for so many seconds."""

    program: PolynomialProgram
    cost: np.ndarray
    seconds: float


class SearchProcess:
    """The process, started when it is first asked and again after a death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self.command = [sys.executable, "-m", MODULE]

    def best_point(self, request: Request, until: float = math.inf) -> np.ndarray | None:
        """The best point that SCIP found; ``None`` where it found none, died, or was ended at ``until``."""
        try:
            answer = self._asked(request, until)
        except (OSError, EOFError, pickle.UnpicklingError, struct.error):
            self.deaths += 1
            self.close()
            return None
        except BaseException:
            self.close()
            raise
        return answer

    def _asked(self, request: Request, until: float) -> np.ndarray | None:
        started = self._process is not None and self._process.poll() is None
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        _send(process.stdin, request)
        wait = request.seconds + GRACE + (0.0 if started else STARTING)
        return _received(process.stdout, min(time.monotonic() + wait, until))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,  # an interrupt of the terminal is for us to pass on
            )
            atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        atexit.unregister(self.close)
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:
                        continue  # what was not yet written to a dead process


def _send(stream: BinaryIO | Any, message: object) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _received(stream: Any, until: float) -> Any:
    """The next message; ``EOFError`` where none comes in time."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        data = b""
        while len(data) < 8 or len(data) < 8 + struct.unpack("<Q", data[:8])[0]:
            if not selector.select(max(0.0, until - time.monotonic())):
                raise EOFError
            more = os.read(stream.fileno(), 1 << 16)
            if not more:
                raise EOFError
            data += more
    return pickle.loads(data[8:])


# In the process


def serve() -> None:
    """Answer requests until standard input ends."""
    answers, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    while head := sys.stdin.buffer.read(8):
        request: Request = pickle.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))
        _send(answers, searched(request))


def searched(request: Request) -> np.ndarray | None:
    """Ask SCIP; the program is first put in units of its ranges, for its tolerances are absolute."""
    program = request.program
    unit = np.where(program.upper > 0, program.upper, 1.0)
    model = _model(program, request.cost, unit)
    model[0].setParam("limits/time", max(request.seconds, LEAST_SECONDS))
    try:
        model[0].optimize()
    except Exception:  # numerical troubles; pyscipopt has no class for them
        return None
    if not model[0].getNSols():
        return None
    best = model[0].getBestSol()
    return np.array([model[0].getSolVal(best, variable) for variable in model[1]]) * unit


def _model(program: PolynomialProgram, cost: np.ndarray, unit: np.ndarray) -> tuple[Any, list[Any]]:
    """The program in SCIP's terms, and its variables there."""
    scip = _scip()
    model = scip.Model()
    model.hideOutput()
    for name, value in (("limits/memory", MOST_MEGABYTES), ("numerics/feastol", FEASIBLE)):
        model.setParam(name, value)
    ends = zip((program.lower / unit).tolist(), (program.upper / unit).tolist(), strict=True)
    made = [model.addVar(lb=low, ub=high if math.isfinite(high) else None) for low, high in ends]
    rows = program.rows
    for row, (low, high) in enumerate(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    ):
        inside = slice(rows.indptr[row], rows.indptr[row + 1])
        factors = rows.data[inside] * unit[rows.indices[inside]]
        weight = np.abs(factors).max(initial=0.0) or 1.0
        terms = zip((factors / weight).tolist(), rows.indices[inside].tolist(), strict=True)
        total = scip.quicksum(factor * made[variable] for factor, variable in terms)
        if low == high:
            model.addCons(total == low / weight)
            continue
        if math.isfinite(low):
            model.addCons(total >= low / weight)
        if math.isfinite(high):
            model.addCons(total <= high / weight)
    for result, left, right in program.products.tolist():
        factor = float(unit[left] * unit[right] / unit[result])
        model.addCons(made[result] == factor * made[left] * made[right])
    costs = cost * unit
    costs = costs / (np.abs(costs).max(initial=0.0) or 1.0)
    named = np.flatnonzero(costs).tolist()
    model.setObjective(
        scip.quicksum(float(costs[variable]) * made[variable] for variable in named), "minimize"
    )
    return model, made


def _scip() -> Any:
    """The package, which is optional, and slow to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pyscipopt")


if __name__ == "__main__":
    serve()
