"""``herbrand serve`` under load: mixed requests on many connections at once, each answer compared.

    python -m benchmarks serve        (make bench-serve)

``HERBRAND_BENCH_REQUESTS=10000`` says how many. The client runs on the same cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import herbrand as hb

SMOKERS = Path(__file__).parents[1] / "examples" / "smokers"
REQUESTS = int(os.environ.get("HERBRAND_BENCH_REQUESTS", "10000"))
CONNECTIONS = 64
WORKERS = 2
PEOPLE = ("anna", "bob", "edward", "frank", "gary", "helen")
OPEN = ("bob", "frank", "helen")
WRONG: tuple[tuple[bytes, int], ...] = (
    (b'{"query": ["smoks"]}', 422),
    (b'{"query": [', 400),
    (b'{"tolerence": 1}', 400),
    (b'{"given": ["not smokes(\\"anna\\")"]}', 422),
)


@dataclass(frozen=True)
class Request:
    """A call and what must come back: a status, and the answer without its seconds."""

    path: str
    body: bytes
    status: int
    answer: Any = None


def mixed(draw: random.Random, count: int, kinds: int) -> list[Request]:
    """So many requests of so many kinds, a twentieth of them wrong."""
    model = hb.Model(hb.read(SMOKERS / "smokers.hb"), SMOKERS / "facts")
    every = [_one(draw, model) for _ in range(kinds)]
    wrong = [Request("/infer", body, status) for body, status in WRONG]
    return [draw.choice(wrong if draw.random() < 0.05 else every) for _ in range(count)]


def _one(draw: random.Random, model: hb.Model) -> Request:
    chosen = [person for person in OPEN if draw.random() < 0.5]
    given = [f'{draw.choice(["", "not "])}smokes("{person}")' for person in chosen]
    given += [f'cancer("{draw.choice(PEOPLE)}") ~ {draw.randrange(1, 100) / 100}']
    if draw.random() < 0.2:
        atom = f'smokes("{draw.choice([p for p in OPEN if p not in chosen] or ["anna"])}")'
        asked: dict[str, Any] = {"query": atom, "given": given, "top": 3}
        return _right("explain", asked, model.explain(atom, given=given, top=3).to_dict())
    query = [f'{draw.choice(["cancer", "smokes"])}("{draw.choice(PEOPLE)}")']
    asked = {"query": query, "given": given}
    return _right("infer", asked, model.infer(query, given=given).to_dict())


def _right(command: str, asked: dict[str, Any], answer: Any) -> Request:
    return Request(f"/{command}", json.dumps(asked).encode(), 200, _timeless(answer))


def _timeless(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "seconds"}


class Server:
    """The service in a process of its own."""

    def __enter__(self) -> Server:
        command = [sys.executable, "-m", "herbrand", "serve", str(SMOKERS / "smokers.hb")]
        options = ["--facts", str(SMOKERS / "facts"), "--port", "0", "--workers", str(WORKERS)]
        self._process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = next(line for line in self._process.stderr if line.startswith("answering at "))
        self.port = urlsplit(line.split()[2].rstrip(";")).port or 0
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.communicate()


async def asked_all(port: int, requests: Sequence[Request]) -> tuple[list[float], int]:
    """The seconds of each request, and how many answers were wrong."""
    waiting = iter(requests)
    taken: list[float] = []
    wrong = 0

    async def connection() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
            began = time.perf_counter()
            head = f"POST {request.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(request.body)}"
            writer.write(f"{head}\r\n\r\n".encode() + request.body)
            status, body = await _response(reader)
            taken.append(time.perf_counter() - began)
            right = status == request.status
            if right and request.answer is not None:
                right = _timeless(json.loads(body)) == request.answer
            wrong += not right
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return taken, wrong


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    length = next(line for line in lines if line.lower().startswith("content-length:")).split(":")[1]
    return int(lines[0].split()[1]), await reader.readexactly(int(length))


def measured(requests: Sequence[Request], kinds: str) -> str:
    """A row of the table."""
    with Server() as server:
        began = time.perf_counter()
        taken, wrong = asyncio.run(asked_all(server.port, requests))
        whole = time.perf_counter() - began
    half, most = (1000 * quantile(taken, share) for share in (0.5, 0.99))
    rate = f"{len(taken) / whole:.0f}"
    return f"| {kinds} | {len(taken):,} | {CONNECTIONS} | {rate} | {half:.0f} | {most:.0f} | {wrong} |"


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which a share of them lies."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def report() -> str:
    draw = random.Random(23)
    load = os.getloadavg()[0]
    rows = [
        measured(mixed(draw, REQUESTS, 300), "300 kinds, so most are remembered"),
        measured(mixed(draw, REQUESTS // 20, REQUESTS // 20), "hardly two alike, so most are computed"),
    ]
    return "\n".join([HEAD, *rows, "", WHY.format(workers=WORKERS, load=load)])


HEAD = """\
| requests | how many | at once | a second | median (ms) | 99 % within (ms) | wrong |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
WHY = """\
Each request runs `infer` or `explain` over the smokers of the examples with its own evidence; one in twenty
is wrong on purpose. Each answer is compared with that of a model in the client's process. There are
{workers} workers; the client uses the same cores. The machine's load before the run was {load:.1f}; a load
above the number of cores means that other work took a part of them."""


if __name__ == "__main__":
    print(report())
