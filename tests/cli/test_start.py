"""Telling the version or the options loads nothing that only work needs."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from herbrand.cli.app import COMMANDS
from herbrand.options.table import options_of
from tests.conftest import Outcome

HEAVY = ("torch", "numpy", "duckdb", "pyarrow", "scipy", "numba", "lark", "rich.console", "rich.progress")


NOT_FOR_A_SMALL_RUN = (
    *("pandas", "polars", "scipy", "numba", "pyarrow.parquet", "pyarrow.csv", "pyspark"),
    *("duckdb", "pyarrow.compute"),
    *("herbrand.nn", "herbrand.learning", "herbrand.induction", "herbrand.reports"),
    *("herbrand.engines.lifted", "herbrand.engines.belief", "herbrand.engines.mean_field"),
    *("herbrand.engines.credal", "herbrand.engines.proof", "herbrand.engines.gibbs", "rich.console"),
)
SMOKERS = "examples/smokers/smokers.hb"


def loaded(arguments: list[str], of: Sequence[str]) -> list[str]:
    """Which modules a command has loaded when it ends, in a process of its own."""
    script = (
        "import atexit, sys\n"
        f"sys.argv = ['herbrand', *{arguments!r}]\n"
        f"atexit.register(lambda: print([m for m in {list(of)!r} if m in sys.modules], file=sys.stderr))\n"
        "from herbrand.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout
    return ast.literal_eval(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["infer", "--help"]], ids=" ".join)
def test_help_is_light(arguments: list[str]) -> None:
    assert loaded(arguments, HEAVY) == []


@pytest.mark.parametrize("facts", [[], ["--facts", "examples/smokers/facts"]], ids=["without", "with"])
def test_a_small_exact_run_loads_little(facts: list[str]) -> None:
    """What it loads is nearly all of the time that a cold start takes: docs/benchmarks.md."""
    assert loaded(["infer", SMOKERS, *facts], ["torch", *NOT_FOR_A_SMALL_RUN]) == []


COSTED = {
    "a hard statement": "hard: smokes(x) => cancer(x)\n0.5: smokes(x)\n",
    "atoms that are one": "hard: smokes(x) <=> cancer(x)\n0.5: smokes(x) and cancer(y)\n",
    "a quantifier": "-0.4: exists y: friends(x, y) and smokes(y)\n",
    "a quantifier with shared atoms": "0.4: exists x, y: friends(x, y) and smokes(x) and cancer(y)\n",
    "an opinion": 'smokes("anna") ~ 0.7\n0.5: smokes(x) => cancer(x)\n',
    "what is known alone": 'friends("anna", "bob")\n0.2: friends(x, y)\n0.5: smokes(x)\n',
    "rows of what is known": (
        'predicate knows(person, person): observed\nknows("anna", "bob")\n'
        "0.5: knows(x, y) and knows(y, z) and smokes(x) => smokes(z)\n"
    ),
}
DECLARED = (
    'type person = {"anna", "bob"}\npredicate friends(person, person)\n'
    "predicate smokes(person)\npredicate cancer(person)\n"
)


CHECKED_IN_TURN = """
import contextlib, io, json, sys
from herbrand.cli import main

torch_is_loaded = []
for theory in json.loads(sys.argv[1]):
    sys.argv = ["herbrand", "check", theory]
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.suppress(SystemExit):
        main()
    assert "engine auto" in told.getvalue()
    torch_is_loaded.append("torch" in sys.modules)
print(json.dumps(torch_is_loaded))
"""


@pytest.fixture(scope="module")
def torch_is_loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Whether PyTorch is loaded after each of the theories, and those above it, has been checked."""
    folder = tmp_path_factory.mktemp("costed")
    theories = [folder / f"{number}.hb" for number in range(len(COSTED))]
    for theory, text in zip(theories, COSTED.values(), strict=True):
        theory.write_text(DECLARED + text)
    command = [sys.executable, "-c", CHECKED_IN_TURN, json.dumps([str(theory) for theory in theories])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(zip(COSTED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("named", COSTED)
def test_telling_what_engines_cost_needs_no_tensors(named: str, torch_is_loaded: dict[str, bool]) -> None:
    """Importing torch would take most of the time of a small check: mean field imports it when it runs."""
    assert not torch_is_loaded[named]


def test_bounds_need_no_tensors() -> None:
    assert loaded(["bound", "examples/alarm_bounds/alarm.hb"], ["torch", "herbrand.scale.place"]) == []


def test_bounds_of_few_atoms_wait_for_no_compiler() -> None:
    bound = ["bound", "examples/alarm_bounds/alarm.hb"]
    assert loaded([*bound, "--engine", "ariel"], ["numba", "torch"]) == []


WITHOUT_TORCH = """
import contextlib, io, json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from herbrand.cli import main

def outcome(arguments):
    sys.argv = ["herbrand", *arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()

print(json.dumps([outcome(arguments) for arguments in json.load(sys.stdin)]))
"""
"""Command lines where no PyTorch is installed, one after another: a process each would mostly import."""

LEARN = ["learn", "examples/learning/smokers.hb", "--facts", "examples/smokers/facts"]
ANSWERED = [
    ["infer", SMOKERS],
    *(["infer", SMOKERS, "--engine", name] for name in ("exact", "lifted", "regions", "bp")),
    ["infer", SMOKERS, "--map"],
    ["explain", SMOKERS, 'cancer("anna")'],
    ["check", SMOKERS],
    ["convert", SMOKERS],
    ["bound", "examples/alarm_bounds/alarm.hb"],
    ["query", "examples/family/family.hb", 'uncle("liam", y)'],
    LEARN,
]
REFUSED = [
    ["infer", SMOKERS, "--engine", "mean-field"],
    [*LEARN, "--method", "pseudo-likelihood"],
    ["induce", "examples/families/families.hb", "--worlds", "examples/families/worlds", "--target", "uncle"],
]


@pytest.fixture(scope="module")
def plain() -> Callable[[list[str]], Outcome]:
    """What commands do without PyTorch, all of them in one process that cannot import it."""
    lines = [*ANSWERED, *REFUSED]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], input=json.dumps(lines), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    outcomes = [Outcome(*one) for one in json.loads(done.stdout)]
    return lambda arguments: outcomes[lines.index(arguments)]


@pytest.mark.parametrize(
    "arguments", ANSWERED, ids=lambda arguments: " ".join(arguments[:1] + arguments[3:4])
)
def test_a_plain_installation_answers(arguments: list[str], plain: Callable[[list[str]], Outcome]) -> None:
    done = plain(arguments)
    assert (done.status, bool(done.out)) == (0, True), done.err


@pytest.mark.parametrize("arguments", REFUSED, ids=lambda arguments: arguments[0])
def test_what_needs_torch_says_what_to_install(
    arguments: list[str], plain: Callable[[list[str]], Outcome]
) -> None:
    done = plain(arguments)
    assert (done.status, done.out) == (1, "")
    assert "this needs PyTorch" in done.err and "pip install 'herbrand[torch]'" in done.err


def process(*arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
    """A command as users run it, in a process that ends by :func:`herbrand.cli.run`."""
    given = {"stdout": subprocess.PIPE, **given}
    return subprocess.run(
        [sys.executable, "-m", "herbrand", *arguments], stderr=subprocess.PIPE, text=True, **given
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["infer", SMOKERS], 0),
        (["infer", SMOKERS, "--engine", "mean-field", "--iterations", "1"], 3),
        (["infer", "nofile.hb"], 1),
        (["infer", SMOKERS, "--engine"], 2),
        (["--version"], 0),
    ],
    ids=["done", "unconverged", "wrong", "usage", "version"],
)
def test_a_process_says_and_returns_what_the_command_does(
    arguments: list[str], status: int, herbrand: Callable[..., Outcome]
) -> None:
    done, here = process(*arguments), herbrand(*arguments)
    assert done.returncode == here.status == status
    assert done.stdout == here.out and done.stderr == here.err


def test_a_process_gives_all_of_a_long_output(tmp_path: Path) -> None:
    """It ends without Python's own way out, so that what is not yet written must be written before."""
    theory = tmp_path / "many.hb"
    theory.write_text("predicate smokes(person)\npredicate person(person): observed\n0.5: smokes(x)\n")
    facts = tmp_path / "person.csv"
    facts.write_text("".join(f"p{i}\n" for i in range(20_000)))
    with (tmp_path / "out.csv").open("w") as out:
        done = process("infer", str(theory), "--facts", str(facts), "--format", "csv", stdout=out)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 20_001


def test_a_process_whose_output_nobody_reads_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process("infer", SMOKERS, stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_help_tells_every_command_and_what_it_does(herbrand: Callable[..., Outcome]) -> None:
    lines = [line.split(maxsplit=1) for line in herbrand("--help").out.splitlines()]
    told = {line[0]: line[1] for line in lines if len(line) == 2}
    assert all(len(told[name]) > 20 for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_its_options(name: str, herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand(name, "--help")
    assert outcome.status == 0
    assert all(option.flag in outcome.out for option in options_of(name).values())


def test_a_misspelt_command_is_told(herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand("infr", "theory.hb")
    assert outcome.status == 2 and "Did you mean 'infer'" in outcome.err


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")],
)
def test_memory_that_runs_out_is_no_fault_of_the_program(
    error: Exception, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("herbrand.read", fail)
    outcome = herbrand("check", "examples/smokers/smokers.hb")
    assert outcome.status == 1 and outcome.err.startswith("the machine gave no more memory")
    assert "--memory" in outcome.err


def test_the_package_runs_as_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "herbrand", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("herbrand ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("herbrand infer t.hb --engine ", "auto exact lifted circuit regions bp mean-field gibbs"),
        ("herbrand bound t.hb --engine a", "auto ariel"),
        ("herbrand query t.hb --algebra p", "probability"),
        ("herbrand infer t.hb --format ", "table json csv parquet"),
        ("herbrand learn t.hb --method pseudo", "pseudo-likelihood"),
    ],
)
def test_the_shell_completes_values(typed: str, offered: str) -> None:
    place = len(typed.split()) - (not typed.endswith(" "))
    asked = {"_HERBRAND_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(place)}
    script = "import sys; sys.argv = ['herbrand']; from herbrand.cli import main; main()"
    call = [sys.executable, "-c", script]
    done = subprocess.run(call, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered.split()
