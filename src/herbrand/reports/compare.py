"""The report of ``herbrand compare``: answers of several engines for one theory, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import pyarrow as pa

from herbrand.answers.marginals import Marginals
from herbrand.answers.sheet import PROBABILITIES, Bar, Sheet
from herbrand.budget import Budget
from herbrand.engines.engine import options_in, settings_from
from herbrand.engines.registry import INFERENCE, refuse_unused_by_all, used_settings
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.model import Model
from herbrand.options.keywords import InferOptions
from herbrand.options.kinds import texts
from herbrand.options.table import refuse_unknown
from herbrand.program.usable import refuse_no_model

REFERENCE, RESTLESS = "exact", "not converged"


@dataclass(frozen=True, repr=False)
class EngineComparison(Sheet):
    """Answers by engine (by the model's name for an engine that uses another model than the theory).
    ``failures``: reasons of the engines without an answer."""

    answers: dict[str, Marginals]
    failures: dict[str, str]

    def largest_difference(self, engine: str) -> float | None:
        """Largest difference of an engine's probabilities from the exact ones; ``None`` without exact
        ones."""
        if REFERENCE not in self.answers:
            return None
        pairs = zip(self.answers[engine].rows(), self.answers[REFERENCE].rows(), strict=True)
        return max((abs(ours.probability - exact.probability) for ours, exact in pairs), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand compare``."""
        return {
            "engines": [
                {key: value for key, value in answer.to_dict().items() if key != "marginals"}
                | {"largest_difference": self.largest_difference(name)}
                for name, answer in self.answers.items()
            ],
            "failures": [{"engine": name, "reason": reason} for name, reason in self.failures.items()],
            "marginals": [
                {"atom": atom, **dict(zip(self.answers, probabilities, strict=True))}
                for atom, probabilities in self._side_by_side()
            ],
        }

    def summary(self) -> Iterator[tuple[str, ...]]:
        """Engine, guarantee, seconds, log partition and largest difference, for a table."""
        for name, answer in self.answers.items():
            difference = self.largest_difference(name)
            log_partition = answer.log_partition
            yield (
                name,
                answer.guarantee.value + ("" if answer.status.converged else f", {RESTLESS}"),
                f"{answer.status.seconds:.3f}",
                "" if log_partition is None else f"{log_partition:.6f}",
                "" if difference is None else f"{difference:.1e}",
            )
        for name, reason in self.failures.items():
            yield name, "cannot run", "", "", reason

    @property
    def title(self) -> str:
        cannot = f"; without an answer: {', '.join(self.failures)}" if self.failures else ""
        return ", ".join(map(self._titled, self.answers)) + cannot

    def _titled(self, name: str) -> str:
        difference = self.largest_difference(name)
        notes = [] if self.answers[name].status.converged else [RESTLESS]
        notes += [] if difference is None else [f"off by at most {difference:.1e}"]
        return f"{name} ({', '.join(notes)})" if notes else name

    @property
    def heads(self) -> tuple[str, ...]:
        return "atom", *self.answers

    def __len__(self) -> int:
        return len(next(iter(self.answers.values())))

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Each atom with its probability by each engine."""
        for atom, probabilities in self._side_by_side():
            yield atom, *(f"{p:.4f}" for p in probabilities)

    ticks = PROBABILITIES

    def bars(self) -> Iterator[Bar]:
        """A bar for each atom and engine."""
        for atom, probabilities in self._side_by_side():
            for name, p in zip(self.answers, probabilities, strict=True):
                yield Bar(f"{atom}  {name}", 0.0, p, f"{p:.4f}")

    def to_arrow(self) -> pa.Table:
        rows = list(self._side_by_side())
        columns = {"atom": pa.array([atom for atom, _ in rows], pa.string())}
        for place, name in enumerate(self.answers):
            columns[name] = pa.array([row[place] for _, row in rows], pa.float64())
        return pa.table(columns)

    def _side_by_side(self) -> Iterator[tuple[str, tuple[float, ...]]]:
        for rows in zip(*(answer.rows() for answer in self.answers.values()), strict=True):
            yield rows[0].cells()[0], tuple(row.probability for row in rows)


def compare(
    model: Model,
    engines: str | Sequence[str] = (),
    *,
    query: str | Iterable[str] = (),
    given: str | Iterable[str] = (),
    within: Budget | None = None,
    **options: Unpack[InferOptions],
) -> EngineComparison:
    """Run the named engines, or all, on one model; engines that cannot run are listed with the reason.

    ``query`` and ``given`` are those of ``infer``; ``engines``: their names. Each engine gets the ``options``
    that it uses; an option that none of them uses is refused. They share the time left (``within``).
    """
    refuse_no_model("compare", model)
    names = texts(engines) or tuple(INFERENCE)
    refuse_unknown("compare", options)
    if "engine" in options:  # the command line's name
        raise UnsupportedError("compare has no option 'engine'", hint="engines=[...] names several")
    settings = settings_from(options, within)
    refuse_unused_by_all("infer", names, settings)
    asked, facts = texts(query), texts(given)
    answers: dict[str, Marginals] = {}
    failures: dict[str, HerbrandError] = {}
    for number, name in enumerate(names):
        part = settings.budget.share(1 / (len(names) - number))
        try:
            own = options_in("infer", used_settings("infer", name, settings))
            answer = model.infer(asked, given=facts, engine=name, within=part, **own)
        except HerbrandError as error:
            failures[name] = error
        else:
            answers[name if name == "auto" else answer.engine] = answer
    if not answers:
        raise HerbrandError(dict.fromkeys(m for error in failures.values() for m in error.mistakes))
    return EngineComparison(answers, {name: _reason(error) for name, error in failures.items()})


def _reason(error: HerbrandError) -> str:
    """The error's message in one line, without places and advice, for a row of a table."""
    return "; ".join(mistake.message for mistake in error.mistakes)
