"""Mean field: a step beside the bare matrix products it needs, benchmark data open world, and growth.

    python -m benchmarks mean_field      (make bench-mean-field)

Data of third parties is read where it lies (``HERBRAND_DATA``, or ``shared/data`` beside the checkout) and is
never part of the project; without it those rows are left out.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import torch
from torch import Tensor

import herbrand as hb
from benchmarks.measurement import Measurement, race, table
from benchmarks.published_data import DATA
from herbrand.engines.loop import Limits, settle
from herbrand.engines.mean_field.engine import MeanField, State
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts
from herbrand.facts.table import FactTable
from herbrand.language.check import check
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.language.syntax import WeightedFormula
from herbrand.program.counting import groundings
from herbrand.program.lower import lower
from herbrand.program.program import Program
from herbrand.program.question import Question
from herbrand.reports.metrics import average_precision

SMOKERS = "predicate s(t)\npredicate f(t, t)\n1.5: s(x) and f(x, y) => s(y)"
CHAIN = "predicate a(t, t)\npredicate b(t, t)\npredicate c(t, t)\n1.5: a(x, y) and b(y, z) => c(x, z)"
OBSERVED = "predicate s(t)\npredicate f(t, t): observed\n1.5: s(x) and f(x, y) => s(y)"


def report() -> str:
    """The page's tables."""
    parts = [
        "A whole step (messages, new marginals, residual) and its messages alone, float64:",
        table(efficiency()),
    ]
    if DATA.is_dir():
        parts += ["Published data, open world, weight 1, all rules, from the first step on:", published()]
        parts += [
            "Kinship, fixed weight 1, full graph, open world; average precision of `male`, ties kept; "
            "no label is used. The ceiling is that of any inference with these rules:",
            kinship(),
        ]
    parts += [
        "Links over constants, unary latent predicate; five steps:",
        links(),
        "Unary latent atoms; five steps:",
        growth(),
    ]
    return "\n\n".join(parts)


def program_of(text: str, count: int, rows: np.ndarray | None = None) -> Program:
    """A theory over ``count`` constants of type t, the observed f listed by ``rows``."""
    theory = hb.parse(text)
    signature = check(theory)
    domain = Domain.of("t", range(count), declared=True)
    tables = {}
    for name, predicate in signature.predicates.items():
        observed = rows is not None and name == "f"
        empty = FactTable.empty(predicate.arity, "closed" if observed else "open")
        tables[name] = empty
        if observed:
            tables[name] = FactTable(rows, empty.false, empty.soft, empty.probabilities, None, "closed")
    return lower(theory, signature, Facts({"t": domain}, tables))


def stepper(program: Program) -> Callable[[], State]:
    """One more step each time it is called."""
    engine = MeanField()
    state = engine.start(program, Question())

    def step() -> State:
        nonlocal state
        state = engine.step(state)
        return state

    return step


def messenger(program: Program) -> Callable[[], object]:
    problem: Problem = prepared(program)
    logits = {name: torch.zeros(t.shape, dtype=torch.float64) for name, t in problem.unknowns.tables.items()}
    marginals = problem.unknowns.marginals(logits)
    return lambda: problem.messages(marginals, problem.weights)


def efficiency() -> Iterator[Measurement]:
    """The smokers rule with latent links, and a rule that chains two latent relations."""
    n = 5000
    smokers = program_of(SMOKERS, n)
    s, f = (torch.rand(*shape, dtype=torch.float64) for shape in ((n,), (n, n)))

    def needed() -> tuple[Tensor, ...]:
        return f @ (1 - s), s @ f, torch.outer(s, 1 - s)

    def by_hand() -> tuple[Tensor, ...]:
        towards, away, both = needed()
        return torch.sigmoid(towards - away), torch.sigmoid(both)

    size = f"{n:,} constants"
    yield race("smokers, messages", size, messenger(smokers), "torch: its 3 products", needed)
    yield race("smokers, a step", size, stepper(smokers), "torch: its 3 products", needed)
    yield race("smokers, a step", size, stepper(smokers), "torch: products and sigmoids", by_hand)
    n = 2000
    chain = program_of(CHAIN, n)
    a, b, c = (torch.rand(n, n, dtype=torch.float64) for _ in range(3))

    def chained() -> tuple[Tensor, ...]:
        return a @ b, (1 - c) @ b.T, a.T @ (1 - c)

    size = f"{n:,} constants"
    yield race("chain rule, messages", size, messenger(chain), "torch: its 3 products", chained, 3)
    yield race("chain rule, a step", size, stepper(chain), "torch: its 3 products", chained, 3)


@cache
def benchmark_of(folder: str) -> tuple[Benchmark, Program]:
    found = read_benchmark(DATA / folder)
    names = [predicate.name for predicate in found.theory.predicates]
    return found, hb.Model(found.theory, open=names).program


def published() -> str:
    lines = [
        "| data | groundings | first five steps (CPU s) | a later step (CPU s) |",
        "| --- | ---: | ---: | ---: |",
    ]
    for folder in ("kinship/S1", "uw_cse/ai", "cora/S1"):
        if not (DATA / folder).is_dir():
            continue
        program = benchmark_of(folder)[1]

        def five(program: Program = program) -> None:
            step = stepper(program)
            for _ in range(5):
                step()

        first = cpu(five)
        step = stepper(program)
        step()
        later = cpu(step)
        lines.append(f"| {folder} | {all_groundings(program):.1e} | {first:.2f} | {later:.3f} |")
    return "\n".join(lines)


def all_groundings(program: Program) -> float:
    formulas = (s for s in program.statements if isinstance(s, WeightedFormula))
    return float(sum(groundings(s, program.signature, program.facts) for s in formulas))


def kinship() -> str:
    """Ten damped steps, chosen on S1 alone; and, beside them, the fixed point they would end in."""
    lines = [
        "| split | ten steps, damping 0.8 | seconds | ceiling | at the fixed point | its steps |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    ceilings = {"S1": 0.9583, "S2": 0.9719, "S3": 0.9850, "S4": 0.9848}
    for split, ceiling in ceilings.items():
        if not (DATA / "kinship" / split).is_dir():
            continue
        found, program = benchmark_of(f"kinship/{split}")
        began = time.perf_counter()
        early, _ = settle(MeanField(damping=0.8), program, Question(), Limits(iterations=10))
        took = time.perf_counter() - began
        late, status = settle(MeanField(), program, Question(), Limits(tolerance=1e-4))
        one, other = (average_precision(*ranked(found, program, state)) for state in (early, late))
        lines.append(
            f"| {split} | {one:.4f} | {took:.2f} | {ceiling:.4f} | {other:.4f} | {status.iterations} |"
        )
    return "\n".join(lines)


def ranked(found: Benchmark, program: Program, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the queried atoms, and their log-odds; what differs by rounding only is a tie."""
    scores, labels = [], []
    domain = program.domain("person")
    for rows in found.queries:
        logits = state.best.logits[rows.predicate].reshape(-1).numpy()
        for index in range(rows.row_count):
            place = domain.index_of(rows.row(index)[0])
            assert place is not None
            scores.append(float(logits[place]))
            labels.append(rows.kind == "true")
    return np.array(labels), np.round(scores, 9)


def links() -> str:
    """Ten links a constant."""
    lines = [
        "| constants | links | five steps (CPU s) | with gradients (CPU s) | peak beside the facts (MB) |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for count in (10**5, 10**6):
        random = np.random.default_rng(0)
        keys = np.unique(random.integers(0, count * count, 10 * count, dtype=np.int64))
        rows = np.stack(np.divmod(keys, count), axis=1).astype(np.int32)
        program = program_of(OBSERVED, count, np.asfortranarray(rows))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        step = stepper(program)
        step()
        took = cpu(lambda step=step: [step() for _ in range(5)])
        del step
        layer = hb.nn.LogicLayer(program, 5)
        logits = {"s": torch.randn(count, dtype=torch.float64, requires_grad=True)}
        layer(logits)["s"].sum().backward()
        both = cpu(lambda layer=layer, logits=logits: layer(logits)["s"].sum().backward())
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        lines.append(f"| {count:,} | {len(rows):,} | {took:.2f} | {both:.2f} | {peak:.0f} |")
    return "\n".join(lines)


def growth() -> str:
    lines = ["| latent atoms | five steps (CPU s) |", "| ---: | ---: |"]
    text = "predicate p(t)\npredicate q(t)\n1.2: p(x) => q(x)\n-0.3: p(x)\n0.4: q(x)"
    for count in (10**5, 10**6, 5 * 10**6):
        step = stepper(program_of(text, count))
        step()
        lines.append(f"| {2 * count:,} | {cpu(lambda step=step: [step() for _ in range(5)]):.2f} |")
    return "\n".join(lines)


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    print(report())
