"""Random examples are the same ones whatever was imported before: else a test could fail by chance."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

DRAWS = """
import tests.conftest
from hypothesis import given, settings, strategies as st
drawn = []
@settings(max_examples=60)
@given(st.integers(), st.text(max_size=5), st.floats())
def draw(number, text, share): drawn.append((number, text, share))
draw()
print(ascii(drawn))
"""


def test_what_was_imported_changes_no_example() -> None:
    one, other = (
        subprocess.run(
            [sys.executable, "-c", first + DRAWS], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for first in ("", "import tests.oracles.credal")
    )
    assert one == other and len(one) > 1_000
