"""Why an apple tree loses its leaves: a Bayesian network, before and after a look at the tree.

python examples/orchard/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main() -> None:
    model = hb.Model(hb.read(HERE / "orchard.bif"))
    print(model.infer('scab = "yes"'))
    print(model.infer('scab = "yes"', given='leaves = "most_lost"'))


if __name__ == "__main__":
    main()
