"""Bodies of requests as JSON, and errors as responses, for both applications."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from herbrand.errors import HerbrandError, nearest
from herbrand.serving.refusals import (
    BAD_REQUEST,
    LEFT,
    NOT_FOUND,
    UNKNOWN_FORM,
    RefusedError,
    fault_of,
    refusal_of,
)
from herbrand.visible import shortened

JSON = "application/json"
Result = TypeVar("Result")


async def json_of(request: Request) -> Any:
    """Read the body as JSON; an empty one is an object without entries."""
    return parsed(await body_of(request))


async def body_of(request: Request) -> bytes:
    """Read the whole body; refuse a compressed one. A client that leaves before its end is no fault of the
    server."""
    form = request.headers.get("content-encoding", "identity")
    if form != "identity":
        raise RefusedError(
            UNKNOWN_FORM, f"the body is compressed ({shortened(form, 40)})", "send it as it is"
        )
    try:
        return await request.body()
    except ClientDisconnect:
        raise RefusedError(BAD_REQUEST, "the connection ended before the body did") from None


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Result of some work for a request whose body was read. The work is cancelled when the client leaves,
    else it would keep others waiting for an answer that nobody reads."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RefusedError(LEFT, "the connection ended before the answer was there")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def parsed(body: bytes) -> Any:
    """Parse JSON; refuse NaN, infinities, and objects with a name twice."""
    if not body.strip():
        return {}
    try:
        return json.loads(body, parse_constant=_no_number, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            BAD_REQUEST, f"the body is no JSON: {error}", 'such as {"query": ["smokes"]}'
        ) from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"'{name}' stands in it twice")
    return members


def field(body: Any, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
    """Entry of an object, checked to be of a ``kind``; refuse a missing one that has no ``default``."""
    if not isinstance(body, dict):
        raise RefusedError(BAD_REQUEST, "the body is a JSON object")
    value = body.get(name)
    if value is None:
        if default is None:
            raise RefusedError(BAD_REQUEST, f"'{name}' is missing")
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        names = [each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,))]
        words = {"str": "a text", "list": "a list", "dict": "an object", "int": "a whole number"}
        raise RefusedError(BAD_REQUEST, f"'{name}' is {' or '.join(words.get(n, n) for n in names)}")
    return value


def as_json(what: Any, status: int = 200) -> Response:
    """A response of JSON values."""
    body = json.dumps(what, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Response(body, status, media_type=JSON)


def answer_errors(app: FastAPI) -> None:
    """Let an application answer every error in one form. It must have all its routes by then, which hints
    name."""
    paths = list(dict.fromkeys(route.path for route in app.routes if isinstance(route, APIRoute)))

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        return as_json(error.body(), error.status)

    async def wrong(request: Request, error: Exception) -> Response:
        assert isinstance(error, HerbrandError)
        return await refused(request, refusal_of(error, BAD_REQUEST))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.url.path
        message = f"{request.method} {shortened(path, 200)}: {error.detail}"
        hint = ""
        if error.status_code == NOT_FOUND:
            hint = nearest(path[:200], paths) or f"there are {', '.join(paths)}"
        response = as_json(RefusedError(error.status_code, message, hint).body(), error.status_code)
        response.headers.update(error.headers or {})  # such as the allowed methods, where the method is wrong
        return response

    async def odd(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        message = f"'{first['loc'][-1]}' of the address: {first['msg']}"
        return await refused(request, RefusedError(BAD_REQUEST, message))

    async def fault(request: Request, error: Exception) -> Response:
        return await refused(request, fault_of(error))

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(HerbrandError, wrong)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, odd)
    app.add_exception_handler(Exception, fault)
