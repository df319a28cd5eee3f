"""What users call in Python says what each of its parameters is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import herbrand as hb


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions, the classes and their methods that the package gives."""
    for name in hb.__all__:
        given = getattr(hb, name)
        if inspect.ismodule(given) or (inspect.isclass(given) and issubclass(given, Exception)):
            continue
        yield name, given
        if inspect.isclass(given):
            for own, method in vars(given).items():
                if inspect.isfunction(method) and not own.startswith("_"):
                    yield f"{name}.{own}", method


@pytest.mark.parametrize(("name", "called"), [pytest.param(*one, id=one[0]) for one in public()])
def test_a_docstring_names_each_parameter(name: str, called: Callable[..., Any]) -> None:
    text = inspect.getdoc(called) or ""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    asked = [p.name for p in inspect.signature(called).parameters.values() if p.kind not in kinds]
    missing = [one for one in asked if one != "self" and not re.search(rf"\b{one}\b", text)]
    assert not missing, f"{name} does not say what these are: {missing}"
