"""Explanations: a number as the sum of the contributions of its reasons, the heaviest first.

All engines use the same layout. The number is the log-odds of an atom, an end of an interval, or the weight
of an answer. ``base`` is its value without any reason; ``base``, the contributions and ``remainder`` add up
to it.

>>> why = Explanation(
...     'smokes("anna")', "log-odds", 1.1, "exact", Guarantee.EXACT,
...     (Reason("0.4: smokes(x)", {"x": "anna"}, 0.4), Reason("0.7: friends(x, y)", {"x": "anna"}, 0.7)),
... )
>>> why
smokes("anna"): log-odds 1.1000 (exact)
contribution  statement           where
     +0.7000  0.7: friends(x, y)  x = "anna"
     +0.4000  0.4: smokes(x)      x = "anna"
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from herbrand.answers.guarantee import Guarantee
from herbrand.answers.sheet import ROWS_PLOTTED, Sheet, in_json, stacked
from herbrand.language.drawing import Drawing
from herbrand.language.names import respelled, shown_where
from herbrand.language.syntax import Value

INDENT = "  "
UNSEEN = 5e-5
"""Smaller contributions are not shown, as they round to 0."""

LEARNED = re.compile(r"\A-?\d+\.\d{7,}(e-?\d+)?(?=: )")
"""A learned weight with many digits at the start of a statement; tables shorten it to five."""


@dataclass(frozen=True)
class Reason:
    """A grounding of a statement and its contribution; ``parts`` are the reasons for it in turn.

    ``contribution`` is in the units of the explanation. ``statement`` is the printer's canonical text.
    """

    statement: str
    grounding: Mapping[str, Value] = field(default_factory=dict)
    contribution: float = 0.0
    parts: tuple[Reason, ...] = ()

    @property
    def where(self) -> str:
        """The constants of the statement's variables, as text."""
        return shown_where(self.grounding.items())

    def respelled(self, names: Mapping[str, str]) -> Reason:
        """The same under other names of predicates."""
        parts = tuple(part.respelled(names) for part in self.parts)
        return replace(self, statement=respelled(self.statement, names), parts=parts)

    def to_dict(self) -> dict[str, Any]:
        """The reason in the JSON object of ``herbrand explain``."""
        fields: dict[str, Any] = {
            "statement": self.statement,
            "grounding": dict(self.grounding),
            "contribution": self.contribution,
        }
        return fields | {"parts": [part.to_dict() for part in self.parts]} if self.parts else fields


@dataclass(frozen=True)
class ProvingChoice:
    """An outcome of a choice: the ``atom`` that it makes true, and its probability."""

    atom: str
    statement: str
    grounding: Mapping[str, Value]
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Proof:
    """Outcomes of choices that suffice for an atom, and their joint probability. ``conditions``: further
    literals that must hold, which the probability does not include."""

    probability: float
    choices: tuple[ProvingChoice, ...]
    conditions: tuple[str, ...] = ()

    def respelled(self, names: Mapping[str, str]) -> Proof:
        """The same under other names of predicates."""
        choices = (
            replace(one, atom=respelled(one.atom, names), statement=respelled(one.statement, names))
            for one in self.choices
        )
        conditions = tuple(respelled(one, names) for one in self.conditions)
        return replace(self, choices=tuple(choices), conditions=conditions)

    def __str__(self) -> str:
        return " and ".join([*(choice.atom for choice in self.choices), *self.conditions]) or "true"

    def to_dict(self) -> dict[str, Any]:
        choices = [choice.to_dict() for choice in self.choices]
        return {"probability": self.probability, "choices": choices, "conditions": list(self.conditions)}


@dataclass(frozen=True)
class Proofs:
    """The most probable proofs, and whether they are all of them."""

    listed: tuple[Proof, ...]
    are_all: bool

    @property
    def formula(self) -> str:
        """Provenance formula of the atom over choices; an ellipsis stands for proofs that are not listed."""
        parts = [f"({one})" if " and " in str(one) else str(one) for one in self.listed]
        return " or ".join([*parts, *([] if self.are_all else ["..."])]) or "false"

    def to_dict(self) -> dict[str, Any]:
        return {"proofs": [one.to_dict() for one in self.listed], "provenance": self.formula}


def _lightness(reason: Reason) -> float:
    """Sort key that puts the heaviest reason first. Rounded to nine digits, so that reasons that are equal up
    to rounding, which differs between processors, keep the order of the program."""
    return -float(f"{abs(reason.contribution):.9g}")


@dataclass(frozen=True, repr=False)
class Explanation(Sheet):
    """An explanation: ``value``, the ``quantity`` of ``subject``, equals base + contributions + remainder.

    ``remainder`` is the sum of the reasons that are not listed. ``value`` may be infinite: the reasons that
    force it then have infinite contributions. ``proofs``: those of an atom that depends on choices, if
    wanted.
    """

    subject: str
    quantity: str
    value: float
    engine: str
    guarantee: Guarantee
    reasons: tuple[Reason, ...]
    base: float = 0.0
    remainder: float = 0.0
    note: str = ""
    proofs: Proofs | None = None

    words: ClassVar[Sequence[int]] = (1, 2)

    def __post_init__(self) -> None:
        heaviest = sorted(self.reasons, key=_lightness)
        object.__setattr__(self, "reasons", tuple(heaviest))

    def respelled(self, names: Mapping[str, str]) -> Explanation:
        """The same under other names of predicates."""
        reasons = tuple(reason.respelled(names) for reason in self.reasons)
        proofs = self.proofs
        if proofs is not None:
            proofs = replace(proofs, listed=tuple(one.respelled(names) for one in proofs.listed))
        return replace(self, subject=respelled(self.subject, names), reasons=reasons, proofs=proofs)

    def top(self, count: int) -> Explanation:
        """Keep the ``count`` heaviest reasons; the others are added to the remainder."""
        kept, others = self.reasons[:count], self.reasons[count:]
        rest = self.remainder + math.fsum(reason.contribution for reason in others)
        return replace(self, reasons=kept, remainder=rest)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand explain``."""
        return {
            "subject": self.subject,
            "quantity": self.quantity,
            "value": in_json(self.value),
            "engine": self.engine,
            "guarantee": self.guarantee.value,
            "base": in_json(self.base),
            "remainder": in_json(self.remainder),
            "note": self.note,
            "reasons": [_finite(reason.to_dict()) for reason in self.reasons],
            **(self.proofs.to_dict() if self.proofs is not None else {}),
        }

    def to_arrow(self) -> pa.Table:
        """Columns quantity, statement, where, contribution: the reasons without their parts."""
        return pa.table(
            {
                "quantity": pa.array([self.quantity] * len(self.reasons), pa.string()),
                "statement": pa.array([reason.statement for reason in self.reasons], pa.string()),
                "where": pa.array([reason.where for reason in self.reasons], pa.string()),
                "contribution": pa.array([reason.contribution for reason in self.reasons], pa.float64()),
            }
        )

    @property
    def title(self) -> str:
        sure = self.guarantee.value
        credit = sure if self.engine == sure else f"{self.engine}; {sure}"
        summary = f"{self.subject}: {self.quantity} {self.value:.4f} ({credit})"
        listed = self.proofs.listed if self.proofs is not None else ()
        proofs = [f"proof {one.probability:.4f}: {one}" for one in listed]
        return "\n".join([summary, *([self.note] if self.note else []), *proofs])

    @property
    def ends(self) -> tuple[Explanation, ...]:
        """The explanations of the answer: one here, two for an interval."""
        return (self,)

    @property
    def heads(self) -> tuple[str, str, str]:
        return "contribution", "statement", "where"

    def __len__(self) -> int:
        return sum(1 for _ in self.cells())

    def cells(self) -> Iterator[tuple[str, str, str]]:
        """Rows for a table; the parts of a reason follow it, indented."""
        if abs(self.base) > UNSEEN:
            yield _signed(self.base), "(before any statement)", ""
        seen = sum(1 for reason in self.reasons if abs(reason.contribution) > UNSEEN)
        shown = self.top(seen) if seen else self
        for reason in shown.reasons:
            yield from _cells(reason, "")
        if abs(shown.remainder) > UNSEEN:
            yield _signed(shown.remainder), "(all others)", ""

    def spans(self) -> Iterator[tuple[float, float]]:
        """Bars of the contributions: positive ones to the right of the middle, negative ones to the left."""
        numbers = [float(first) if first else 0.0 for first, _, _ in self.cells()]
        largest = max((abs(n) for n in numbers if math.isfinite(n)), default=0.0) or 1.0
        for number in numbers:
            end = 0.5 + 0.5 * max(-1.0, min(1.0, number / largest))
            yield min(0.5, end), max(0.5, end)


@dataclass(frozen=True, repr=False)
class IntervalExplanation:
    """Explanations of the lower and the upper end of an interval."""

    lower: Explanation
    upper: Explanation

    @property
    def ends(self) -> tuple[Explanation, ...]:
        """The explanations of the lower and the upper end."""
        return self.lower, self.upper

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.ends)

    def respelled(self, names: Mapping[str, str]) -> IntervalExplanation:
        """The same under other names of predicates."""
        return IntervalExplanation(self.lower.respelled(names), self.upper.respelled(names))

    def top(self, count: int) -> IntervalExplanation:
        """Keep the ``count`` heaviest reasons of each end."""
        return IntervalExplanation(self.lower.top(count), self.upper.top(count))

    def plot(self, rows: int = ROWS_PLOTTED) -> Drawing:
        """Picture of both ends."""
        return stacked([end.plot(rows) for end in self.ends])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand explain`` for ``P( )``."""
        return {"lower": self.lower.to_dict(), "upper": self.upper.to_dict()}

    def to_arrow(self) -> pa.Table:
        """The columns of both ends; ``quantity`` tells them apart."""
        return pa.concat_tables([self.lower.to_arrow(), self.upper.to_arrow()])

    def __repr__(self) -> str:
        return f"{self.lower}\n\n{self.upper}"

    def _repr_html_(self) -> str:
        return "".join(end._repr_html_() for end in self.ends)


def _cells(reason: Reason, indent: str) -> Iterator[tuple[str, str, str]]:
    statement = LEARNED.sub(lambda weight: f"{float(weight[0]):.5g}", reason.statement)
    yield "" if indent else _signed(reason.contribution), indent + statement, reason.where
    for part in reason.parts:
        yield from _cells(part, indent + INDENT)


def _signed(number: float) -> str:
    return f"{number:+.4f}"


def _finite(reason: dict[str, Any]) -> dict[str, Any]:
    reason["contribution"] = in_json(reason["contribution"])
    if "parts" in reason:
        reason["parts"] = [_finite(part) for part in reason["parts"]]
    return reason
