"""JSON requests as calls of the Python interface, with the same options and the same answers.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse("1.5: rain => wet"))
>>> asked = request_of("infer", {"query": ["wet"], "given": ["rain"]})
>>> round(answered(model, "infer", asked).to_dict()["marginals"][0]["probability"], 3)
0.818
>>> request_of("infer", {"query": ["wet"], "tolerence": 1})
Traceback (most recent call last):
herbrand.errors.UnsupportedError: infer has no option 'tolerence'
  did you mean 'tolerance'?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import herbrand as hb
from herbrand.budget import Budget, budget_of
from herbrand.errors import HerbrandError
from herbrand.options.kinds import texts
from herbrand.options.table import check, options_of, refuse_unknown
from herbrand.serving.refusals import BAD_REQUEST, RefusedError
from herbrand.serving.request_hints import FILES

ASKING = ("infer", "bound", "query", "explain", "check")
"""Commands that query a loaded model and change nothing."""
ONE_QUESTION = {"query": 'friends("anna", x)', "explain": 'smokes("anna")'}
"""Commands that take one question a call, each with an example."""

Request = dict[str, Any]


@dataclass(frozen=True)
class Watching:
    """Callbacks during a call: for notes, for progress with the share done, and for steps of learning."""

    note: Callable[[str], None] = field(default=lambda text: None)
    progress: Callable[[str, float], None] = field(default=lambda text, share: None)
    learned: Callable[[Any], None] = field(default=lambda progress: None)


def request_of(command: str, given: Any) -> Request:
    """Check the options of a request against the table of options; ``None`` leaves an option out.

    Raise :class:`RefusedError` if the body is no object, has not one question where one is due, or names a
    file of the server, and ``HerbrandError`` for options and values that the command does not take.
    """
    if not isinstance(given, dict):
        raise RefusedError(
            BAD_REQUEST, "the request is a JSON object", 'such as {"query": [...], "given": [...]}'
        )
    present = {name: value for name, value in given.items() if value is not None}
    known = options_of(command)
    if command in ONE_QUESTION:
        present["query"] = _one_question(command, present.get("query", ()))
    refuse_unknown(command, [name for name in present if name != "query" or "query" in known])
    for name in FILES:
        if name in present and name in known and present[name] is not False:
            raise RefusedError(
                BAD_REQUEST, f"a request cannot take {known[name].flag}: it is for the command line"
            )
    check(command, present)
    for name in ("query", "given"):
        if name in present and command not in ONE_QUESTION:
            present[name] = list(texts(present[name]))
    if "given" in present:
        present["given"] = list(texts(present["given"]))
    return present


def _one_question(command: str, given: Any) -> str:
    questions = texts(given)
    if len(questions) != 1:
        several = "several go into one request by POST /batch"
        hint = several if questions else f"such as {ONE_QUESTION[command]}"
        raise RefusedError(
            BAD_REQUEST, f"{command} takes one question in 'query', not {len(questions)}", hint
        )
    return questions[0]


def limited(request: Request, memory: int | None, seconds: float | None) -> Budget:
    """Budget of a request: its own limits, and never more than those of the server."""
    own = budget_of(request)
    return Budget(_least(own.memory, memory), _least(own.seconds, seconds))


def seconds_of(request: Request, most: float | None) -> float | None:
    """Seconds that a request may take; ``None`` for no limit."""
    return _least(request.get("time_limit"), most)


def _least(one: Any, other: Any) -> Any:
    limits = [limit for limit in (one, other) if limit is not None and limit != math.inf]
    return min(limits, default=None)


def answered(
    model: hb.Model,
    command: str,
    request: Mapping[str, Any],
    within: Budget | None = None,
    watching: Watching | None = None,
) -> Any:
    """Answer a request by a model; the result has ``to_dict``."""
    heard = Watching() if watching is None else watching
    options = {"within": within, **request}
    match command:
        case "infer":
            return model.infer(note=heard.note, **options)
        case "bound":
            return model.bound(note=heard.note, progress=heard.progress, **options)
        case "query":
            return model.query(options.pop("query"), **options)
        case "explain":
            return model.explain(options.pop("query"), note=heard.note, **options)
        case "check":
            return hb.size_report(model, **options)
        case "sample":
            return model.sample(**options)
        case "compare":
            return hb.compare(model, options.pop("engine", ()), **options)
        case "learn":
            return model.learn(note=heard.note, watch=heard.learned, **options)
    raise HerbrandError(f"there is no command '{command}' to ask a model by")
