"""Questions from the facts of a derived predicate: one for each choice of the given arguments.

``uncle("liam", "bob")`` and ``uncle("liam", "tom")`` are one question, ``uncle("liam", y)``, with the right
answers bob and tom. Weights of the facts give the share of each right answer.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse('uncle(x, y) :- parent(x, z), brother(z, y)'), {
...     "parent": [("liam", "ann")], "brother": [("ann", "bob")],
...     "uncle": [("liam", "bob"), ("liam", "ann")]})
>>> known = model.stated_program
>>> questions = Questions.of("uncle", known.signature, known.facts, None)
>>> questions.goal, questions.inputs.tolist(), questions.pointers.tolist(), questions.shares.tolist()
('uncle(x0, x1)', [[0]], [0, 2], [0.5, 0.5])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.language.names import shown_name
from herbrand.language.signature import Signature
from herbrand.row_keys import row_keys, run_starts


@dataclass(frozen=True, eq=False)
class Questions:
    """Question q has the constants ``inputs[q]`` for the variables ``given`` of ``goal``; its right answers
    are the rows ``answers[pointers[q]:pointers[q + 1]]``, whose ``shares`` sum to 1."""

    predicate: str
    goal: str
    given: tuple[str, ...]
    inputs: np.ndarray  # [question, given]
    pointers: np.ndarray  # [question + 1]
    answers: np.ndarray  # [answer, asked]
    shares: np.ndarray  # [answer]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, predicate: str, signature: Signature, facts: Facts, asked: int | None) -> Questions:
        """``asked``: number of the argument that is asked for, counted from 1; the last one if not given."""
        table, arity = facts.tables[predicate], signature.predicates[predicate].arity
        if asked is not None and not 1 <= asked <= arity:
            raise UnsupportedError(
                f"--asked {asked}: {predicate} has {arity} argument{'' if arity == 1 else 's'}",
                hint="the arguments are counted from 1",
            )
        last = min(1, arity) if asked is None else 1
        places = [arity - 1 if asked is None else asked - 1][:last]
        given = [place for place in range(arity) if place not in places]
        sizes = [len(facts.domains[name]) for name in signature.predicates[predicate].types]
        rows = np.asarray(table.true, np.int64)
        keys = row_keys([rows[:, p] for p in given], [sizes[p] for p in given], len(rows))
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        starts = run_starts(keys)
        pointers = np.append(starts, len(rows))
        weights = table.true_weights[order]
        if len(rows) and weights.min() <= 0:
            raise UnsupportedError(
                f"a right answer of {predicate} weighs {weights.min():g}, and weights above 0 share out "
                "what each should have",
                hint="leave the fact out if it is no right answer",
            )
        totals = np.add.reduceat(weights, starts) if len(rows) else np.empty(0)
        names = [f"x{place}" for place in range(arity)]
        goal = f"{shown_name(predicate)}({', '.join(names)})" if names else shown_name(predicate)
        return cls(
            predicate,
            goal,
            tuple(names[place] for place in given),
            rows[starts][:, given],
            pointers,
            rows[:, places],
            weights / np.repeat(totals, np.diff(pointers)),
            tuple(sizes[place] for place in places),
        )

    def __len__(self) -> int:
        return len(self.inputs)

    def part(self, places: np.ndarray) -> Questions:
        """Some of the questions, renumbered."""
        counts = np.diff(self.pointers)[places]
        ends = np.append(0, np.cumsum(counts))
        rows = np.repeat(self.pointers[places] - ends[:-1], counts) + np.arange(ends[-1])
        return Questions(
            self.predicate, self.goal, self.given, self.inputs[places], ends, self.answers[rows],
            self.shares[rows], self.sizes,
        )  # fmt: skip
