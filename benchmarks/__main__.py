"""All benchmarks in one go: prints their tables and writes them into ``docs/benchmarks.md``.

    python -m benchmarks [--data PATH] [NAME...]      (make bench)

``--data``: where data of third parties lie, in place of ``HERBRAND_DATA``; what is not at hand is left out.
Each row races our time against a limit on the same machine in the same run, medians of interleaved repeats.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date
from pathlib import Path

from benchmarks.measurement import table

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
INTRO = """\
# Benchmarks

How fast and how accurate Herbrand is, beside a limit or another tool; each section names the command that
repeats it. `make bench` writes this page. Seconds are medians. Compare the ratios rather than the seconds: a
ratio of 1 is as fast as the limit.
"""
BENCHMARKS = {
    "structure": "The size of the source, and the files that one call enters",
    "start": "The cold start of a command, beside the import it cannot do without",
    "parsing": "Reading theories, beside a bare scan of the same text",
    "reading": "Reading the field's own formats, beside a bare scan of the same text",
    "alchemy": "Files of the Alchemy family, read and asked",
    "loading": "Loading facts, beside DuckDB's own scan of the same file",
    "lowering": "Lowering and grounding, beside the same joins in DuckDB",
    "contraction": "Contractions, beside the same sums by the fastest library call",
    "exact": "Exact inference, beside messages written by hand for the one case",
    "networks": "Bayesian networks, from the file to all marginals, beside pyAgrum",
    "lifted": "Exact lifted inference, beside ground elimination",
    "belief": "Belief propagation over classes, beside the same messages over ground atoms",
    "regions": "Region graphs, beside loopy belief propagation",
    "mean_field": "Mean field, beside the bare matrix products, and on published data",
    "layer": "A logic layer, beside the same updates written by hand in torch",
    "query_layer": "Query layers, beside the same sums written by hand in torch and beside klaycircuits",
    "learning": "Learning weights, on published data beside baselines",
    "likelihood": "Weights by likelihood, beside an optimiser over all worlds and planted weights",
    "left_out": "Weights by likelihood, pseudo-likelihood and layers, one split of published data left out",
    "ablations": "Training by sampled and by contracted groundings, one layer or five",
    "distillation": "Predictors taught by rules: what they rank right",
    "bounds": "Exact probability bounds, beside the paper's interior points",
    "bounds_larger": "Exact probability bounds of larger networks",
    "bounds_ariel": "Bounds by interval messages, beside exact bounds and the figures of the ARIEL paper",
    "bounds_scale": "Bounds by interval messages of large networks, beside the figures of the ARIEL paper",
    "bounds_million": "Bounds of a million atoms by interval messages",
    "query": "Queries by rules, beside the same sums written by hand",
    "circuit": "Circuits, beside ProbLog in one process, and determinism",
    "computed_rules": "Rules with arithmetic and aggregates, beside the same SQL in DuckDB",
    "matching": "Tables matched and decided, beside SciPy, SCIP and logistic regression",
    "query_learning": "Weights of facts and rules learned through proofs",
    "scale": "Mean field beyond memory, beside the kernel in memory",
    "serve": "A service under load: no answer is wrong",
    "peers": "Beside the tools people use today",
    "induction": "Neural Logic Machines: speed and memory",
    "induction_tasks": "Neural Logic Machines: supervised tasks",
    "induction_decisions": "Neural Logic Machines: decision tasks",
    "induction_digits": "Neural Logic Machines: reading pictures",
    "induction_ilp": "Rules from examples: published problems",
    "induction_splits": "Rules from examples: held-out examples of published problems",
    "induction_problems": "Rules from examples: planted rules of many kinds, in made worlds",
    "induction_rules": "Rules from examples: recursion, right of way and flipped labels in made worlds",
    "induction_graphs": "Rules of one large world, and the triples left out that they predict",
}


def machine() -> str:
    """The machine in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Python {platform.python_version()}"


def section(name: str) -> str:
    """A benchmark's title, command and table; one that has more to tell writes its own ``report``."""
    module = importlib.import_module(f"benchmarks.{name}")
    rows = module.report() if hasattr(module, "report") else table(module.measure())
    where = f"Measured on {machine()}, {date.today()}."
    return f"## {BENCHMARKS[name]}\n\n`python -m benchmarks {name}`\n\n{rows}\n\n{where}\n"


def sections(page: str) -> dict[str, str]:
    """The page's tables by the name of the benchmark that wrote each; others by their titles."""
    names = {title: name for name, title in BENCHMARKS.items()}
    parts = {part.split("\n", 1)[0]: f"## {part}" for part in page.split("\n## ")[1:]}
    return {names.get(title, title): part for title, part in parts.items()}


def main(names: list[str]) -> None:
    for name in names or (name for name in BENCHMARKS if name != "peers"):
        found = section(name)
        print(found, flush=True)
        write(name, found)


def write(name: str, found: str) -> None:
    """The page with one section renewed, as soon as it is measured."""
    page = PAGE.read_text() if PAGE.exists() else INTRO
    known = sections(page) | {name: found}
    order = [*BENCHMARKS, *(other for other in known if other not in BENCHMARKS)]
    parts = [page.split("\n## ")[0].rstrip() + "\n"]
    PAGE.write_text("\n".join([*parts, *(known[one].rstrip() + "\n" for one in order if one in known)]))


def asked(arguments: list[str]) -> list[str]:
    """The names among the arguments; ``--data`` is put where benchmarks look for it."""
    if arguments[:1] == ["--data"]:
        if len(arguments) < 2:
            sys.exit("--data needs a folder, such as: python -m benchmarks --data ../shared/data mean_field")
        os.environ["HERBRAND_DATA"] = arguments[1]
        arguments = arguments[2:]
    unknown = [name for name in arguments if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"there is no benchmark '{unknown[0]}'; there are {', '.join(BENCHMARKS)}")
    return arguments


if __name__ == "__main__":
    main(asked(sys.argv[1:]))
