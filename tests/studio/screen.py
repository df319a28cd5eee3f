"""What people see of the studio, by its roles and names, and what the command line says to the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import PICTURES

SMOKERS = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)

1.1: smokes(x) and friends(x, y) => smokes(y)
1.5: smokes(x) => cancer(x)
-0.7: smokes(x)
-2.0: cancer(x)

friends("anna", "bob")
friends("bob", "carl")
friends("carl", "dora")
smokes("anna")
"""


class Screen:
    """One page of the studio. Every part is looked for by role and name, as assistive technology does."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        page.goto(address)
        self.theory = page.get_by_role("textbox", name="Theory")
        self.theory.wait_for()
        self.mistakes = page.get_by_role("region", name="Mistakes")
        self.command = page.get_by_role("combobox", name="Command")
        self.question = page.get_by_role("textbox", name="Question")
        self.status = page.get_by_role("status", name="Status")
        self.progress = page.get_by_role("progressbar", name="Progress")
        self.answers = page.get_by_role("table", name="Answers", exact=True)

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def saved_picture(self) -> bytes:
        """What the button below a drawing downloads."""
        with self.page.expect_download() as caught:
            self.button("Save picture").click()
        return Path(caught.value.path()).read_bytes()

    def tab(self, name: str) -> Any:
        return self.page.get_by_role("tab", name=name)

    def write(self, text: str) -> None:
        self.theory.fill(text)

    def text(self) -> str:
        return "\n".join(self.page.locator(".cm-line").all_inner_texts()).replace("\n\n\n", "\n\n")

    def says(self, *parts: str) -> None:
        """Wait until the status says all of this."""
        for part in parts:
            self.status.get_by_text(part).wait_for()

    def run(self) -> None:
        self.button("Run").click()
        self.says("Done:")

    def cells(self, table: Any = None) -> list[list[str]]:
        """The rows of a table that are drawn, its heads first."""
        shown = self.answers if table is None else table
        shown.wait_for()
        script = (
            "table => [...table.rows].filter(row => row.ariaHidden !== 'true')"
            ".map(row => [...row.cells].map(cell => cell.innerText.trim()))"
        )
        return shown.evaluate(script)

    def choose(self, atom: str) -> None:
        self.answers.get_by_role("button", name=atom, exact=True).click()

    def picture(self, name: str) -> None:
        """A screenshot for the pages of the documentation, where these are wanted."""
        if PICTURES is None:
            return
        pillow = pytest.importorskip("PIL.Image", reason="Pillow makes the pictures small")
        path = PICTURES / f"studio-{name}.png"
        self.page.screenshot(path=path)
        pillow.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def herbrand(folder: Path, *arguments: str) -> list[list[str]]:
    """The table that the command line writes: its heads and rows, without the title."""
    command = [sys.executable, "-m", "herbrand", *arguments]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [line.rsplit(maxsplit=1) for line in found.stdout.splitlines()[1:]]
