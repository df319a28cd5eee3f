"""An alarm about which several people know something: what follows, and from what.

python examples/alarm_bounds/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main() -> None:
    model = hb.Model(hb.read(HERE / "alarm.hb"))
    print(model.bound(["P(mary_calls)", "P(burglary | mary_calls)"], engine="exact"))
    print(model.explain("P(burglary | mary_calls)", engine="exact").upper)


if __name__ == "__main__":
    main()
