"""Options that belong together, said once as a frozen dataclass and taken by a command as one argument.

A command's function asks for a group by its type; :func:`spread` shows typer each field of the group as an
option of its own, and gathers them again when the command is called.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Place:
...     city: str = "Jena"
>>> @spread
... def command(place: Place, times: int = 1) -> None:
...     print(place.city * times)
>>> list(inspect.signature(command).parameters)
['city', 'times']
>>> command(city="Ulm", times=2)
UlmUlm
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every group among its parameters replaced by the group's fields."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    groups = {name: hints[name] for name in signature.parameters if is_dataclass(hints[name])}
    parameters = [
        shown
        for name, parameter in signature.parameters.items()
        for shown in (_fields(groups[name]) if name in groups else [_alone(parameter, hints[name])])
    ]
    required = [parameter for parameter in parameters if parameter.default is Parameter.empty]
    optional = [parameter for parameter in parameters if parameter.default is not Parameter.empty]

    @functools.wraps(command)
    def spread_out(**given: Any) -> None:
        gathered = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group) if f.name in given})
            for name, group in groups.items()
        }
        command(**gathered, **given)

    spread_out.__signature__ = inspect.Signature([*required, *optional])  # type: ignore[attr-defined]
    spread_out.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del spread_out.__wrapped__  # typer would look through it and see the groups again
    return spread_out


def _fields(group: type) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])


def _alone(parameter: Parameter, hint: Any) -> Parameter:
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)
