"""``herbrand learn``: weights for the statements, rules and facts that are to be learned."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import open_model
from herbrand.cli.output import Bar, leave_unconverged, note, write_result, write_text
from herbrand.cli.tables import sheet_table

if TYPE_CHECKING:
    from herbrand.learning.settings import Progress


@spread
def command(
    opened: options.Opened,
    limited: options.Limited,
    format: options.OutputFormat = options.Format.table,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            callback=options.writable,
            help="Write the learned theory there.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="pseudo-likelihood, layers, distillation or proof."),
    ] = "pseudo-likelihood",
    target: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="PRED", help="What is to be foretold. Repeatable."),
    ] = None,
    latent: Annotated[
        list[str] | None,
        typer.Option(
            "--latent", metavar="PRED", help="What is not listed is unknown, not false. Repeatable."
        ),
    ] = None,
    worlds: Annotated[
        str | None,
        typer.Option("--worlds", metavar="DIR", help="A folder that holds a folder of facts a world."),
    ] = None,
    l2: Annotated[
        float | None, typer.Option("--l2", metavar="X", min=0, help="How strongly weights are drawn to 0.")
    ] = None,
    l1: Annotated[
        float, typer.Option("--l1", metavar="X", min=0, help="The same, with small weights exactly 0.")
    ] = 0.0,
    iterations: options.Iterations = None,
    tolerance: options.Tolerance = None,
    layers: Annotated[
        int | None, typer.Option("--layers", metavar="T", min=1, help="Mean-field layers to learn through.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="R", min=0, help="The learning rate of Adam.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch", metavar="N", min=1, help="Groundings, or questions, a step; all if not given."
        ),
    ] = None,
    observed: Annotated[
        float | None,
        typer.Option("--observed", metavar="P", min=0, max=1, help="Share of sampled atoms that are facts."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="Numbers in a constant's embedding.")
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(
            "--clip",
            metavar="C",
            help="distillation: a statement says less than C times its weight to an atom. Another model.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="D", min=0, help="proof: how deep calls may go (default: 10)."),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss", metavar="NAME", help="proof: cross-entropy (of shares, default), softmax or margin."
        ),
    ] = None,
    asked: Annotated[
        int | None,
        typer.Option(
            "--asked", metavar="N", min=1, help="proof: which argument facts answer (default: the last)."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option("--patience", metavar="N", min=1, help="Stop after N steps without getting better."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Keep the state of training there.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="FILE", help="Go on from a state that was kept.")
    ] = None,
) -> None:
    """Weights of statements such as '?: smokes(x) => cancer(x)', learned from facts; gives a theory.

    By --method proof those of rules '@ ?' and of facts of 'learned' predicates, from right answers.
    Every predicate is closed unless it is --latent. The theory goes to -o, or to standard output.
    """
    bar = Bar("learning", began=time.monotonic())

    def watch(progress: Progress) -> None:
        done = progress.step / max(progress.steps, 1)
        bar.show(f"{progress.metric} {progress.value:.4f}", min(done, 1.0))

    found = open_model(opened).learn(
        method,
        target=target or (),
        latent=latent or (),
        worlds=worlds or (),
        watch=watch,
        note=note,
        l2=l2,
        l1=l1,
        iterations=iterations,
        tolerance=tolerance,
        layers=layers,
        rate=rate,
        batch=batch,
        observed=observed,
        size=size,
        clip=clip,
        depth=depth,
        loss=loss,
        asked=asked,
        patience=patience,
        save=save,
        resume=resume,
        **limited.told(),
    )
    bar.show("learned", 1.0)
    if output is not None:
        write_text(found.text, output)
    if output is None and format is options.Format.table:
        note(found.title)
        write_text(found.text, None)
    else:
        write_result(
            options.Written(format, None),
            found.to_dict,
            lambda: [sheet_table(found)],
            found.to_arrow,
        )
    leave_unconverged(found.status)
