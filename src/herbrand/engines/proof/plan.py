"""Plans: for each clause of a predicate in one mode, an ordered list of steps.

A mode is the places of the arguments that are known. Plans have names and places only, no arrays; ``print``
shows their steps. :mod:`herbrand.engines.proof.planning` builds them.

>>> Join("edge", ("x", "y"), (0,), ("y",)).read
(1,)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from herbrand.language.scope import written
from herbrand.program.clauses import Clause
from herbrand.program.clauses import Test as Condition

Mode = tuple[int, ...]
"""The places of the arguments that are known, ascending."""


@dataclass(frozen=True)
class Bind:
    """A step that adds a column for a variable, with one constant in all rows."""

    variable: str
    index: int


@dataclass(frozen=True)
class Fix:
    """A step that keeps the rows in which the variable has this constant."""

    variable: str
    index: int
    live: tuple[str, ...]


@dataclass(frozen=True)
class Test:
    """A step that keeps the rows that satisfy a comparison."""

    literal: Condition
    live: tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """A step that joins the rows with matching facts; ``bound`` are the places of known arguments.

    ``live`` are the variables that are needed afterwards; all others are summed out.
    """

    predicate: str
    arguments: tuple[str, ...]
    bound: Mode
    live: tuple[str, ...]

    @cached_property
    def read(self) -> Mode:
        """The places of arguments that are live or repeated, whose columns must be read."""
        every = self.arguments
        return tuple(n for n, name in enumerate(every) if name in self.live or every.count(name) > 1)

    def signature(self, names: tuple[str, ...]) -> tuple[object, ...]:
        """A key that is equal for joins that do the same to columns in these places, whatever their names."""
        if names not in self._signatures:
            numbers = {name: place for place, name in enumerate(names)}
            for name in self.arguments:
                numbers.setdefault(name, len(numbers))
            shape = tuple(numbers[name] for name in self.arguments)
            kept = tuple(numbers[name] for name in self.live)
            self._signatures[names] = (self.predicate, self.bound, shape, kept)
        return self._signatures[names]

    @cached_property
    def _signatures(self) -> dict[tuple[str, ...], tuple[object, ...]]:
        return {}


@dataclass(frozen=True)
class Ask:
    """A step that joins the rows with the answers of a derived predicate.

    ``deeper``: whether it counts as a call for the depth.
    """

    predicate: str
    arguments: tuple[str, ...]
    bound: Mode
    live: tuple[str, ...]
    deeper: bool = True

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.arguments[place] for place in self.bound)

    @cached_property
    def found(self) -> tuple[str, ...]:
        """The arguments in the free places."""
        return tuple(name for place, name in enumerate(self.arguments) if place not in self.bound)


@dataclass(frozen=True)
class Exclude:
    """A step that keeps the rows for which an atom has no proof."""

    predicate: str
    arguments: tuple[str, ...]
    bound: Mode
    live: tuple[str, ...]


Step = Bind | Fix | Test | Join | Ask | Exclude


@dataclass(frozen=True, eq=False)
class ClausePlan:
    """The steps of one clause; ``inputs`` are the known head arguments, ``outputs`` the others.

    Both may repeat a name.
    """

    clause: Clause
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The inputs that a step or the outputs use."""
        used = {*self.outputs, *(name for step in self.steps for name in _used(step))}
        return tuple(name for name in dict.fromkeys(self.inputs) if name in used)

    @cached_property
    def tail(self) -> Ask | None:
        """The last step, if its answers are those of the clause: then it can run in the clause's place.

        Then its outputs are the clause's, in the same order, distinct, and none of them is an input of it.
        """
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, Ask) or last.found != self.outputs:
            return None
        distinct = len(set(self.outputs)) == len(self.outputs)
        return last if distinct and not set(self.outputs) & set(last.inputs) else None

    def __str__(self) -> str:
        lines = [f"  {self.clause}", *(f"    {_shown(step)}" for step in self.steps)]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class PredicatePlan:
    """The plans of all clauses of a predicate in one mode."""

    predicate: str
    mode: Mode
    clauses: tuple[ClausePlan, ...]

    def __str__(self) -> str:
        arity = len(self.mode) if not self.clauses else len(self.clauses[0].clause.head)
        words = ", ".join("bound" if place in self.mode else "free" for place in range(arity))
        return "\n".join([f"{self.predicate}({words})", *map(str, self.clauses)])


def _used(step: Step) -> tuple[str, ...]:
    match step:
        case Bind(variable=name) | Fix(variable=name):
            return (name,)
        case Test(literal=literal):
            return literal.arguments
    return step.arguments


def _shown(step: Step) -> str:
    match step:
        case Bind(variable=name):
            return f"put {written(name)}"
        case Fix(variable=name):
            return f"keep rows with {written(name)}"
        case Test(literal=literal):
            return f"test {', '.join(map(written, literal.arguments))}"
        case Exclude(predicate=predicate, arguments=arguments):
            return f"exclude {predicate}({', '.join(map(written, arguments))})"
        case Join(predicate=name, arguments=arguments, bound=bound, live=live):
            word = "join"
        case Ask(predicate=name, arguments=arguments, bound=bound, live=live):
            word = "ask"
    by = ", ".join(written(arguments[place]) for place in bound) or "nothing"
    kept = ", ".join(map(written, live)) or "nothing"
    return f"{word} {name}({', '.join(map(written, arguments))}) by {by}, keep {kept}"
