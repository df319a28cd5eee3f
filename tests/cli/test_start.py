"""Telling the version or the options loads nothing that only work needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from herbrand.cli.app import COMMANDS
from tests.conftest import Outcome

HEAVY = ("torch", "numpy", "duckdb", "pyarrow", "scipy", "numba", "lark", "rich.console", "rich.progress")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["infer", "--help"]], ids=" ".join)
def test_help_is_light(arguments: list[str]) -> None:
    script = (
        "import atexit, sys\n"
        f"sys.argv = ['herbrand', *{arguments!r}]\n"
        f"atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr))\n"
        "from herbrand.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout
    assert done.stderr.strip() == "[]"


def test_help_tells_every_command_and_what_it_does(herbrand: Callable[..., Outcome]) -> None:
    lines = [line.split(maxsplit=1) for line in herbrand("--help").out.splitlines()]
    told = {line[0]: line[1] for line in lines if len(line) == 2}
    assert all(len(told[name]) > 20 for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_its_options(name: str, herbrand: Callable[..., Outcome]) -> None:
    outcome = herbrand(name, "--help")
    assert outcome.status == 0 and "--output" in outcome.out


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
