"""Checks of every request before the application sees it: host, key, and size of the body.

They are plain ASGI, as each layer of Starlette's middleware costs as much as a small query.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from herbrand.serving.refusals import (
    BAD_REQUEST,
    FORBIDDEN,
    TOO_LARGE,
    UNAUTHORIZED,
    UNAVAILABLE,
    RefusedError,
)

LOCAL = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy: nothing is loaded from other hosts, and scripts and styles are in files. Styles of
single elements are allowed, as a browser itself writes them where a coloured text is replaced in an
editor."""
STYLED_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
"""Content security policy of a page of one file, which contains its styles."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
BODY_SECONDS = 60.0
"""Seconds in which a body must arrive: a sender that stalls would keep its connection for ever."""
DROPPED_BYTES, DROPPED_SECONDS = 64 * 2**20, 10.0
"""Bytes of a refused body that are still read, and for how many seconds, so that its sender gets to read the
refusal."""


@dataclass(frozen=True)
class Gate:
    """Checks around an application. ``hosts``: names by which the server may be called, ``None`` for any.
    ``key``: required for ``guarded`` paths, except those in ``open``; it is sent as a bearer token, or with
    ``header`` in that header or as ``token`` in the query. ``body``: most bytes of a body, ``uploads``: of an
    upload."""

    app: Any
    body: int
    uploads: int = 0
    hosts: Collection[str] | None = None
    key: str | None = None
    header: str = ""
    guarded: str = "/"
    open: Collection[str] = ()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        begun = too_large = False

        async def with_headers(message: Any) -> None:
            nonlocal begun, too_large
            if message["type"] == "http.response.start":
                begun = True
                present = {name for name, _ in message["headers"]}
                added = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in present]
                too_large = message["status"] == TOO_LARGE
                if too_large:  # else the rest of the body would be read to its end
                    added.append((b"connection", b"close"))
                message = {**message, "headers": [*message["headers"], *added]}
            elif too_large and not message.get("more_body"):
                await send({**message, "more_body": True})
                await _dropped(unread)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        unread = receive
        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            self._check_host(headers)
            self._check_key(scope, headers)
            most = self.uploads if scope["path"] == "/api/upload" else self.body
            receive = _Counted(receive, most, headers)
            await self.app(scope, receive, with_headers)
        except RefusedError as refused:
            await respond(refused, with_headers)
        except asyncio.CancelledError:  # the server is shutting down
            if not begun:
                await respond(RefusedError(UNAVAILABLE, "the server is shutting down"), with_headers)
            else:
                await send({"type": "http.response.body", "body": b""})

    def _check_host(self, headers: dict[bytes, str]) -> None:
        if self.hosts is None:
            return
        host = _name_in(f"//{headers.get(b'host', '')}")
        origin = headers.get(b"origin")
        if host not in self.hosts:
            named = "the request names no host" if host is None else f"this server is not called '{host}'"
            raise RefusedError(BAD_REQUEST, named, "use the address it printed")
        if origin not in (None, "null") and _name_in(origin or "") not in self.hosts:
            raise RefusedError(FORBIDDEN, "pages of other places may not ask this server")

    def _check_key(self, scope: Any, headers: dict[bytes, str]) -> None:
        if self.key is None or not scope["path"].startswith(self.guarded) or scope["path"] in self.open:
            return
        given = headers.get(self.header.lower().encode(), "") if self.header else ""
        if not given:
            kind, _, token = headers.get(b"authorization", "").partition(" ")
            given = token.strip() if kind.lower() == "bearer" else ""
        if not given and self.header:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # Its time does not depend on where a wrong key differs, so that no key is guessed piece by piece.
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.key.encode()):
            hint = f"send the header {self.header}" if self.header else "send Authorization: Bearer KEY"
            raise RefusedError(UNAUTHORIZED, "the key is missing or wrong", hint)


def _name_in(address: str) -> str | None:
    """Host in an address; ``None`` if it is no address."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


class _Counted:
    """Receiver of a body that refuses it once it is too large, whatever its header claims, or too slow."""

    def __init__(self, receive: Any, most: int, headers: dict[bytes, str]) -> None:
        self._receive, self._most, self._seen = receive, most, 0
        self._whole = False
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        length = headers.get(b"content-length", "0")
        if length.isdigit() and int(length[:20]) > most:
            raise self._refusal()

    async def __call__(self) -> Any:
        message = await self._message()
        if message["type"] == "http.request":
            self._seen += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._seen > self._most:
                raise self._refusal()
        return message

    async def _message(self) -> Any:
        """Receive the next part of the body. After the last one, a disconnection is waited for without a time
        limit."""
        try:
            async with asyncio.timeout_at(None if self._whole else self._until):
                return await self._receive()
        except TimeoutError:
            message = f"the body did not come within {BODY_SECONDS:g} s"
            raise RefusedError(BAD_REQUEST, message, "send it at once") from None

    def _refusal(self) -> RefusedError:
        return RefusedError(TOO_LARGE, f"the body has more than {self._most:,} bytes", "send less at a time")


async def _dropped(receive: Any) -> None:
    """Read and drop more of a refused body: if a connection closes with bytes unread, the system resets it,
    and the client may lose the answer before reading it."""
    seen = 0
    try:
        async with asyncio.timeout(DROPPED_SECONDS):
            while seen < DROPPED_BYTES:
                message = await receive()
                seen += len(message.get("body", b""))
                if not message.get("more_body"):  # the end, or the client has left
                    return
    except TimeoutError:
        return


async def respond(refused: RefusedError, send: Any) -> None:
    """Send an error as the whole response."""
    body = json.dumps(refused.body(), ensure_ascii=False).encode("utf-8", "replace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.status == UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
