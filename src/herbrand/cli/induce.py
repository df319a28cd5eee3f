"""``herbrand induce``: rules for a predicate, from example worlds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

import herbrand as hb
from herbrand.cli.opening import has_header
from herbrand.cli.options import Format, refuse_no_theory
from herbrand.cli.output import Bar, note, write_json, write_text
from herbrand.cli.parameters import takes
from herbrand.errors import UnsupportedError
from herbrand.induction.asked import wants_worlds

if TYPE_CHECKING:
    from herbrand.language.theory import Theory

NOT_PERFECT = 3


@takes("induce")
def command(
    theory: Annotated[
        list[str] | None,
        typer.Argument(metavar="[THEORY]...", help="Declarations, and rules that derive more predicates."),
    ] = None,
    header: str | None = None,
    format: str = Format.table,
    output: str | None = None,
    save: str | None = None,
    **options: Any,
) -> None:
    """Rules for a predicate, learned from example worlds and checked exactly on each; gives a theory.

    A world is a folder of fact tables, the target's true tuples among them; what is not listed is false.
    Facts given by --facts hold in every world. Without --worlds, weighted rules of the one large world in
    --facts are mined, for each of its relations or for --target.
    """
    refuse_no_theory(output)
    bar = Bar("inducing", began=time.monotonic())
    given = hb.read(theory) if theory else None
    options = {name: value for name, value in options.items() if value is not None}
    if not wants_worlds([*options, *(["save"] if save is not None else [])]):
        _mine(given, bar, header, format, output, options)
        return
    if save is not None and options.get("engine") == "search":
        raise UnsupportedError("--engine search trains no machine to save", hint="--engine nlm trains one")
    result = hb.induce(given, header=has_header(header), watch=bar.show, note=note, **options)
    bar.show("induced", 1.0)
    if output is not None:
        write_text(result.text, output)
    if format == Format.json:
        write_json(result.to_json(), None)
    else:
        note(result.title)
        for report in result.reports:
            note(report.text)
        if output is None:
            write_text(result.text, None)
    if save is not None and result.machine is None:
        note(f"no machine was trained, so '{save}' is not written; --engine nlm trains one")
    elif save is not None:
        result.save(save)
    if not result.perfect:
        note("the rules are not right everywhere; see the errors above")
        raise typer.Exit(NOT_PERFECT)


def _mine(
    theory: Theory | None,
    bar: Bar,
    header: str | None,
    format: str,
    output: str | None,
    options: dict[str, Any],
) -> None:
    result = hb.mine(theory, header=has_header(header), watch=bar.show, note=note, **options)
    bar.show("mined", 1.0)
    if output is not None:
        write_text(result.text, output)
    if format == Format.json:
        write_json(result.to_json(), None)
        return
    note(result.title)
    note(result.report)
    if output is None:
        write_text(result.text, None)
