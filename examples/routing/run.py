"""The next hop on the way to a gateway, learned from small networks, and read out as rules.

python examples/routing/run.py
"""

from __future__ import annotations

import numpy as np

from herbrand import tasks


def networks(rng: np.random.Generator, worlds: int, size: int) -> dict[str, np.ndarray]:
    """Random networks with one gateway. ``next_hop(x, y)``: of the links of x, the one to y leads to the
    gateway on a shortest way of at most two hops."""
    link = np.triu(rng.random((worlds, size, size)) < 3.5 / size, 1)
    link |= link.transpose(0, 2, 1)
    gateway = np.arange(size) == rng.integers(size, size=(worlds, 1))
    first = link & gateway[:, None]
    near = first.any(2)
    second = link & near[:, None] & ~(near | gateway)[:, :, None]
    return {"link": link, "gateway": gateway, "next_hop": first | second}


ROUTING = tasks.worlds_task(networks, target="next_hop", sizes=(8, 16), depth=5)


def main() -> None:
    learned = tasks.train(ROUTING, tasks.Plan(exam_worlds=(100, 20)), seed=0)
    exam = learned.examine(worlds=20, size=40)
    print(f"20 networks of 40: {exam.errors} errors of the machine in {exam.tuples:,} pairs")
    rules = learned.rules()
    print(*sorted(rules.text.splitlines()), sep="\n")
    print(f"100 networks of 16: {rules.checked.errors} errors of the rules")


if __name__ == "__main__":
    main()
