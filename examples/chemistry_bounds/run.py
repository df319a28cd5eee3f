"""How active a molecule is, as more of its features are seen.

python examples/chemistry_bounds/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent
SEEN = ("f1", "f1 and not f2", "f1 and not f2 and f7")


def main() -> None:
    model = hb.Model(hb.read(HERE / "chemistry.hb"))
    print(model.bound(["P(y)", *(f"P(y | {seen})" for seen in SEEN)], engine="ariel"))


if __name__ == "__main__":
    main()
