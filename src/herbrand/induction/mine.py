"""Rule mining in one large world: the Python side of ``herbrand induce`` without ``--worlds``."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herbrand.errors import FactsError, HerbrandError, counted, nearest
from herbrand.induction.graph import KnowledgeGraph, read_graph, read_triples
from herbrand.induction.journal import journal_at
from herbrand.induction.link_prediction import LinkScores, link_scores
from herbrand.induction.mining import MinedRule, MiningLimits
from herbrand.induction.mining import mine as mined
from herbrand.language.syntax import FactRows, Statement
from herbrand.language.theory import Theory, refuse_no_theory, show
from herbrand.options.kinds import check_functions
from herbrand.options.table import LONGEST_BODY, check, check_all

SHOWN = 20
"""Most rules that are listed with their counts; JSON has all."""


@dataclass(frozen=True, repr=False)
class Mined:
    """Result of mining. ``rules``, the largest weight first, and ``theory``, which has them as
    ``head :- body @ weight`` or as ``weight :: head :- body``. ``links``: scores of link prediction on the
    held-out triples."""

    theory: Theory
    graph: KnowledgeGraph
    rules: tuple[MinedRule, ...]
    seconds: float
    links: LinkScores | None = None

    @property
    def text(self) -> str:
        """The theory, as a file of the language."""
        return show(self.theory)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.report}".rstrip()

    @property
    def title(self) -> str:
        """Number of rules and of triples, and the time taken."""
        rules, graph = counted(len(self.rules), "rule"), self.graph
        return f"{rules} from {graph.triples:,} triples of {graph.size:,} entities in {self.seconds:.1f} s"

    @property
    def report(self) -> str:
        """The first rules with their counts, and the scores of link prediction by all of them."""
        lines = [self._line(rule) for rule in self.rules[:SHOWN]]
        if len(self.rules) > SHOWN:
            lines.append(f"and {len(self.rules) - SHOWN:,} more")
        return "\n".join([*lines, *([self.links.text] if self.links is not None else [])])

    def _line(self, rule: MinedRule) -> str:
        counted = "" if rule.exact else " (estimated from a part of the subjects)"
        return (
            f"{rule.text(self.graph)}: {rule.support:,.0f} of {rule.body:,.0f} right, confidence "
            f"{rule.confidence:.1%}, PCA {rule.pca_confidence:.1%}, coverage {rule.coverage:.1%}{counted}"
        )

    def to_json(self) -> str:
        """The text of ``to_dict``."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        reports = [
            {
                "rule": rule.text(self.graph),
                "support": rule.support,
                "body": rule.body,
                "confidence": rule.confidence,
                "pca_confidence": rule.pca_confidence,
                "coverage": rule.coverage,
                "exact": rule.exact,
            }
            for rule in self.rules
        ]
        metrics: dict[str, Any] = {
            "rules": len(self.rules),
            "triples": self.graph.triples,
            "entities": self.graph.size,
            "rule_reports": reports,
        }
        if self.links is not None:
            metrics["link_prediction"] = self.links.to_dict()
        return {"seconds": self.seconds, "metrics": metrics}


def mine(
    theory: Theory | None = None,
    *,
    facts: Any = None,
    target: str | None = None,
    length: int = 3,
    held_out: Any = None,
    header: bool | None = None,
    weights: str = "proofs",
    seed: int = 0,
    resume: str | Path | None = None,
    watch: Callable[[str, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Mined:
    """Mine weighted rules for ``target``, or for each binary relation in turn, from one large world.

    ``theory``: declarations, facts, and rules that derive more relations; the result keeps all but the facts.
    ``facts``: tables, as a model takes them. ``length``: most literals of a body. ``held_out``: triples that
    were left out, in the same form, to measure link prediction on. A rule's weight is support / (derived
    pairs + 5); in queries with ``depth=1``, the algebra ``max`` or ``independent`` (noisy-or) gives a
    triple's score. ``weights``: ``probabilities`` writes ``weight :: head :- body`` in place of ``head :-
    body @ weight``. ``resume``: a file that keeps the rules, relation by relation; if it exists, the run
    resumes from it. ``header`` and ``note`` are those of a model. ``seed``: of all random choices. ``watch``
    is called with what is done and how much of it."""
    check_all("induce", {"seed": seed, "length": length, "weights": weights})
    check("induce", {"target": target, "resume": resume})
    check_functions(watch=watch, note=note)
    began = time.monotonic()
    theory = Theory() if theory is None else theory
    refuse_no_theory("mine", theory)
    graph, notes = read_graph(theory, facts, header)
    if note is not None:
        for text in notes:
            note(text)
    if target is not None and target not in graph.relations:
        raise FactsError(
            f"there is no relation '{target}' with two arguments among the facts",
            hint=nearest(target, graph.relations) or f"there are {', '.join(graph.relations)}",
        )
    heads = None if target is None else [graph.relations.index(target)]
    options = {"target": target, "length": length, "seed": seed}
    with journal_at(resume, lambda: {**options, "theory or facts": _digest(theory, graph)}) as journal:
        rules = mined(graph, MiningLimits(length=length, seed=seed), heads, watch, journal)
    if not rules:
        hint = "more facts" if length >= LONGEST_BODY else "more facts, or a larger --length"
        raise HerbrandError("no rule is right of three triples and once in a hundred", hint=hint)
    seconds = time.monotonic() - began
    links = None
    if held_out is not None:
        triples = read_triples(theory, held_out, graph, header)
        if target is not None:
            triples = triples[triples[:, 0] == graph.relations.index(target)]
        links = link_scores(graph, rules, triples)
    return Mined(_theory(theory, graph, rules, weights), graph, tuple(rules), seconds, links)


def _digest(theory: Theory, graph: KnowledgeGraph) -> str:
    """Digest of the theory and the graph, which identifies the input of a run."""
    digest = hashlib.sha256(show(theory).encode())
    digest.update(repr((graph.relations, graph.entities)).encode())
    digest.update(graph.offsets.tobytes() + graph.targets.tobytes())
    return digest.hexdigest()[:16]


def _theory(theory: Theory, graph: KnowledgeGraph, rules: list[MinedRule], weights: str) -> Theory:
    kept: list[Statement] = [s for s in theory.statements if not isinstance(s, FactRows)]
    return Theory((*kept, *(rule.statement(graph, weights) for rule in rules)))
