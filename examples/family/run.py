"""Who is whose uncle: answers with their weights, and the proofs of one of them.

python examples/family/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main() -> None:
    model = hb.Model(hb.read(HERE / "family.hb"))
    print(model.query("uncle(x, y)"))
    print(model.query('related("liam", y)', algebra="boolean"))
    print(model.explain('uncle("liam", "carl")'))


if __name__ == "__main__":
    main()
