"""``herbrand serve``: answers about one loaded model over HTTP."""

from __future__ import annotations

import os
from typing import Any

from herbrand.budget import bytes_of
from herbrand.cli.opening import has_header
from herbrand.cli.options import Theories
from herbrand.cli.output import note
from herbrand.cli.parameters import takes
from herbrand.errors import HerbrandError
from herbrand.extras import imported

KEY = "HERBRAND_KEY"
THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
PORT = 8080
SECONDS = 30.0


@takes("serve")
def command(
    theory: Theories,
    facts: list[str] | None = None,
    dialect: str | None = None,
    open: list[str] | None = None,
    closed: list[str] | None = None,
    header: str | None = None,
    ignore: list[str] | None = None,
    host: str = THIS_MACHINE[0],
    port: int = PORT,
    key: str | None = None,
    workers: int | None = None,
    memory: str | None = None,
    time_limit: float = SECONDS,
) -> None:
    """Answer questions about one loaded model by JSON over HTTP: herbrand serve smokers.hb --facts facts

    POST /infer, /bound, /query, /explain, /check and /batch take what the commands take; GET /docs is a page.
    """
    key = _checked(os.environ.get(KEY) or None if key is None else key)
    if host not in THIS_MACHINE and key is None:
        raise HerbrandError(
            f"whoever reaches {host} could use this service",
            hint=f"give a key: --key KEY, or {KEY} in the environment; or listen at {THIS_MACHINE[0]} only",
        )
    model: dict[str, Any] = {
        "theory": theory,
        "dialect": dialect,
        "facts": facts,
        "open": open or (),
        "closed": closed or (),
        "header": has_header(header),
        "ignore": ignore or (),
    }
    imported("herbrand.serving.servers").serve(
        model,
        host=host,
        port=port,
        key=key,
        workers=workers or os.cpu_count() or 1,
        memory=None if memory is None else bytes_of(memory),
        seconds=time_limit,
        announce=lambda address: note(f"answering at {address}; {address}/docs is a page, Ctrl-C ends it"),
    )


def _checked(key: str | None) -> str | None:
    """The key; raises an error if it cannot be sent in an HTTP header."""
    if key is None or (key and key.isascii() and key.isprintable() and " " not in key):
        return key
    raise HerbrandError(
        "the key is empty, or has blanks or letters that no header carries",
        hint=f"take printable ASCII for --key, or for {KEY} in the environment",
    )
