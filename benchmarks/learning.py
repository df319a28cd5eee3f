"""Weights learned on published data, under labelled protocols: from facts, and from other splits' labels.

    python -m benchmarks learning      (make bench-learning)

The data are read where they lie (``HERBRAND_DATA``, or ``shared/data`` beside the checkout) and are never
part of the project; without them a family of the project's own is learned from, for time alone. Nothing is
chosen on the labels it is measured on: docs/learning.md says how.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import herbrand as hb
from benchmarks.baselines import FIELDS, Field, advisers, closure, matrix, word_overlap
from benchmarks.labelled_worlds import CORA, UW_CSE, query_indices
from benchmarks.measurement import seconds
from benchmarks.published_data import DATA
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.language.syntax import FactRows, Learned, Statement, WeightedFormula
from herbrand.language.theory import Theory
from herbrand.learning.climbing import Penalty, Slope, climb
from herbrand.learning.conditionals import Conditionals
from herbrand.learning.learned import Learning
from herbrand.learning.messages import Aim, World, example, statement_messages
from herbrand.nn.logic_layer import LogicLayer
from herbrand.reports.metrics import average_precision


def report() -> str:
    """The page's tables."""
    torch.set_num_threads(1)
    parts = ["Time of pseudo-likelihood, from facts in memory to weights:", times()]
    if DATA.is_dir():
        parts += [
            "Cora, **without query labels**: weights of words, shared and one by one, are learned from the "
            "SameBib facts. The penalty, one for all splits, is the one that best ranks held-out SameBib "
            "facts about records that share no field. Values are average precision over all queries, ties "
            "kept:",
            from_facts(),
            "**Supervised**, leave one split out, closed world (atoms of a training split are left out of "
            "the test): logistic regression on the message of each rule to each query in one pass. *sum* is "
            "the theory itself with learned weights and one layer; *log + clip* compresses each rule's "
            "messages, which is another model. The penalty is chosen by leaving one training split out. So "
            'is the compression in the rows "chosen"; on UW-CSE this chooses log + clip every time.',
            supervised(),
        ]
    return "\n\n".join(parts)


# Time


SMOKERS = """\
predicate smokes(p)
predicate cancer(p)
predicate friends(p, p): observed
?: smokes(x) and friends(x, y) => smokes(y)
?: smokes(x) => cancer(x)
?: smokes(x)
?: cancer(x)
"""


def times() -> str:
    lines = ["| people | links | atoms predicted | seconds |", "| ---: | ---: | ---: | ---: |"]
    for people in (1_000, 100_000):
        rng = random.Random(people)
        names = [f"p{i:06}" for i in range(people)]
        links = sorted({(rng.choice(names), rng.choice(names)) for _ in range(5 * people)})
        facts = {"friends": links, "smokes": names[::3], "cancer": names[::7]}
        model = hb.Model(hb.parse(SMOKERS), facts)
        model.learn()  # once, so that compiling is not counted
        took = seconds(lambda model=model: model.learn())
        lines.append(f"| {people:,} | {len(links):,} | {2 * people:,} | {took:.2f} |")
    return "\n".join(lines)


# Cora from facts


SIGNS = ("{0}(x, w) and {0}(y, w)", "not {0}(x, w) and {0}(y, w)", "{0}(x, w) and not {0}(y, w)")
STRENGTHS = (300.0, 1000.0, 3000.0, 10_000.0, 30_000.0)
FOLDS = 3
LINK = 10.0
"""The weight of "records known to be the same make their fields the same"; any large number ranks alike."""


def word_rules(field: Field, premise: str, conclusion: str) -> Iterator[str]:
    for weight, signs in product(("?", "?[w]"), SIGNS):
        yield f"{weight}: {premise}{signs.format(field.words)} => {conclusion}"


def training_rules() -> Theory:
    """Shared words make records the same; so does one and the same field."""
    lines = ["?: SameBib(b, c)"]
    for field in FIELDS:
        lines += word_rules(field, f"{field.name}(b, x) and {field.name}(c, y) and ", "SameBib(b, c)")
        lines.append(f"?: {field.name}(b, x) and {field.name}(c, x) => SameBib(b, c)")
    return hb.parse("\n".join(lines))


def applied_rules(field: Field) -> Theory:
    """The same words make fields the same; so do records that are known to be."""
    linked = f"{field.name}(b, x) and {field.name}(c, y) and SameBib(b, c)"
    rules = [
        *word_rules(field, "", f"{field.same}(x, y)"),
        f"{LINK}: (exists b, c: {linked}) => {field.same}(x, y)",
    ]
    return hb.parse("\n".join(rules))


def without_rules(data: Benchmark) -> Theory:
    return Theory(tuple(s for s in data.theory.statements if not isinstance(s, WeightedFormula)))


def learned_from_facts(facts: Theory, l2: float) -> Learning:
    return hb.Model(facts + training_rules()).learn(
        target="SameBib", latent=["SameBib", *(field.same for field in FIELDS)], l2=l2
    )


def from_facts() -> str:
    heads = ("split", "base rate", "word overlap", "closure of links", "closure + overlap", "learned")
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * 5]
    splits = {name: read_benchmark(DATA / "cora" / name) for name in CORA}
    l2 = foretelling_strength([without_rules(data) for data in splits.values()])
    columns = []
    for data in splits.values():
        learning = learned_from_facts(without_rules(data), l2)
        labels, overlap, closed, odds = (np.concatenate(parts) for parts in zip(
            *(field_columns(data, field, learning) for field in FIELDS), strict=True
        ))  # fmt: skip
        rankings = (overlap, closed, 2 * closed + overlap, odds)
        columns.append([labels.mean(), *(average_precision(labels, ranking) for ranking in rankings)])
    for name, figures in [*zip(splits, columns, strict=True), ("average", np.mean(columns, axis=0))]:
        lines.append(f"| {name} | {' | '.join(f'{figure:.3f}' for figure in figures)} |")
    return "\n".join([*lines, "", f"The chosen penalty is {l2:g}."])


def foretelling_strength(worlds: Sequence[Theory]) -> float:
    """The one penalty, for all splits, under which held-out SameBib facts are ranked best."""
    folds = [fold for facts in worlds for fold in folds_of(facts)]
    scores = {l2: mean(held_out(*fold, l2) for fold in folds) for l2 in STRENGTHS}
    return max(scores, key=lambda l2: scores[l2])


def folds_of(facts: Theory) -> list[tuple[Theory, Theory]]:
    """Facts about some clusters of records, and about the others."""
    links = {
        rows.kind: list(zip(*rows.columns, strict=True))
        for rows in facts.facts
        if rows.predicate == "SameBib"
    }
    names = sorted({name for pairs in links.values() for pair in pairs for name in pair})
    place = {name: i for i, name in enumerate(names)}
    pairs = np.array([(place[a], place[b]) for a, b in links["true"]])
    graph = csr_array((np.ones(len(pairs)), pairs.T), shape=(len(names),) * 2)
    cluster = connected_components(graph)[1]
    fold = np.random.default_rng(0).integers(0, FOLDS, cluster.max() + 1)[cluster]
    of = {name: int(fold[i]) for name, i in place.items()}

    def part(held: int, inside: bool) -> Theory:
        kept = []
        for rows in facts.statements:
            if isinstance(rows, FactRows) and rows.predicate == "SameBib":
                chosen = [
                    p for p in zip(*rows.columns, strict=True) if all((of[n] == held) == inside for n in p)
                ]
                if chosen:
                    columns = tuple(zip(*chosen, strict=True))
                    kept.append(FactRows("SameBib", columns, len(chosen), rows.kind))
            else:
                kept.append(rows)
        return Theory(tuple(kept))

    return [(part(held, False), part(held, True)) for held in range(FOLDS)]


def held_out(train: Theory, test: Theory, l2: float) -> float:
    """Average precision on the held-out facts about records that share no field, as queries' never do."""
    learning = learned_from_facts(train, l2)
    model = closed_but("SameBib", without_facts_of(test, "SameBib") + Theory(learning.theory.formulas))
    layer = LogicLayer(model, iterations=1, damping=0.0).double()
    with torch.no_grad():
        table = layer.log_odds()["SameBib"].numpy()
    fields: Any = (matrix(model.program, field.name) for field in FIELDS)
    shared = sum(of @ of.T for of in fields)
    assert not isinstance(shared, int)
    labels, odds = [], []
    for rows in test.facts:
        if rows.predicate == "SameBib":
            at = tuple(query_indices(model.program, "SameBib", rows.columns).T)
            apart = shared[at] == 0
            odds.append(table[at][apart])
            labels.append(np.full(int(apart.sum()), rows.kind == "true"))
    return average_precision(np.concatenate(labels), np.concatenate(odds))


def closed_but(open_predicate: str, theory: Theory) -> hb.Model:
    """A model in which what is not listed is false, but for one predicate."""
    names = [declaration.name for declaration in theory.predicates]
    return hb.Model(theory, open=[open_predicate], closed=[n for n in names if n != open_predicate])


def without_facts_of(facts: Theory, predicate: str) -> Theory:
    return Theory(
        tuple(s for s in facts.statements if not (isinstance(s, FactRows) and s.predicate == predicate))
    )


def field_columns(
    data: Benchmark, field: Field, learning: Learning
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels of a field's queries, their word overlap, whether links close them, and learned log-odds."""
    model = closed_but(field.same, without_rules(data) + applied_rules(field))
    program = model.program
    layer = LogicLayer(program, iterations=1, damping=0.0).double()
    put_weights(layer, field, learning)
    with torch.no_grad():
        odds = layer.log_odds()[field.same].numpy()
    queries = [rows for rows in data.queries if rows.predicate == field.same]
    at = np.concatenate([query_indices(program, rows.predicate, rows.columns) for rows in queries])
    labels = np.concatenate([np.full(rows.row_count, rows.kind != "false") for rows in queries])
    first, second = at.T
    return (
        labels,
        word_overlap(program, field)[first, second],
        closure(program, field)[first, second],
        odds[first, second],
    )


def put_weights(layer: LogicLayer, field: Field, learning: Learning) -> None:
    """The weights that SameBib taught, for the rules of one field."""
    words = {name: i for i, name in enumerate(layer.program.domain("word"))}
    numbers = {text: number for number, text in enumerate(trained_statements(field))}
    with torch.no_grad():
        for one in learning.weights:
            if one.statement in numbers:
                place = tuple(words[str(word)] for word in one.constants.values())
                layer.weights[numbers[one.statement]][place] = one.weight


def trained_statements(field: Field) -> list[str]:
    """The statements that :func:`training_rules` has for a field's words, in the order of its own rules."""
    rules = word_rules(field, f"{field.name}(b, x) and {field.name}(c, y) and ", "SameBib(b, c)")
    return [hb.show(hb.parse(rule)).strip() for rule in rules]


# Supervised


@dataclass(frozen=True, eq=False)
class Split:
    """Queries of a split: their names, labels, and what each rule says to each in one pass."""

    names: Sequence[tuple[object, ...]]
    labels: np.ndarray
    messages: np.ndarray
    heuristic: np.ndarray | None = None


Compression = Callable[[np.ndarray], np.ndarray]


def logarithm(messages: np.ndarray) -> np.ndarray:
    return np.sign(messages) * np.log1p(np.abs(messages))


def clipped(messages: np.ndarray) -> np.ndarray:
    return np.clip(messages, -1, 1)


COMPRESSIONS: Mapping[str, Compression] = {
    "sum": lambda messages: messages,
    "log": logarithm,
    "clip": clipped,
    "log + clip": lambda messages: np.hstack([logarithm(messages), clipped(messages)]),
}
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
HAND = "student × professor × (1 + publications + whether taught, together)"


def supervised() -> str:
    heads = ("data", "model", "average", "by split")
    lines = [f"| {' | '.join(heads)} |", "| --- | --- | ---: | --- |"]
    uw = {name: read_split("uw_cse", name, ("advisedBy",)) for name in UW_CSE}
    cora = {name: read_split("cora", name, tuple(field.same for field in FIELDS)) for name in CORA}
    by_hand = {n: average_precision(s.labels, s.heuristic) for n, s in uw.items() if s.heuristic is not None}
    lines.append(_line("UW-CSE", HAND, by_hand))
    for data, splits in (("UW-CSE", uw), ("Cora", cora)):
        lines += [
            _line(data, name, left_out(splits, {name: COMPRESSIONS[name]})) for name in ("sum", "log + clip")
        ]
        lines.append(_line(data, "one of sum, log, clip, log + clip, chosen", left_out(splits, COMPRESSIONS)))
    return "\n".join(lines)


def _line(data: str, model: str, found: Mapping[str, float]) -> str:
    shown = ", ".join(f"{name} {figure:.3f}" for name, figure in found.items())
    return f"| {data} | {model} | {mean(found.values()):.3f} | {shown} |"


def left_out(splits: Mapping[str, Split], compressions: Mapping[str, Compression]) -> dict[str, float]:
    """Average precision of each split by what is learned and chosen on the others."""
    found = {}
    for held, test in splits.items():
        others = {name: split for name, split in splits.items() if name != held}
        _, name, l2 = max(
            (mean(_inner(others, validation, compressions[name], l2) for validation in others), name, l2)
            for name, l2 in product(compressions, PENALTIES)
        )
        found[held] = precision(list(others.values()), test, compressions[name], l2)
    return found


def _inner(splits: Mapping[str, Split], held: str, compression: Compression, l2: float) -> float:
    train = [split for name, split in splits.items() if name != held]
    return precision(train, splits[held], compression, l2)


def precision(train: Sequence[Split], test: Split, compression: Compression, l2: float) -> float:
    """Learned on some splits, measured on another without the queries that occur in them."""
    features = compression(np.concatenate([split.messages for split in train]))
    labels = np.concatenate([split.labels for split in train])
    weights = logistic(with_bias(features), labels, l2)
    seen = {name for split in train for name in split.names}
    new = np.array([name not in seen for name in test.names])
    return average_precision(test.labels[new], (with_bias(compression(test.messages)) @ weights)[new])


def with_bias(features: np.ndarray) -> np.ndarray:
    return np.hstack([features, np.ones((len(features), 1))])


def logistic(features: np.ndarray, labels: np.ndarray, l2: float) -> np.ndarray:
    signs = np.where(labels, -1.0, 1.0)[:, None]
    objective = Conditionals.of(csr_array(signs * features), np.zeros((len(labels), 1)))
    slope = Slope(objective.value_and_gradient, objective.curvature, objective.hessian)
    return climb(slope, features.shape[1], Penalty(l2)).weights


@cache
def read_split(folder: str, name: str, targets: tuple[str, ...]) -> Split:
    data = read_benchmark(DATA / folder / name)
    theory = Theory((*map(_to_learn, data.theory.statements), *data.queries))
    model = hb.Model(theory)
    world = example(theory, World(model.signature, model.stated_program.facts), Aim(targets))
    names, labels, messages = [], [], []
    for target in targets:
        said = statement_messages(world, target)
        for rows in data.queries:
            if rows.predicate == target:
                at = query_indices(world.program, target, rows.columns)
                messages.append(said[np.ravel_multi_index(tuple(at.T), world.hidden.sizes(target))])
                labels += [rows.kind != "false"] * rows.row_count
                names += [(target, *row) for row in zip(*rows.columns, strict=True)]
    heuristic = None
    if folder == "uw_cse":
        table = advisers(world.known)
        places = [query_indices(world.known, rows.predicate, rows.columns).T for rows in data.queries]
        heuristic = np.concatenate([table[tuple(at)] for at in places])
    return Split(names, np.array(labels), np.concatenate(messages), heuristic)


def _to_learn(statement: Statement) -> Statement:
    if not isinstance(statement, WeightedFormula):
        return statement
    return WeightedFormula(Learned(), statement.formula, statement.where)
