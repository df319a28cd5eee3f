"""``docs/commands.md`` lists every command and every option, at the commands that take it."""

from __future__ import annotations

import importlib.util
import re

from typer.main import get_command

from herbrand.cli.app import program
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
COMMANDS = get_command(program()).commands  # type: ignore[attr-defined]


def test_the_table_is_that_of_the_options() -> None:
    """Else: python docs/option_table.py."""
    spec = importlib.util.spec_from_file_location("option_table", ROOT / "docs" / "option_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.with_table(PAGE) == PAGE


def test_every_command_has_a_row() -> None:
    table = PAGE.partition("| exit status |")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(COMMANDS)


def test_every_option_stands_beside_its_commands() -> None:
    told = {
        option: set(commands.split())
        for option, commands in re.findall(r"^\| `(--[\w-]+)[^|]*` \| ([a-z ]+) \|", PAGE, re.MULTILINE)
    }
    taken: dict[str, set[str]] = {}
    for name, command in COMMANDS.items():
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--"):
                    taken.setdefault(option, set()).add(name)
    assert told == taken
