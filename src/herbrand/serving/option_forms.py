"""The table of options in a form for programs: as forms for the studio, as schemas for the service.

>>> [each["name"] for each in forms("bound")][:2]
['facts', 'on']
>>> schema("infer")["properties"]["damping"]["exclusiveMaximum"]
1
"""

from __future__ import annotations

from typing import Any

from herbrand.engines.registry import values_of
from herbrand.options.kinds import Amount, Depth, File, Flag, Kind, Name, Number, Texts, Whole
from herbrand.options.table import Option, options_of
from herbrand.serving.request_hints import takes

TYPES: dict[type[Any], str] = {
    Whole: "whole",
    Number: "number",
    Name: "name",
    Depth: "depth",
    Amount: "amount",
    Flag: "flag",
    Texts: "texts",
    File: "file",
}


def forms(command: str) -> list[dict[str, Any]]:
    """Options of a command, each with what a form needs."""
    return [_form(command, option) for option in options_of(command).values()]


def _form(command: str, option: Option) -> dict[str, Any]:
    kind: Any = option.kind
    form = {
        "name": option.name,
        "flag": option.flag,
        "type": TYPES.get(type(kind), "text"),
        "choices": list(values_of(command, option)),
        "help": option.help,
        "engines": list(option.used_by),
        "default": option.default or None,
        "taken_by": option.taken_by,
        "required": option.required,
    }
    return form | {
        end: getattr(kind, end) for end in ("least", "most", "above", "below") if hasattr(kind, end)
    }


def schema(command: str) -> dict[str, Any]:
    """The JSON schema of a request."""
    options = (option for option in options_of(command).values() if takes(command, option.name))
    properties = {
        option.name: _property(option.kind) | {"description": option.described} for option in options
    }
    if command in ("query", "explain"):
        properties["query"] = _texts() | {"description": "One question."}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(kind: Kind) -> dict[str, Any]:
    match kind:
        case Whole(least, most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case Number(least, most, above, below):
            ends = {"minimum": least, "maximum": most, "exclusiveMinimum": above, "exclusiveMaximum": below}
            return {"type": "number", **{name: end for name, end in ends.items() if end is not None}}
        case Name(names):
            return {"type": "string", "enum": list(names)}
        case Flag():
            return {"type": "boolean"}
        case Texts():
            return _texts()
        case Depth() | Amount():
            return {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}
    return {"type": "string"}


def _texts() -> dict[str, Any]:
    return {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
