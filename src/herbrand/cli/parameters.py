"""Parameters of the commands, made from the table of options.

A command's function takes some options as arguments, some in groups, and the rest as keywords; the parser
sees each option of the command as a parameter of its own. Options that were not given are left out of the
keywords, so that each default is defined once, where it is used.

>>> from herbrand.cli.options import Written
>>> @takes("check")
... def command(written: Written, **options: object) -> None:
...     print(written.output, options)
>>> set(inspect.signature(command).parameters) >= {"time_limit", "format", "output"}
True
>>> command(memory="1GB", output=None)
None {'memory': '1GB'}
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer
from typer.main import get_click_type

from herbrand.cli.options import refuse_overwriting
from herbrand.extras import later
from herbrand.options.kinds import File, Flag, Kind, Name, Number, Texts, Whole, texts
from herbrand.options.table import Option, check, options_of

values_of = later("herbrand.engines.registry:values_of")
SHORT = {"output": "-o"}
NAMING = ("engine", "method")
"""Options whose values are names in the table of engines."""
_NUMBER = re.compile(r"\s*[+-]?(inf|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)\s*", re.ASCII | re.IGNORECASE)
Command = Callable[..., None]


def takes(name: str) -> Callable[[Command], Command]:
    """Add the options of command ``name`` to the parameters of a function."""

    def spread(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        known = options_of(name)
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        groups = {p.name: hints[p.name] for p in own if is_dataclass(hints[p.name])}
        arguments = [
            argument
            for p in own
            for argument in (_fields(groups[p.name]) if p.name in groups else [_alone(p, hints[p.name])])
            if argument.name not in known
        ]
        options = [_parameter(name, option) for option in known.values()]

        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            given = {key: value for key, value in given.items() if value is not None and value is not False}
            check(name, given)
            refuse_overwriting(
                (
                    str(given[key])
                    for key, option in known.items()
                    if isinstance(option.kind, File) and key in given
                ),
                _named(given, "theory", "result"),
                _named(given, "facts", "worlds", "held_out"),
            )
            gathered = {
                group: kind(**{f.name: given.pop(f.name) for f in fields(kind) if f.name in given})
                for group, kind in groups.items()
            }
            command(**gathered, **given)

        parameters = sorted([*arguments, *options], key=lambda p: p.default is not Parameter.empty)
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del with_options.__wrapped__  # typer would look through it and see the groups
        return with_options

    return spread


def _named(given: Mapping[str, Any], *names: str) -> list[str]:
    """The texts given for some arguments and options."""
    return [text for name in names if not isinstance(given.get(name), int) for text in texts(given.get(name))]


def _fields(group: type) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])


def _alone(parameter: Parameter, hint: Any) -> Parameter:
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)


def _parameter(command: str, option: Option) -> Parameter:
    """Typer's parameter for an option; values that typer cannot check are checked by the table."""
    kind = option.kind
    names = [option.flag, *([SHORT[option.name]] if option.name in SHORT else [])]
    settings: dict[str, Any] = {"help": option.described}
    if isinstance(kind, Flag):
        return _annotated(option, bool, typer.Option(*names, **settings), False)
    if option.metavar:
        settings["metavar"] = option.metavar
    if isinstance(kind, Name) or option.name in NAMING:
        settings["autocompletion"] = _completed(command, option)
    if isinstance(kind, Number) or (isinstance(kind, Whole) and kind.usage):
        settings["min"], settings["max"] = kind.least, None if isinstance(kind, Whole) else kind.most
    taken = _type_of(kind)
    if taken in (int, float):
        settings["click_type"] = _of_digits(taken, typer.Option(*names, **settings))
    if option.required:
        return _annotated(option, taken, typer.Option(*names, **settings), Parameter.empty)
    return _annotated(option, taken | None, typer.Option(*names, **settings), None)


def _completed(command: str, option: Option) -> Callable[[str], list[str]]:
    """The shell's completion for the value of an option."""

    def offered(incomplete: str) -> list[str]:
        return [name for name in values_of(command, option) if name.startswith(incomplete)]

    return offered


def _of_digits(taken: type, settings: Any) -> Any:
    """Parser of a number that accepts plain digits only; Python's own also reads ``1_0`` as 10."""
    numbers = get_click_type(annotation=taken, parameter_info=settings)
    numbers.name = "whole number" if taken is int else "number"
    read = numbers.convert

    def convert(value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            numbers.fail(f"'{value}' is not a valid {numbers.name}.", param, ctx)
        return read(value, param, ctx)

    numbers.convert = convert
    return numbers


def _type_of(kind: Kind) -> Any:
    """The type that the parser converts a value to."""
    match kind:
        case Whole():
            return int
        case Number():
            return float
        case Texts():
            return list[str]
        case Name(names, usage=True):
            return StrEnum("Name", {name: name for name in names})
    return str


def _annotated(option: Option, taken: Any, settings: Any, default: Any) -> Parameter:
    return Parameter(
        option.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[taken, settings]
    )
