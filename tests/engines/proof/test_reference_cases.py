"""TensorLog's own cases and what it refuses: counts, softmax and gradients on facts that exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import herbrand as hb
from herbrand.engines.proof.differentiable import scores
from tests.conftest import ROOT
from tests.engines.proof.test_single_proofs import proof_of

FOLDER = ROOT.parent / "shared" / "cases" / "tensorlog"
FILES = sorted(FOLDER.glob("*.json"))


def of_kind(gradient: bool) -> Sequence[object]:
    kinds = [(path, json.loads(path.read_text())["kind"] == "gradient") for path in FILES]
    found = [pytest.param(path, id=path.stem) for path, is_gradient in kinds if is_gradient == gradient]
    return found or [pytest.param(None, id="none")]


def opened(case: dict[str, object], folder: Path) -> hb.Model:
    theory = folder / "case.ppr"
    theory.write_text("\n".join(case["program"]) + "\n")  # type: ignore[arg-type]
    files = []
    if "facts_file" in case:
        names = str(case["facts_file"]).split(" + ")
        files += [str(FOLDER / name) for name in names if (FOLDER / name).exists()]
    else:
        rows = ("\t".join(map(str, row)) + "\n" for row in case["facts"])  # type: ignore[union-attr]
        (folder / "case.cfacts").write_text("".join(rows))
        files.append(str(folder / "case.cfacts"))
    for number, relation in enumerate(case.get("weights", ())):  # type: ignore[arg-type]
        path = folder / f"weights{number}.cfacts"
        values = relation["values"].items()
        path.write_text("".join(f"{relation['predicate']}\t{name}\t{value}\n" for name, value in values))
        files.append(str(path))
    return hb.Model(hb.read(str(theory)), files)


def goal_of(case: dict[str, object], constant: str) -> str:
    name, modes = str(case["mode"]).rstrip(")").split("(")
    return f'{name}("{constant}", y)' if modes == "i,o" else f'{name}(y, "{constant}")'


@pytest.mark.parametrize("path", of_kind(False))
def test_counts_and_softmax(path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip("no reference cases beside the checkout")
    case = json.loads(path.read_text())
    model = opened(case, tmp_path)
    goals = [goal_of(case, constant) for constant in case["input"]]
    counts = model.query(goals, depth=case["max_depth"])
    shares = model.query(goals, depth=case["max_depth"], normalize="softmax")
    for expected, answer in zip(case["expected"]["raw_exact"], counts, strict=True):
        got = {str(row.bindings["y"]): row.weight for row in answer.rows()}
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for expected, answer in zip(case["expected"]["softmax"], shares, strict=True):
        got = {str(row.bindings["y"]): row.weight for row in answer.rows()} | {"__NULL__": answer.null}
        every = dict.fromkeys([*got, *expected], 0.0)  # the original drops what float32 rounds to 0
        assert every | got == pytest.approx(every | expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("path", of_kind(True))
def test_gradients_on_existing_facts(path: Path | None, tmp_path: Path) -> None:
    """Of the log-likelihood of the targets under TensorLog's softmax, "no answer" included."""
    if path is None:
        pytest.skip("no reference cases beside the checkout")
    case = json.loads(path.read_text())
    proof = proof_of(opened(case, tmp_path))
    ((predicate, _),) = case["parameters"]
    relation = proof.program.relation(predicate)
    stated = torch.ones(relation.count) if relation.weights is None else torch.tensor(relation.weights)
    weights = stated.double().requires_grad_()
    likelihood = torch.zeros((), dtype=torch.float64)
    for example in case["examples"]:
        goal = proof.read(goal_of(case, example["input"]))
        table = scores(proof, goal.shape, [goal.inputs], {predicate: weights}, depth=case["max_depth"])
        shares = torch.log_softmax(torch.cat([table.values, torch.tensor([-10.0])]), 0)
        domain = proof.program.facts.domains[goal.shape.clause.types["y"]]
        found = domain.values_at(table.columns[1])
        targets = [shares[found.index(target)] for target in example["targets"] if target in found]
        likelihood = likelihood + sum(targets) / len(example["targets"])
    likelihood.backward()
    names = [proof.program.facts.domains[name] for name in proof.program.column_types(predicate)]
    columns = [names[i].values_at(column) for i, column in enumerate(relation.columns)]
    got = {
        f"{predicate}({','.join(map(str, row))})": float(gradient)
        for row, gradient in zip(zip(*columns, strict=True), weights.grad, strict=True)  # type: ignore[arg-type]
    }
    expected = case["exact_gradient_of_log_likelihood"]
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-6)
