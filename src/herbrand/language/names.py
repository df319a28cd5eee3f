"""Names of the language: what is reserved, what must stand in back-quotes, how constants are written.

>>> shown_name("smokes"), shown_name("P"), shown_constant('say "hi"')
('smokes', '`P`', '"say \\\\"hi\\\\""')
"""

from __future__ import annotations

import json
import re

from herbrand.language.syntax import Value

RESERVED = frozenset(
    ["type", "predicate", "hard", "where", "exists", "forall", "and", "or", "xor", "not", "in"]
    + ["true", "false", "P"]
)
_PLAIN = re.compile(r"[^\W\d]\w*")


def is_reserved(name: str) -> bool:
    return name in RESERVED


def shown_name(name: str) -> str:
    """The name as a theory file has it."""
    return name if _PLAIN.fullmatch(name) and name not in RESERVED else f"`{name}`"


def shown_constant(value: Value) -> str:
    """The constant as a theory file has it: quoted text or a number."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def shown_number(number: float) -> str:
    """A weight or a probability, shortest form that reads back to the same float."""
    return repr(float(number))
