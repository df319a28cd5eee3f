"""The application of ``herbrand serve``: questions to one loaded model, in JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

import herbrand
from herbrand.errors import HerbrandError
from herbrand.serving.bodies import JSON, answer_errors, as_json, json_of, while_connected
from herbrand.serving.gates import STYLED_POLICY
from herbrand.serving.json_requests import ASKING, request_of, seconds_of
from herbrand.serving.metrics import Metrics
from herbrand.serving.nursery import encoded
from herbrand.serving.pool import Pool
from herbrand.serving.refusals import BAD_REQUEST, LEFT, RefusedError, refusal_of
from herbrand.serving.request_hints import refuse_options_of_start
from herbrand.serving.schema import SCRIPT, page, schema_of

MOST_IN_BATCH = 1_000
UNSETTLED = b'"converged": false'
"""Bytes by which an answer is recognised that may get better: a time limit can have cut it, so it is not
cached. Inside a JSON text their quotes would be escaped."""


@dataclass(frozen=True)
class RequestLimits:
    """Limits of every request: seconds of work, and bytes beside the model; ``kept``: most answers in the
    cache."""

    seconds: float | None
    memory: int | None = None
    kept: int = 1_000


class Answers:
    """Answers of the pool, with a cache of the latest: equal requests have equal answers, as seeds are
    given."""

    def __init__(self, pool: Pool, limits: RequestLimits, metrics: Metrics) -> None:
        self._pool, self._limits, self._metrics = pool, limits, metrics
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    async def answer(self, command: str, given: Any) -> bytes:
        """Answer a request as JSON, from the pool or from the cache."""
        began = time.perf_counter()
        status = 500
        try:
            reply = await self._answer(command, given)
            status = 200
        except RefusedError as refused:
            status = refused.status
            raise
        except asyncio.CancelledError:
            status = LEFT
            raise
        finally:
            self._metrics.answered(command, status, time.perf_counter() - began)
        return reply

    async def _answer(self, command: str, given: Any) -> bytes:
        try:
            if isinstance(given, dict):
                refuse_options_of_start(command, given)
            asked = request_of(command, given)
        except HerbrandError as error:
            raise refusal_of(error, BAD_REQUEST, command) from None
        task = {"command": command, "asked": asked}
        key = hashlib.sha256(encoded(task)).digest()  # a thousand long questions would fill the memory
        if key in self._kept:
            self._kept.move_to_end(key)
            self._metrics.remembered += 1
            return self._kept[key]
        reply = await self._pool.answer(task, seconds_of(asked, self._limits.seconds))
        if self._limits.kept and len(reply) <= self._metrics.most_remembered_bytes and UNSETTLED not in reply:
            self._kept[key] = reply
            if len(self._kept) > self._limits.kept:
                self._kept.popitem(last=False)
        return reply


def service(pool: Pool, limits: RequestLimits) -> FastAPI:
    """Build the application; :class:`~herbrand.serving.gates.Gate` goes around it."""
    app = FastAPI(
        title="Herbrand",
        version=herbrand.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # behind a proxy it would lead to an address that only the proxy knows
    )
    metrics = Metrics()
    answers = Answers(pool, limits, metrics)
    schema = encoded(schema_of())

    def add(path: str, endpoint: Callable[..., Any], *methods: str) -> None:
        app.add_api_route(path, endpoint, methods=list(methods or ("GET", "HEAD")), response_model=None)

    async def asked(request: Request, command: str) -> Response:
        given = await json_of(request)
        return Response(await while_connected(request, answers.answer(command, given)), media_type=JSON)

    async def batch(request: Request) -> Response:
        requests = _requests_in(await json_of(request))
        return Response(await while_connected(request, _batch(answers, requests, pool.size)), media_type=JSON)

    async def health() -> Response:
        alive = pool.alive > 0
        health = {"status": "ok" if alive else "starting", "workers": pool.alive, "busy": pool.busy}
        return as_json(health | {"version": herbrand.__version__}, 200 if alive else 503)

    async def measured() -> Response:
        return Response(metrics.text(pool), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def described() -> Response:
        return Response(schema, media_type=JSON)

    async def shown() -> Response:
        return HTMLResponse(page(), headers={"content-security-policy": STYLED_POLICY})

    async def script() -> Response:
        return Response(SCRIPT, media_type="text/javascript")

    for command in ASKING:
        add(f"/{command}", partial(_asking, asked, command), "POST")
    add("/batch", batch, "POST")
    add("/health", health)
    add("/metrics", measured)
    add("/openapi.json", described)
    add("/docs", shown)
    add("/docs.js", script)
    answer_errors(app)
    return app


async def _asking(asked: Callable[..., Any], command: str, request: Request) -> Response:
    return await asked(request, command)


def _requests_in(body: Any) -> list[Any]:
    requests = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(requests, list):
        hint = 'such as {"requests": [{"command": "infer", "query": ["smokes"]}]}'
        raise RefusedError(BAD_REQUEST, "a batch is an object with a list of 'requests'", hint)
    if len(requests) > MOST_IN_BATCH:
        message = f"a batch has at most {MOST_IN_BATCH:,} requests, not {len(requests):,}"
        raise RefusedError(BAD_REQUEST, message, "send several batches")
    return requests


async def _batch(answers: Answers, requests: list[Any], at_once: int) -> bytes:
    turns = asyncio.Semaphore(at_once)  # else a single question would wait behind a whole batch
    parts = await asyncio.gather(*(_part(answers, each, turns) for each in requests))
    return b'{"answers":[' + b",".join(parts) + b"]}"


async def _part(answers: Answers, given: Any, turns: asyncio.Semaphore) -> bytes:
    """Answer one request of a batch; an error becomes its answer, and the others are answered
    nevertheless."""
    try:
        if not isinstance(given, dict) or given.get("command") not in ASKING:
            command = given.get("command") if isinstance(given, dict) else given
            hint = f"one of {', '.join(ASKING)}"
            raise RefusedError(BAD_REQUEST, f"there is no command {json.dumps(command)[:60]} to batch", hint)
        own = {name: value for name, value in given.items() if name != "command"}
        async with turns:
            return await answers.answer(given["command"], own)
    except RefusedError as refused:
        return encoded({"status": refused.status, **refused.body()})
