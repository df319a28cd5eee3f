"""Learn probabilities of choices (``? ::``) by likelihood from partially observed worlds.

Listed atoms of derived predicates are evidence, unlisted ones are unknown; every other predicate is closed.
Each world is compiled once to a circuit, which computes log P(evidence) and how often each alternative is
expected to be chosen. Expectation maximisation sets each probability to the expected share of the instances
of its statement, so the likelihood never falls; a longer step is taken if the likelihood rises by it too
(``leaps``). It may stop at a local maximum; a probability that no evidence depends on keeps its start.

Starts (``t(0.3)::`` of a ``.pl`` file) are used in every climb, so what starts at 0 stays there unless a
world needs it. In the first climb the other probabilities of a statement with several heads start with all
that these leave: choosing no head then gets only the probability that worlds require, which decides between
an unobserved head and no head where the likelihood does not.

Learning from interpretations: Gutmann, Thon, De Raedt, "Learning the parameters of probabilistic logic
programs from interpretations" (ECML 2011).

>>> import herbrand as hb
>>> model = hb.Model(hb.parse("? :: rain\\n0.5 :: leak\\nwet :- rain\\nwet :- leak"))
>>> worlds = [hb.parse(text) for text in ("wet", "wet", "wet", "wet", "not wet")]
>>> found = model.learn(worlds=worlds)  # 1 - 0.5 (1 - p) = 4/5
>>> [(w.statement, round(w.weight, 2)) for w in found.weights]
[('? :: rain', 0.6)]
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from herbrand.answers.guarantee import Guarantee, Status, out_of_iterations, out_of_time
from herbrand.engines.circuit.choices import CERTAIN, ChoiceConstraints, Drawn, impossible_evidence, share_of
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.grounding import Instance
from herbrand.engines.circuit.worlds import Worlds
from herbrand.errors import UnsupportedError, few_of
from herbrand.language.comparisons import bound_variables, variables_of
from herbrand.language.computed import separated
from herbrand.language.formulas import AnyAtom, Computed
from herbrand.language.scope import with_terms
from herbrand.language.show import named_value, show_formula, statement_text
from herbrand.language.syntax import (
    Alternative,
    Atom,
    Choice,
    Constant,
    FactRows,
    Learned,
    Rule,
    Statement,
    Truth,
    Value,
)
from herbrand.language.theory import Theory
from herbrand.learning.both_sides import label_scale
from herbrand.learning.leaps import Leaps
from herbrand.learning.learned import LearnedWeight, Learning
from herbrand.learning.settings import LearningSettings, Progress
from herbrand.program.ground import MOST_GROUNDINGS, ground
from herbrand.program.program import Program

STEPS = 10_000
TOLERANCE = 1e-10
STARTS = 4
"""Starting points: the likelihood of partially observed worlds may have several maxima; the best is taken."""
LOST = 1e-9
"""Rounding error allowed in the log of the sum over all worlds, which should be 0."""
FLAT_STEPS = 2
"""Steps in a row that must rise by less than the tolerance: a single one may do so by chance."""
STEADY, ROUNDING = 1e-3, 1e-13
"""A probability that grows by more than this share, and by more than rounding explains, has not converged."""
SMALLEST = 1e-300
"""Replaces a probability of 0 within a circuit, where its logarithm must be finite."""
RAISED = 1e-290
"""A learned probability below this is 0: it was raised to SMALLEST in a circuit, and no world needed it."""

Group = tuple[int, tuple[Value, ...]]
"""Number of a statement in its theory, and the values of ``?[x]``."""
Probabilities = dict[Group, np.ndarray]
"""Probability of each alternative."""


def with_starts(theory: Theory) -> Theory:
    """Replace ``? ::`` by numbers, so that the theory can be lowered. Raise UnsupportedError if it has
    weighted or hard formulas, or a statement that mixes kinds of probabilities."""
    for formula in theory.formulas:
        raise UnsupportedError(
            "probabilities are learned from theories of choices and rules alone, without weighted or hard "
            "formulas",
            span=formula.span,
            hint="write the formula as rules, or state the probabilities as numbers",
        )
    started = (_started(s) if isinstance(s, Choice) else s for s in theory.statements)
    return replace(theory, statements=tuple(started))


def relearned(theory: Theory) -> Theory:
    """Replace every number before a head by ``?`` with this number as its start.

    >>> from herbrand.language.parse import parse_theory
    >>> (choice,) = relearned(parse_theory("0.3 :: rain")).choices
    >>> choice.alternatives[0].probability.start
    0.3
    """
    return Theory(tuple(_relearned(s) if isinstance(s, Choice) else s for s in theory.statements))


def in_world(theory: Theory, stated: Theory) -> Theory:
    r"""Add what is stated of one world to the theory. Atoms that an example of a ``.pl`` file names are
    evidence, also if the theory has facts of their predicates: these become rules, so that they make the
    evidence true.

    >>> from herbrand.language.parse import parse_theory
    >>> from herbrand.language.theory import show
    >>> print(show(in_world(parse_theory("b(1)"), parse_theory("b(x) :- false\nb(1)"))), end="")
    b(1) :- true
    b(x) :- false
    b(1)
    """
    named = stated.derived.keys() - theory.derived.keys()
    statements: list[Statement] = []
    for statement in theory.statements:
        if isinstance(statement, FactRows) and statement.predicate in named and statement.kind == "true":
            for number in range(statement.row_count):
                head = Atom(statement.predicate, tuple(map(Constant, statement.row(number))))
                statements.append(Rule(head, (Truth(True),), span=statement.row_span(number)))
        else:
            statements.append(statement)
    return replace(theory, statements=(*statements, *stated.statements))


def learn(
    theory: Theory, worlds: Iterable[Program], settings: LearningSettings, closed: Collection[str] = ()
) -> Learning:
    """The theory with the most likely probabilities; ``worlds`` are those of :func:`with_starts`. ``closed``:
    derived predicates of which unlisted atoms are false."""
    began = time.perf_counter()
    stated = separated(with_starts(theory)).theory.statements
    numbers = {_place(s): n for n, s in enumerate(stated) if isinstance(s, Choice)}
    same: dict[bytes, tuple[int, Program]] = {}
    times: Counter[bytes] = Counter()
    for number, program in enumerate(worlds, 1):
        key = program.facts.digest
        same.setdefault(key, (number, program))
        times[key] += 1
    learners = [
        _World.of(
            program, theory, numbers, settings, times[key], closed, number if times.total() > 1 else None
        )
        for key, (number, program) in same.items()
    ]
    if not any(draw.group for world in learners for draw in world.draws):
        raise UnsupportedError(
            "no listed atom depends on a probability to be learned",
            span=next(choice.span for choice in theory.choices if choice.learned),
            hint="list what its statement derives, true or false, or name worlds that do: --worlds DIR",
        )
    dice = np.random.default_rng(settings.seed)
    best = _climbed(learners, theory, _first(learners, theory, None), settings)
    drawn = any(_open_places(theory, group).any() for group in best.probabilities)
    for _ in range((settings.starts or STARTS) - 1 if drawn else 0):
        if settings.budget.ended:
            break
        other = _climbed(learners, theory, _first(learners, theory, dice), settings, best.value)
        best = other if other.value > best.value + TOLERANCE * abs(best.value) else best
    weights = tuple(_weights(theory, best.probabilities))
    return Learning(
        "likelihood",
        Theory(tuple(_written(theory, best.probabilities))),
        Status(best.converged, best.steps, time.perf_counter() - began, best.advice),
        weights,
        {"log_likelihood": best.value, "worlds": times.total(), "weights": len(weights)},
        engine="circuit",
        guarantee=Guarantee.EXACT,
    )


@dataclass(frozen=True, eq=False)
class _Draw:
    """An instance of a statement. ``fixed``: probabilities of its alternatives if none of them is learned,
    where ``group`` is ``None``."""

    group: Group | None
    fixed: np.ndarray
    variables: tuple[int, ...]
    outcomes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _World:
    """Evidence of ``times`` equal worlds as a circuit; ``base``: log-weights from soft evidence."""

    circuit: Circuit
    base: np.ndarray
    constant: float
    draws: tuple[_Draw, ...]
    times: int

    @classmethod
    def of(
        cls,
        program: Program,
        theory: Theory,
        numbers: Mapping[Any, int],
        settings: LearningSettings,
        times: int,
        closed: Collection[str],
        number: int | None,
    ) -> _World:
        """Compile the evidence; raise ContradictionError if no probabilities allow it. ``number``: which of
        several worlds this is."""
        constraints, budget = ChoiceConstraints(unweighed=True), settings.budget
        worlds = Worlds(ground(program, budget, MOST_GROUNDINGS), budget, constraints)
        if worlds.exclusive:
            _refuse_lost_worlds(cls._compiled(worlds, theory, numbers, 1), theory, worlds)
        worlds.add_formulas()
        for name in sorted(worlds.derived.intersection(closed)):
            worlds.close(name)
        world = cls._compiled(worlds, theory, numbers, times)
        if world.circuit.total(np.zeros_like(world.base)) == -math.inf:
            of = "" if number is None else f" of world {number}"
            raise impossible_evidence(constraints.smallest_evidence(budget), of)
        return replace(world, constant=world.constant - _scale(worlds))

    @classmethod
    def _compiled(cls, worlds: Worlds, theory: Theory, numbers: Mapping[Any, int], times: int) -> _World:
        """Compile the constraints added so far."""
        draws = [_draw(worlds.program, theory, numbers, *pair) for pair in worlds.drawn]
        literals = [2 * v for draw in draws for v in draw.variables if v >= 0]
        literals += [literal for draw in draws if draw.group for literal in draw.outcomes]
        circuit, base = worlds.made.circuit(literals, worlds.budget)
        return cls(circuit, base, worlds.made.constant, tuple(draws), times)

    def counts(self, probabilities: Probabilities, counts: Probabilities) -> float:
        """Log-likelihood; add to ``counts`` how often each alternative is expected to be chosen, and none,
        the last."""
        weights = self.base.copy()
        for draw in self.draws:
            left = 1.0
            chances = draw.fixed if draw.group is None else probabilities[draw.group]
            for variable, chance in zip(draw.variables, chances.tolist(), strict=True):
                if variable >= 0:
                    # Outcomes are decided in a row: this one with its probability given that no earlier one
                    # holds.
                    share = min(1.0, chance / left) if left > 0 else 0.0
                    weights[variable] += math.log(max(1 - share, SMALLEST)), math.log(max(share, SMALLEST))
                left -= chance
        total, shares = self.circuit.counted(weights)
        for draw in self.draws:
            if draw.group is not None:
                chosen = [share_of(shares, literal) for literal in draw.outcomes]
                counts[draw.group] += self.times * np.array([*chosen, max(0.0, 1 - math.fsum(chosen))])
        return self.times * (total + self.constant)


def _draw(
    program: Program, theory: Theory, numbers: Mapping[Any, int], instance: Instance, drawn: Drawn
) -> _Draw:
    number, group = numbers[_place(cast(Choice, instance.lowered.statement))], None
    by = _by(_choice(theory, number))
    if by is not None:
        constants = instance.constants(program.facts)
        group = (number, tuple(constants[name] for name in by))
    return _Draw(group, np.array(drawn.chances), drawn.variables, drawn.outcomes)


def _refuse_lost_worlds(free: _World, theory: Theory, worlds: Worlds) -> None:
    """Raise UnsupportedError if some choices give an atom two values. Such worlds are impossible, so the
    probability of the evidence grows with their total, which expectation maximisation does not account
    for."""
    first = _first([free], theory, None)
    lost = free.counts(first, {group: np.zeros(len(p) + 1) for group, p in first.items()})
    if lost - worlds.open_log_count() < -LOST:
        name = min(worlds.exclusive)
        alternatives = [one for choice in theory.choices for one in choice.alternatives]
        heads = dict.fromkeys(show_formula(one.head) for one in alternatives if one.atom.predicate == name)
        raise UnsupportedError(
            f"several statements may give an atom of {name} values in one world, and their probabilities "
            "cannot be learned",
            span=next(c.span for c in theory.choices if name in (h.predicate for h in c.alternatives)),
            hint=f"give the values in one statement: {few_of([f'? :: {head}' for head in heads], '; ')}",
        )


def _scale(worlds: Worlds) -> float:
    """Log of the factor by which sums over worlds exceed the probability of the evidence.

    Soft evidence p on a derived atom is a label: it should weigh worlds by p and 1 - p, while the circuit
    uses their quotient. On an open atom it is evidence, and open atoms are summed over all of their values.
    """
    evidence = worlds.ground.evidence
    return worlds.open_log_weight() + sum(label_scale(evidence, name) for name in worlds.given_chances)


@dataclass(frozen=True, eq=False)
class _Climbed:
    probabilities: Probabilities
    value: float
    steps: int
    converged: bool
    advice: str = ""


def _first(worlds: Sequence[_World], theory: Theory, dice: np.random.Generator | None) -> Probabilities:
    """Equal shares of what given probabilities and starts leave, or random ones if ``dice`` is given."""
    probabilities: Probabilities = {}
    for group in dict.fromkeys(draw.group for world in worlds for draw in world.draws):
        if group is not None:
            open_places = _open_places(theory, group)
            size = int(open_places.sum())
            if dice is not None:
                shares = dice.dirichlet(np.ones(size + 1))[:-1]
            else:
                shares = np.full(size, 1 / (size if size > 1 else size + 1))
            probabilities[group] = _stated(_choice(theory, group[0]))
            probabilities[group][open_places] = (1 - probabilities[group].sum()) * shares
    return probabilities


def _climbed(
    worlds: Sequence[_World],
    theory: Theory,
    first: Probabilities,
    settings: LearningSettings,
    height: float = -math.inf,
) -> _Climbed:
    """Expectation maximisation, with leaps where the likelihood rises by them, until convergence.

    The reported value is the best so far, over all starts: ``height`` is that of earlier climbs.
    """
    most, tolerance = settings.iterations or STEPS, settings.tolerance or TOLERANCE
    learned = {group: _learned_places(theory, group) for group in first}

    def seen(probabilities: Probabilities) -> _Point:
        counts: Probabilities = {g: np.zeros(len(p) + 1) for g, p in probabilities.items()}
        value = math.fsum(world.counts(probabilities, counts) for world in worlds)
        return _Point(probabilities, value, _shared(probabilities, counts, learned))

    ends = np.cumsum([len(p) + 1 for p in first.values()])
    point, leaps, steps, flat = seen(first), Leaps(), 0, 0
    while True:
        if settings.watch is not None:
            settings.watch(Progress(steps, most, "log-likelihood", max(point.value, height)))
        if flat and not point.grows(STEADY if flat >= FLAT_STEPS else 0.0):
            return _Climbed(point.probabilities, point.value, steps, True)
        if steps >= most:
            return _Climbed(point.probabilities, point.value, steps, False, out_of_iterations(steps))
        if settings.budget.ended:
            advice = out_of_time(settings.budget.elapsed)
            return _Climbed(point.probabilities, point.value, steps, False, advice)
        ahead = leaps.beyond(_row(point.probabilities), _row(point.improved))
        parts = dict(zip(first, np.split(ahead, ends[:-1]), strict=True))
        following = seen(_shared(point.probabilities, parts, learned))
        if following.value < point.value:
            leaps.forget()
            following = seen(point.improved)
        rise, flat, steps = following.value - point.value, flat + 1, steps + 1
        if rise > tolerance * max(1.0, abs(following.value)):
            flat = 0
        point = following


@dataclass(frozen=True, eq=False)
class _Point:
    """Probabilities, their log-likelihood, and the probabilities after a step of expectation maximisation."""

    probabilities: Probabilities
    value: float
    improved: Probabilities

    def grows(self, share: float) -> bool:
        """Whether a step makes a probability larger by more than this share. One near 0 may grow at each step
        while the likelihood hardly changes at first."""
        now, then = _row(self.probabilities), _row(self.improved)
        return bool((then > (1 + share) * now + ROUNDING).any())


def _row(probabilities: Probabilities) -> np.ndarray:
    """All probabilities in one vector, for each statement followed by that of choosing none."""
    return np.concatenate([np.append(p, max(0.0, 1 - p.sum())) for p in probabilities.values()])


def _shared(
    probabilities: Probabilities, counts: Probabilities, learned: Mapping[Group, np.ndarray]
) -> Probabilities:
    """Set learned probabilities in proportion to these counts, the last of which is of none: the
    maximum-likelihood estimate. Given probabilities stay."""
    shared: Probabilities = {}
    for group, own in probabilities.items():
        places = learned[group]
        free = counts[group][np.append(places, True)]
        shared[group] = own.copy()
        if free.sum() > 0:
            learned_shares = (1 - own[~places].sum()) * free[:-1] / free.sum()
            shared[group][places] = np.where(learned_shares < RAISED, 0.0, learned_shares)
    return shared


# Statements


def _choice(theory: Theory, number: int) -> Choice:
    return cast(Choice, theory.statements[number])


def _place(choice: Choice) -> Any:
    """Identity of a statement, whatever its probabilities; its head and body are included, as the rows of a
    network's table have the same span."""
    place = None if choice.span is None else (choice.span.source.name, choice.span.start)
    return place, choice.body, *(alternative.head for alternative in choice.alternatives)


def _relearned(choice: Choice) -> Choice:
    """The choice with its probabilities to be learned, unless they are no numbers but given by a row of the
    body."""
    chances = [one.probability for one in choice.alternatives]
    if not all(isinstance(chance, float | int) for chance in chances):
        return choice
    alternatives = tuple(
        replace(one, probability=Learned(start=float(cast(float, one.probability))))
        for one in choice.alternatives
    )
    return replace(choice, alternatives=alternatives)


def _by(choice: Choice) -> tuple[str, ...] | None:
    """Variables of ``?[x]``, the same in all alternatives; ``None`` if nothing is learned."""
    every = [one.probability.by for one in choice.alternatives if isinstance(one.probability, Learned)]
    return tuple(variable.name for variable in every[0]) if every else None


def _learned_places(theory: Theory, group: Group) -> np.ndarray:
    alternatives = _choice(theory, group[0]).alternatives
    return np.array([isinstance(one.probability, Learned) for one in alternatives])


def _open_places(theory: Theory, group: Group) -> np.ndarray:
    """Mask of the alternatives that have neither a probability nor a start."""
    chances = [one.probability for one in _choice(theory, group[0]).alternatives]
    return np.array([isinstance(chance, Learned) and chance.start is None for chance in chances])


def _stated(choice: Choice) -> np.ndarray:
    """Probability or start of each alternative, 0 if it has neither. If starts exceed what the probabilities
    leave, they are scaled to shares of it, beside equal ones of the learned heads without a start."""
    chances = [one.probability for one in choice.alternatives]
    learned = [chance for chance in chances if isinstance(chance, Learned)]
    given = np.array([float(chance) if isinstance(chance, float | int) else 0.0 for chance in chances])
    starts = np.array([(chance.start or 0.0) if isinstance(chance, Learned) else 0.0 for chance in chances])
    left = 1 - given.sum()
    if starts.sum() > left + CERTAIN:
        begun = sum(chance.start is not None for chance in learned)
        starts *= left / starts.sum() * begun / len(learned)
    return given + starts


def _started(choice: Choice) -> Choice:
    if not choice.learned:
        return choice
    chances = [one.probability for one in choice.alternatives]
    kinds = {c.by if isinstance(c, Learned) else c for c in chances if not isinstance(c, float | int)}
    if len(kinds) > 1:
        raise UnsupportedError(
            "the probabilities of one statement are learned for the same values, and beside numbers only",
            span=choice.span,
            hint="write ? or numbers before each head, or the same ?[x] before each",
        )
    _refuse_computed_by(choice)
    given = math.fsum(float(c) for c in chances if isinstance(c, float | int))
    if given > 1 + CERTAIN:
        raise UnsupportedError(
            f"the probabilities of this statement add up to {given:.10g}",
            span=choice.span,
            hint="at most one of the heads holds, so they add up to at most 1",
        )
    share = (1 - given) / (len(choice.alternatives) + 1)
    alternatives = [
        replace(one, probability=float(share)) if isinstance(one.probability, Learned) else one
        for one in choice.alternatives
    ]
    return replace(choice, alternatives=tuple(alternatives))


def _refuse_computed_by(choice: Choice) -> None:
    """Raise UnsupportedError for a variable of ``?[x]`` that only equations give values: instances keep those
    of atoms alone."""
    atoms = variables_of([part for part in choice.body if isinstance(part, AnyAtom)])
    heads = [variables_of(one.head).keys() for one in choice.alternatives]
    computing = any(isinstance(part, Computed) for part in choice.body)
    computed = bound_variables(choice.body) - atoms.keys() if computing else set[str]()
    for name in _by(choice) or ():
        if name in computed and not all(name in head for head in heads):
            raise UnsupportedError(
                f"a probability is to be learned for each value of {name}, which neither an atom of the body "
                "nor every head has",
                span=choice.span,
                hint=f"learn one for each value of variables that {name} is computed from",
            )


def _with_numbers(choice: Choice, values: tuple[Value, ...], probabilities: np.ndarray) -> Choice:
    """The statement for these values of its ``?[x]``, with its probabilities."""
    constants = dict(zip(_by(choice) or (), map(Constant, values), strict=True))
    alternatives = tuple(
        replace(one, probability=float(number), head=cast(Any, with_terms(one.head, constants)))
        for one, number in zip(choice.alternatives, probabilities.tolist(), strict=True)
    )
    body = tuple(cast(Any, with_terms(part, constants)) for part in choice.body)
    return replace(choice, alternatives=alternatives, body=body)


def _written(theory: Theory, probabilities: Probabilities) -> Iterator[Statement]:
    """Yield the statements with numbers; one that no evidence depends on keeps its question mark."""
    reached = defaultdict[int, list[Statement]](list)
    for (number, values), chances in probabilities.items():
        reached[number].append(_with_numbers(_choice(theory, number), values, chances))
    for number, statement in enumerate(theory.statements):
        yield from reached.get(number, [statement])


def _weights(theory: Theory, probabilities: Probabilities) -> Iterator[LearnedWeight]:
    for group in sorted(probabilities, key=lambda group: group[0]):
        choice = _choice(theory, group[0])
        constants = dict(zip(_by(choice) or (), group[1], strict=True))
        for one, number in zip(choice.alternatives, probabilities[group].tolist(), strict=True):
            if isinstance(one.probability, Learned):
                yield LearnedWeight(statement_text(_alone(choice, one)), constants, number)


def _alone(choice: Choice, one: Alternative) -> Choice:
    """The statement with one of its heads, without the values that only the other heads compute."""
    kept = [part for part in choice.body if named_value(part) is None]
    used = variables_of([one.head, *kept])
    body = [part for part in choice.body if (value := named_value(part)) is None or value[0] in used]
    return replace(choice, alternatives=(one,), body=tuple(body))
