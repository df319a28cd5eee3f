"""Why an answer is what it is: a number as the sum of its reasons, the heaviest first.

One layout for every engine. The number is the log-odds of an atom, an end of an interval, or the weight of
an answer; ``base`` is what it would be without any reason, and the reasons' contributions with ``base`` and
``remainder`` add up to it.

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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from herbrand.answers.guarantee import Guarantee
from herbrand.answers.sheet import ROWS_PLOTTED, Sheet, in_json, stacked
from herbrand.language.drawing import Drawing
from herbrand.language.names import respelled, shown_where
from herbrand.language.syntax import Value

INDENT = "  "
UNSEEN = 5e-5
"""What rounds to nothing is not shown."""

LEARNED = re.compile(r"\A-?\d+\.\d{7,}(e-?\d+)?(?=: )")
"""A weight with more digits than anybody writes; a table shows five of them."""


@dataclass(frozen=True)
class Reason:
    """One statement, for one choice of constants, and what it adds; ``parts`` are what it rests on in turn.

    ``contribution`` is in the units of the explanation. ``statement`` is the printer's canonical text.
    """

    statement: str
    grounding: Mapping[str, Value] = field(default_factory=dict)
    contribution: float = 0.0
    parts: tuple[Reason, ...] = ()

    @property
    def where(self) -> str:
        return shown_where(self.grounding.items())

    def respelled(self, names: Mapping[str, str]) -> Reason:
        """The same under other names of predicates."""
        parts = tuple(part.respelled(names) for part in self.parts)
        return replace(self, statement=respelled(self.statement, names), parts=parts)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "statement": self.statement,
            "grounding": dict(self.grounding),
            "contribution": self.contribution,
        }
        return fields | {"parts": [part.to_dict() for part in self.parts]} if self.parts else fields


@dataclass(frozen=True)
class ProvingChoice:
    """A choice that comes out so: ``atom`` is what it makes true, with this probability."""

    atom: str
    statement: str
    grounding: Mapping[str, Value]
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Proof:
    """Choices that are enough for an atom, and how probable they are together. ``conditions``: what else must
    hold, or must not, which the probability leaves out."""

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
    """The likeliest proofs, and whether there are no others."""

    listed: tuple[Proof, ...]
    are_all: bool

    @property
    def formula(self) -> str:
        """When the atom holds, over choices; an ellipsis stands for proofs that are not listed."""
        parts = [f"({one})" if " and " in str(one) else str(one) for one in self.listed]
        return " or ".join([*parts, *([] if self.are_all else ["..."])]) or "false"

    def to_dict(self) -> dict[str, Any]:
        return {"proofs": [one.to_dict() for one in self.listed], "provenance": self.formula}


def _lightness(reason: Reason) -> float:
    """Ascending for the heaviest first; nine digits, so that what is equal up to rounding, which differs from
    one processor to another, keeps the order of the program."""
    return -float(f"{abs(reason.contribution):.9g}")


@dataclass(frozen=True, repr=False)
class Explanation(Sheet):
    """``value`` is the ``quantity`` of ``subject``; it equals base + contributions + remainder.

    ``remainder`` is what reasons that are not listed add. ``value`` may be infinite: the reasons that force
    it then have infinite contributions. ``proofs``: of an atom that rests on choices, if they are asked for.
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

    words = (1, 2)

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
        """The ``count`` heaviest reasons; the others join the remainder."""
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
        """Columns quantity, statement, where, contribution: the reasons without what they rest on."""
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
        """The explanation itself; an interval has two."""
        return (self,)

    @property
    def heads(self) -> tuple[str, str, str]:
        return "contribution", "statement", "where"

    def __len__(self) -> int:
        return sum(1 for _ in self.cells())

    def cells(self) -> Iterator[tuple[str, str, str]]:
        """Rows for a table; what a reason rests on stands below it, indented."""
        if abs(self.base) > UNSEEN:
            yield _signed(self.base), "(before any statement)", ""
        seen = sum(1 for reason in self.reasons if abs(reason.contribution) > UNSEEN)
        shown = self.top(seen) if seen else self
        for reason in shown.reasons:
            yield from _cells(reason, "")
        if abs(shown.remainder) > UNSEEN:
            yield _signed(shown.remainder), "(all others)", ""

    def spans(self) -> Iterator[tuple[float, float]]:
        """What speaks for it to the right of the middle, what speaks against it to the left."""
        numbers = [float(first) if first else 0.0 for first, _, _ in self.cells()]
        largest = max((abs(n) for n in numbers if math.isfinite(n)), default=0.0) or 1.0
        for number in numbers:
            end = 0.5 + 0.5 * max(-1.0, min(1.0, number / largest))
            yield min(0.5, end), max(0.5, end)


@dataclass(frozen=True, repr=False)
class IntervalExplanation:
    """Why the lower and the upper end of an interval are what they are."""

    lower: Explanation
    upper: Explanation

    @property
    def ends(self) -> tuple[Explanation, ...]:
        return self.lower, self.upper

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.ends)

    def respelled(self, names: Mapping[str, str]) -> IntervalExplanation:
        """The same under other names of predicates."""
        return IntervalExplanation(self.lower.respelled(names), self.upper.respelled(names))

    def top(self, count: int) -> IntervalExplanation:
        """The ``count`` heaviest reasons of each end."""
        return IntervalExplanation(self.lower.top(count), self.upper.top(count))

    def plot(self, rows: int = ROWS_PLOTTED) -> Drawing:
        """Both ends as one picture."""
        return stacked([end.plot(rows) for end in self.ends])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand explain`` for ``P( )``."""
        return {"lower": self.lower.to_dict(), "upper": self.upper.to_dict()}

    def to_arrow(self) -> pa.Table:
        """The columns of both ends; ``quantity`` says of what."""
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
