"""The teacher against plain loops, sampling against its promises, training that repeats and resumes."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.learning.batch import Batch, Batches
from herbrand.learning.distillation import Lesson, logits_of, training
from herbrand.learning.sampling import Sampler
from herbrand.learning.settings import LearningSettings
from herbrand.learning.whole_graph import WholeLessons
from herbrand.program.bindings import Bindings
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program, Template

TEXT = """\
predicate smokes(person)
predicate friends(person, person)
predicate area(person) in {"ai", "db", "os"}
1.1: smokes(x) and friends(x, y) => smokes(y)
-0.7: friends(x, y) => friends(y, x)
0.9: friends(x, y) and area(x) = "ai" => area(y) in {"ai", "db"}
0.4: smokes(x)
friends("a", "b")
not friends("b", "c")
smokes("a")
area("c") = "db"
"""


def program(text: str = TEXT) -> Program:
    return hb.Model(hb.parse(text)).program


def every_grounding(template: Template, known: Program) -> Bindings:
    names = [name for name, _ in template.conjunction.variables]
    ranges = [range(len(known.domain(kind))) for _, kind in template.conjunction.variables]
    rows = np.array(list(itertools.product(*ranges))).reshape(-1, len(names))
    found = Bindings({name: rows[:, i] for i, name in enumerate(names)}, np.arange(len(rows)))
    for pair in template.conjunction.distinct:
        found = found.take(np.flatnonzero(found.column(pair[0]) != found.column(pair[1])))
    return found


def drawn_whole(known: Program) -> list[tuple[Template, Bindings]]:
    return [(t, every_grounding(t, known)) for t in known.templates if t.conjunction.literals]


def taught_by_loops(known: Program, drawn: list, batch: Batch, unary: torch.Tensor) -> np.ndarray:
    """One layer: every grounding, every literal, the product of the others' chances."""
    evidence = Evidence(known)
    place: dict[tuple[str, int], int] = {}
    for name, rows in batch.atoms.items():
        for row in rows.numpy():
            place[name, int(evidence_code(evidence, name, row))] = len(place)
    shares = torch.softmax(unary, dim=1).numpy()
    logits = unary.numpy().astype(float).copy()
    for template, rows in drawn:
        worth = template.sign * known.weights[template.weight].value
        for r in range(len(rows)):
            chances = []
            for literal in template.conjunction.literals:
                code = int(
                    rows.take(np.array([r])).codes(literal.arguments, evidence.sizes(literal.predicate))[0]
                )
                value = int(evidence.known(literal.predicate).lookup(np.array([code]))[0])
                if value >= 0:
                    chances.append((None, literal, float(value in literal.allowed)))
                else:
                    at = place[literal.predicate, code]
                    chances.append((at, literal, float(sum(shares[at][v] for v in literal.allowed))))
            for i, (at, literal, _) in enumerate(chances):
                if at is not None:
                    others = math.prod(c for j, (_, _, c) in enumerate(chances) if j != i)
                    for value in literal.allowed:
                        logits[at, value] += worth * others
    return logits


def evidence_code(evidence: Evidence, name: str, row: np.ndarray) -> int:
    code = 0
    for index, size in zip(row, evidence.sizes(name), strict=True):
        code = code * size + int(index)
    return code


def test_the_teacher_says_what_the_loops_say() -> None:
    known = program()
    drawn = drawn_whole(known)
    batch = Batches(Evidence(known)).of(drawn)
    state = training(known, LearningSettings(batch=8, size=4, seed=3))
    unary = logits_of(state.predictor, batch).detach()
    found = batch.taught(unary, 1).numpy()
    assert found == pytest.approx(taught_by_loops(known, drawn, batch, unary), abs=1e-5)


def test_a_batch_of_every_grounding_is_the_whole() -> None:
    """The same logits for every atom; those that no grounding bears on are in the whole only."""
    known = program()
    batch, whole = Batches(Evidence(known)).of(drawn_whole(known)), WholeLessons.of(known, 1, None)
    predictor = training(known, LearningSettings(batch=8, size=4)).predictor
    ours, theirs = (
        told_by_atom(lesson, lesson.taught(logits_of(predictor, lesson).detach(), 1))
        for lesson in (batch, whole)
    )
    untouched = told_by_atom(whole, logits_of(predictor, whole).detach())
    assert 5 < len(ours) < len(theirs)
    for atom, logits in theirs.items():
        assert logits == pytest.approx(ours.get(atom, untouched[atom]), abs=1e-5)


def told_by_atom(lesson: Lesson, logits: torch.Tensor) -> dict[tuple, list[float]]:
    """The logits of each atom, those of its first value taken off."""
    atoms = [(name, *row) for name, rows in lesson.atoms.items() for row in rows.tolist()]
    apart = torch.where(lesson.possible, logits - logits[:, :1], 0.0)
    return dict(zip(atoms, apart.tolist(), strict=True))


def test_sampling_keeps_its_promises() -> None:
    known = program()
    sampler = Sampler(Evidence(known), observed=1.0, seed=0)
    seen = dict.fromkeys(range(len(known.statements)), 0)
    for _ in range(30):
        for template, rows in sampler.draw(50):
            seen[template.statement] += len(rows)
            for left, right in template.conjunction.distinct:
                assert (rows.column(left) != rows.column(right)).all()
            if len(template.conjunction.literals) == 1:
                (literal,) = template.conjunction.literals
                listed = Evidence(known).known(literal.predicate).codes
                codes = rows.codes(literal.arguments, Evidence(known).sizes(literal.predicate))
                assert np.isin(codes, listed).all()
    drawn = [count for count in seen.values() if count]
    assert len(drawn) == 4 and max(drawn) < 1.5 * min(drawn)


def test_nothing_observed_is_uniform() -> None:
    known = program("type t = 1..4\npredicate p(t, t)\n1.0: p(x, y)\np(1, 1)")
    sampler = Sampler(Evidence(known), observed=0.0, seed=0)
    ((_, rows),) = sampler.draw(16_000)
    counts = np.bincount(rows.column("x") * 4 + rows.column("y"), minlength=16)
    assert counts.min() > 850 and counts.max() < 1150


@pytest.mark.parametrize("batch", [64, None])
def test_seeds_repeat_and_training_resumes(tmp_path: Path, batch: int | None) -> None:
    model = hb.Model(hb.parse(TEXT))
    told = {"latent": ["smokes", "friends", "area"], "size": 8, "layers": 2, "batch": batch, "rate": 0.01}
    straight = model.learn("distillation", iterations=12, seed=5, **told)
    assert model.learn("distillation", iterations=12, seed=5, **told).text == straight.text
    assert model.learn("distillation", iterations=12, seed=6, **told).text != straight.text
    kept = str(tmp_path / "half.safetensors")
    model.learn("distillation", iterations=7, seed=5, save=kept, **told)
    resumed = model.learn("distillation", iterations=12, seed=5, resume=kept, **told)
    assert resumed.text == straight.text
    assert resumed.metrics["steps"] == 5


def test_the_predictor_takes_the_rules_to_heart() -> None:
    text = "type t = 1..6\npredicate p(t): observed\npredicate q(t)\n2.0: p(x) => q(x)\n2.0: q(x) => p(x)\n"
    theory = hb.parse(text + "p(1)\np(2)\np(3)\n")
    found = hb.Model(theory).learn(
        "distillation", latent="q", size=8, layers=1, batch=64, iterations=150, rate=0.01
    )
    assert found.predictions is not None
    chances = [found.predictions["q"][i] for i in range(1, 7)]
    assert min(chances[:3]) > 0.6 > 0.4 > max(chances[3:])


def test_opinions_are_written_as_soft_evidence_that_adds_their_logits() -> None:
    model = hb.Model(hb.parse(TEXT))
    found = model.learn(
        "distillation", latent=["smokes", "friends", "area"], size=4, iterations=3, target="area"
    )
    declared = "".join(f"{line}\n" for line in found.text.splitlines() if line.startswith("predicate"))
    opinions = "".join(
        f"{line}\n" for line in found.text.splitlines() if line.startswith("area") and "~" in line
    )
    exact = hb.Model(hb.parse(declared + opinions)).infer(engine="exact")
    assert found.predictions is not None
    for person in "ab":
        assert exact["area"][person] == pytest.approx(found.predictions["area"][person], abs=1e-6)


def test_early_stopping() -> None:
    model = hb.Model(hb.parse(TEXT))
    found = model.learn("distillation", latent=["smokes", "friends", "area"], size=4, batch=8, patience=3)
    assert found.metrics["steps"] < 1000 and found.status.converged


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TEXT, {}, "no predicate is latent"),
        (TEXT, {"latent": "smoke"}, "there is no predicate 'smoke'"),
        (TEXT, {"latent": "smokes", "target": "friends"}, "--target friends: it is not latent"),
        (
            'type p = {"a", "b"}\n1: s(x) => c(x)\ns("a")\nc("a")\nnot c("b")',
            {"latent": ["s", "c"], "target": "c"},
            "--target c: the facts decide every atom of it",
        ),
        (TEXT + "?: smokes(x)\n", {"latent": "smokes"}, "takes weights as they are"),
        (TEXT + "hard: smokes(x)\n", {"latent": ["smokes", "area"], "batch": 8}, "statement that is hard"),
        (
            TEXT + "1.0: exists x: smokes(x)\n",
            {"latent": ["smokes", "area"], "batch": 8},
            "statement that quantifies",
        ),
        (TEXT, {"latent": "smokes"}, "has no value"),
        (TEXT, {"latent": "smokes", "batch": 0}, "--batch is a whole number from 1 on"),
        (TEXT, {"latent": "smokes", "worlds": [{}, {}]}, "one world's constants"),
        (TEXT, {"latent": "smokes", "bach": 3}, "no option 'bach'"),
        (TEXT, {"latent": ["smokes", "area"], "clip": 1.0, "batch": 8}, "--clip limits the sum of messages"),
        (TEXT, {"latent": ["smokes", "area"], "clip": -1.0}, "--clip is a number above 0, not -1.0"),
    ],
)
def test_what_cannot_be_distilled(text: str, options: dict, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        hb.Model(hb.parse(text)).learn("distillation", **options)


TWO = 'predicate s(p): observed\npredicate c(p)\n1: s(x) => c(x)\ntype p = {"a", "b"}\ns("a")\n'


@pytest.mark.parametrize(
    "other",
    [
        TWO.replace('"a"', '"u"'),
        TWO.replace("1: s(x) => c(x)", "-2: s(x) and c(x)"),
        TWO + 's("b")\n',
        TWO + 'c("b") ~ 0.7\n',
    ],
    ids=["constants", "weights", "facts", "opinions"],
)
def test_a_state_of_another_theory_is_refused(other: str, tmp_path: Path) -> None:
    """Of equal shapes, too: embeddings went to other constants without a word."""
    options: dict[str, Any] = {"latent": ["c"], "size": 4, "resume": str(tmp_path / "state")}
    hb.Model(hb.parse(TWO)).learn("distillation", iterations=2, save=options["resume"], **options)
    assert hb.Model(hb.parse(TWO)).learn("distillation", iterations=3, **options).metrics["steps"] == 1
    with pytest.raises(UnsupportedError, match="was trained on another theory or other facts"):
        hb.Model(hb.parse(other)).learn("distillation", iterations=3, **options)


def test_a_clipped_teacher_is_another_model_and_says_so() -> None:
    text = "predicate k(p): observed\npredicate s(p)\n0.5: k(x) => s(y)\n"
    model = hb.Model(hb.parse(text), {"k": [f"p{i}" for i in range(30)]})
    for clip, odds in ((None, 15.0), (2.0, 0.5 * 30 / 16)):
        taught = WholeLessons.of(model.program, 1, None, clip).taught(torch.zeros(30, 2), 1)
        assert (taught[:, 1] - taught[:, 0]).tolist() == pytest.approx([odds] * 30)
        found = model.learn("distillation", latent=["s"], size=4, iterations=2, clip=clip)
        assert found.method == ("distillation" if clip is None else "distillation (clip 2)")


def test_only_distillation_clips() -> None:
    with pytest.raises(UnsupportedError, match="does not use --clip, which is another model"):
        hb.Model(hb.parse("?: s(x)\ns(1)")).learn(clip=1.0)


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    model, kept = hb.Model(hb.parse(TEXT)), str(tmp_path / "state")
    model.learn("distillation", latent=["smokes", "area"], size=4, batch=4, iterations=1, save=kept)
    for name, value in (
        ("size", 5), ("batch", None), ("batch", 5), ("rate", 0.1), ("layers", 2), ("observed", 0.3),
        ("seed", 1),
    ):  # fmt: skip
        options: dict[str, Any] = {"size": 4, "batch": 4, name: value}
        with pytest.raises(UnsupportedError, match=f"trained with another --{name}"):
            model.learn("distillation", latent=["smokes", "area"], resume=kept, **options)
    more = model.learn(
        "distillation", latent=["smokes", "area"], size=4, batch=4, layers=5, iterations=2, resume=kept
    )
    assert more.status.iterations == 2
    (tmp_path / "text").write_text("no state")
    with pytest.raises(HerbrandError, match="is not a file of ours"):
        model.learn("distillation", latent=["smokes", "area"], size=5, batch=4, resume=str(tmp_path / "text"))
    with pytest.raises(HerbrandError, match="there is no file"):
        model.learn("distillation", latent=["smokes", "area"], size=5, batch=4, resume=str(tmp_path / "none"))
