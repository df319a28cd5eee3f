"""One engine for first-order logic under uncertainty.

>>> import herbrand as hb
>>> theory = hb.parse("1.5: rain => wet")
>>> round(hb.Model(theory).infer(given=["rain"])["wet"], 3)
0.818

Names are imported when first used, so that ``import herbrand`` costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from herbrand.errors import HerbrandError
from herbrand.extras import imported
from herbrand.language.collection import collector_paused

__version__ = "0.1.0"

if TYPE_CHECKING:
    from herbrand import nn, tasks
    from herbrand.estimator import LinkClassifier
    from herbrand.induction.induce import induce
    from herbrand.induction.mine import mine
    from herbrand.induction.saved_machine import conclude
    from herbrand.language.drawing import drawn as draw
    from herbrand.language.files import formatted, formatted_file, read, written, written_facts
    from herbrand.language.parse import parse_theory as parse
    from herbrand.language.theory import show
    from herbrand.model import Model
    from herbrand.reports.compare import compare
    from herbrand.reports.lint import lint
    from herbrand.reports.score import score_file as score
    from herbrand.reports.sizes import size_report

__all__ = [
    "HerbrandError",
    "LinkClassifier",
    "Model",
    "compare",
    "conclude",
    "draw",
    "formatted",
    "formatted_file",
    "induce",
    "lint",
    "mine",
    "nn",
    "parse",
    "read",
    "score",
    "show",
    "size_report",
    "tasks",
    "written",
    "written_facts",
]

_HOMES = {
    "LinkClassifier": ("herbrand.estimator", "LinkClassifier"),
    "Model": ("herbrand.model", "Model"),
    "parse": ("herbrand.language.parse", "parse_theory"),
    "formatted": ("herbrand.language.files", "formatted"),
    "formatted_file": ("herbrand.language.files", "formatted_file"),
    "read": ("herbrand.language.files", "read"),
    "written_facts": ("herbrand.language.files", "written_facts"),
    "written": ("herbrand.language.files", "written"),
    "compare": ("herbrand.reports.compare", "compare"),
    "lint": ("herbrand.reports.lint", "lint"),
    "score": ("herbrand.reports.score", "score_file"),
    "size_report": ("herbrand.reports.sizes", "size_report"),
    "induce": ("herbrand.induction.induce", "induce"),
    "mine": ("herbrand.induction.mine", "mine"),
    "conclude": ("herbrand.induction.saved_machine", "conclude"),
    "draw": ("herbrand.language.drawing", "drawn"),
    "show": ("herbrand.language.theory", "show"),
}


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext herbrand`` in a notebook: the magics ``%herbrand`` and ``%%herbrand``."""
    imported("herbrand.notebook").load(shell)


_ROOMS = frozenset({"nn", "tasks"})
"""Packages that are reached as attributes."""


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return imported(f"herbrand.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'herbrand' has no attribute '{name}'")
    module, member = _HOMES[name]
    # What is imported stays: looking for garbage in it takes a sixth of torch's import.
    with collector_paused():
        globals()[name] = getattr(imported(module), member)
    return globals()[name]
