"""Errors as HTTP: a status and ``{"error": {"message", "where", "hint"}}``.

>>> RefusedError(400, "the body is no JSON").body()
{'error': {'message': 'the body is no JSON', 'where': None, 'hint': ''}}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from herbrand.budget import lacks_memory
from herbrand.errors import BudgetError, HerbrandError
from herbrand.files import no_file_name
from herbrand.serving.request_hints import in_request
from herbrand.visible import visible_lines

BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT = 400, 401, 403, 404, 409
TOO_LARGE, UNKNOWN_FORM, UNPROCESSABLE, LEFT, FAULT, UNAVAILABLE = 413, 415, 422, 499, 500, 503
"""``LEFT``: the client has closed the connection; metrics count it, and nobody reads it."""


class RefusedError(Exception):
    """A refusal: a request gets this error instead of an answer."""

    def __init__(self, status: int, message: str, hint: str = "", where: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.hint, self.where = status, message, hint, where

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "where": self.where, "hint": self.hint}}


def refusal_of(error: HerbrandError, status: int | None = None, command: str = "") -> RefusedError:
    """Refusal for an error of Herbrand, with status 503 if a limit ended the work, else 422.

    ``where`` is ``file:line:column`` of the first mistake that has a place. The messages of several mistakes
    are on lines below each other. ``command``: hints are in the words of a request for it.
    """
    if status is None:
        status = UNAVAILABLE if isinstance(error, BudgetError) else UNPROCESSABLE
    mistakes = error.mistakes
    if command:
        mistakes = tuple(replace(one, hint=in_request(one.hint, command)) for one in mistakes)
    placed = [mistake.span.place for mistake in mistakes if mistake.span is not None]
    if len(mistakes) == 1:
        message, hint = mistakes[0].message, mistakes[0].hint
    else:
        message, hint = str(HerbrandError(mistakes, unlisted=error.unlisted)), ""
    return RefusedError(status, visible_lines(message), visible_lines(hint), placed[0] if placed else None)


def fault_of(error: Exception) -> RefusedError:
    """Refusal for any other error: out of memory, an impossible file name, or a fault of Herbrand."""
    if lacks_memory(error):
        hint = "ask for less, or allow more by memory, up to the server's --memory"
        return RefusedError(UNAVAILABLE, "the work needed more memory than it may use", hint)
    if (unusable := no_file_name(error)) is not None:
        return RefusedError(BAD_REQUEST, unusable)
    message = f"internal error: {type(error).__name__}: {error}"
    return RefusedError(FAULT, message, "this is a fault of herbrand, not of your input")
