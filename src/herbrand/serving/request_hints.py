"""Hints of errors in the words of a request: names of its JSON object, not flags of the command line.

>>> in_request("allow more by --time-limit", "infer")
"allow more by time_limit, up to the server's --time-limit"
>>> in_request("leave out --clip, or --engine circuit takes it", "infer")
'leave out clip, or engine circuit takes it'
>>> in_request("leave them out by --ignore weights", "bound")
'leave them out by --ignore weights; herbrand serve takes --ignore when it starts, a request does not'
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from herbrand.errors import UnsupportedError
from herbrand.options.table import options_of

FILES = ("save", "resume")
"""Options that name files on the server."""
LIMITS = ("memory", "time_limit")
"""Options of a request that those of the server bound."""
_FLAG = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")


def in_request(hint: str, command: str) -> str:
    """The hint with the names that a request has for its options; it says who takes other options."""
    names = dict.fromkeys(map(_name, _FLAG.finditer(hint)))
    taken = [name for name in names if takes(command, name)]
    renamed = _FLAG.sub(lambda flag: _name(flag) if _name(flag) in taken else flag[0], hint)
    return renamed + "".join(_remarks(names, taken))


def takes(command: str, name: str) -> bool:
    """Whether a request for a command has an option of this name."""
    option = options_of(command).get(name)
    return option is not None and option.taken_by == "call" and name not in FILES


def refuse_options_of_start(command: str, given: Iterable[str]) -> None:
    """Raise an error for the first option that only the server takes, when it starts."""
    for name in given:
        if name in _AT_START and not takes(command, name):
            hint = "herbrand serve takes it when it starts"
            raise UnsupportedError(f"{command} has no option '{name}'", hint=hint)


_AT_START = options_of("serve")


def _name(flag: re.Match[str]) -> str:
    return flag[1].replace("-", "_")


def _remarks(names: Iterable[str], taken: Collection[str]) -> Iterator[str]:
    limits = [_AT_START[name].flag for name in LIMITS if name in taken]
    if limits:
        yield f", up to the server's {' and '.join(limits)}"
    others = [_AT_START[name].flag for name in names if name not in taken and name in _AT_START]
    if others:
        yield f"; herbrand serve takes {' and '.join(others)} when it starts, a request does not"
