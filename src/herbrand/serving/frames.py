"""Messages between the server and its child processes: a kind, a length, and bytes.

>>> import socket
>>> here, there = socket.socketpair()
>>> send(here, b"T", b"work")
>>> receive(there)
(b'T', b'work')
"""

from __future__ import annotations

import asyncio
import socket
import struct

HEAD = struct.Struct("<cQ")
TASK, ANSWER, ERROR, EVENT = b"T", b"A", b"E", b"V"
Frame = tuple[bytes, bytes]


def send(channel: socket.socket, kind: bytes, body: bytes) -> None:
    """Send one message from a child process."""
    channel.sendall(HEAD.pack(kind, len(body)) + body)


def receive(channel: socket.socket) -> Frame | None:
    """Receive the next message; ``None`` if the other side has closed."""
    head = _exactly(channel, HEAD.size)
    if head is None:
        return None
    kind, length = HEAD.unpack(head)
    body = _exactly(channel, length)
    return None if body is None else (kind, body)


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = channel.recv(min(length - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


async def read_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Read the next message on the server's side; ``None`` if the child has ended."""
    try:
        kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
        return kind, await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def frame(kind: bytes, body: bytes) -> bytes:
    """Encode a message as the server writes it."""
    return HEAD.pack(kind, len(body)) + body
