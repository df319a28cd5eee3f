"""A memory budget is kept: the process may have no more than the budget beside what a tiny run needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

MEGABYTE = 2**20
BUDGET = 300 * MEGABYTE

SCRIPT = """
import resource, sys
from herbrand.cli.app import main
limit = int(sys.argv.pop(1))
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
status = 0
try:
    main()
except SystemExit as end:
    status = end.code or 0
data = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
print("data", data.split()[1], file=sys.stderr)
sys.exit(status)
"""


DATA = """
from herbrand.budget import bound_data
def data():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
    return int(line.split()[1]) << 10
"""
FULL = f"""
{DATA}
import numpy as np
bound_data(data() + (1 << 30))
bound_data(data() + (4 << 20))  # less than one of its buffers
print(np.linalg.solve(np.eye(3), np.ones(3)))
"""
ARROW = f"""
{DATA}
bound_data(data() + (2 << 30))
import pyarrow as pa
pa.array(range(1000)).cast(pa.string())
print(data() < 1 << 29)
"""


class Run(NamedTuple):
    status: int
    told: str
    data: int


def herbrand(arguments: list[str], limit: int = 0) -> Run:
    """A command in a process of its own that may not have more than ``limit`` bytes of data."""
    command = [sys.executable, "-c", SCRIPT, str(limit), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    told, _, data = done.stderr.rpartition("data ")
    return Run(done.returncode, told, int(data or 0) * 1024)


def grid(side: int) -> str:
    """Atoms on a grid: exact inference needs tables of about 2 ** side entries."""
    across = [(f"{i}_{j}", f"{i}_{j + 1}") for i in range(side) for j in range(side - 1)]
    down = [(f"{i}_{j}", f"{i + 1}_{j}") for i in range(side - 1) for j in range(side)]
    facts = "".join(f'near("{a}", "{b}")\n' for a, b in across + down)
    rules = "0.3: p(x) and near(x, y) => p(y)\n0.1: p(x)\n"
    return f"predicate near(spot, spot): observed\npredicate p(spot)\n{rules}{facts}"


def crowd(people: int) -> str:
    """Everybody may know everybody: people squared latent atoms."""
    names = ", ".join(f'"{i}"' for i in range(people))
    declared = f"type person = {{{names}}}\npredicate s(person)\npredicate f(person, person)\n"
    return declared + '0.3: s(x) and f(x, y) => s(y)\n-0.1: f(x, y)\ns("0")\ns("1")\n'


def pairs(nodes: int) -> str:
    """All pairs of nodes are asked for: nodes squared answers."""
    links = "".join(f'link("{i}", "{(7 * i) % nodes}")\n' for i in range(nodes))
    return f"pair(x, y) :- link(x, z), link(w, y)\n{links}"


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="the data of a process are limited and told as Linux tells them"
)
@pytest.mark.parametrize(
    "command, theory, small, fits, too_large",
    [
        pytest.param(["infer", "--engine", "exact", "--query", 'p("0_0")'], grid, 3, 17, 24, id="exact"),
        pytest.param(
            ["infer", "--engine", "mean-field", "--query", 's("2")'], crowd, 80, 2000, 6000, id="mean"
        ),
        pytest.param(["query", "pair(x, y)"], pairs, 5, 500, 30000, id="query"),
    ],
)
def test_a_budget_is_kept_by_the_whole_process(
    command: list[str], theory: Callable[[int], str], small: int, fits: int, too_large: int, tmp_path: Path
) -> None:
    """``small``: of so many things that Arrow, which sets a gigabyte of addresses aside, has done so."""

    def run(size: int, limit: int = 0) -> Run:
        file = tmp_path / f"{size}.hb"
        file.write_text(theory(size))
        arguments = [
            command[0],
            str(file),
            *command[1:],
            "--memory",
            str(BUDGET),
            "-o",
            str(tmp_path / "answer"),
        ]
        return herbrand(arguments, limit)

    bare = run(small)
    assert bare.status == 0, bare.told
    room = bare.data + BUDGET
    assert (done := run(fits, room)).status == 0, done.told
    refused = run(too_large, room)
    assert refused.status == 1 and "--memory" in refused.told and "Traceback" not in refused.told


def test_linear_algebra_has_its_memory_before_the_limit() -> None:
    """Its library ended the process with words of its own, that name no option, where none was left."""
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[1. 1. 1.]\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the data of a process are told as Linux tells them")
def test_the_allocator_of_arrow_takes_no_more_of_the_limit_than_it_uses() -> None:
    """It set a gigabyte aside, and what was loaded later, such as torch, ended the process."""
    done = subprocess.run([sys.executable, "-c", ARROW], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
