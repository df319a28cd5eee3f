"""Friends, smoking and cancer: what is probable, what more would change it, and why.

python examples/smokers/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main() -> None:
    model = hb.Model(hb.read(HERE / "smokers.hb"), HERE / "facts")
    print(model.infer("smokes"))
    print(model.infer("smokes", given='smokes("bob")'))
    print(model.explain('smokes("frank")'))


if __name__ == "__main__":
    main()
