"""``herbrand induce``: rules for a predicate, from example worlds."""

from __future__ import annotations

import time
from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.output import Bar, note, write_json, write_text

NOT_PERFECT = 3


def command(
    target: Annotated[str, typer.Option("--target", metavar="PRED", help="What rules are wanted for.")],
    worlds: Annotated[
        str, typer.Option("--worlds", metavar="DIR", help="A folder that holds a folder of facts a world.")
    ],
    theory: Annotated[
        list[str] | None,
        typer.Argument(metavar="[THEORY]...", help="Declarations, and rules that derive more predicates."),
    ] = None,
    facts: options.Facts = None,
    header: options.HasHeader = None,
    budget: Annotated[
        float, typer.Option("--budget", metavar="MINUTES", help="How long training and search may take.")
    ] = 5.0,
    engine: options.EngineName = "nlm",
    seed: options.Seed = 0,
    format: options.OutputFormat = options.Format.table,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", callback=options.writable, help="Write the theory there."
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            callback=options.keepable,
            help="Keep the trained machine there (safetensors).",
        ),
    ] = None,
) -> None:
    """Rules for a predicate, learned from example worlds and checked exactly on each; gives a theory.

    A world is a folder of fact tables, the target's true tuples among them; what is not listed is false.
    Facts given by --facts hold in every world.
    """
    bar = Bar("inducing", began=time.monotonic())
    found = hb.induce(
        hb.read(theory) if theory else None,
        target=target,
        worlds=worlds,
        facts=facts,
        header=None if header is None else header is options.Header.yes,
        budget=budget,
        engine=engine,
        seed=seed,
        watch=bar.show,
    )
    bar.show("induced", 1.0)
    if save is not None:
        found.save(save)
    if output is not None:
        write_text(found.text, output)
    if format is options.Format.json:
        write_json(found.to_json(), None)
    else:
        note(found.title)
        if output is None:
            write_text(found.text, None)
    if not found.perfect:
        note("the rules are not right everywhere; see the errors above")
        raise typer.Exit(NOT_PERFECT)
