"""``make limits``: random hostile cases, a row a family, and the commands that broke a limit.

Numbers say which cases: the same number is the same case, so that one can be run again by
``make limits FIRST=17 CASES=1``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable

from tests.limits.trial import ENDED, MB, Case, Ran, ran


def table(found: Iterable[Ran]) -> str:
    """A row a family: how many cases, how many kept each limit, and the worst of each."""
    groups: dict[str, list[Ran]] = defaultdict(list)
    for one in found:
        groups[one.case.family].append(one)
        groups["all"].append(one)
    lines = [
        "| family | cases | time kept | latest, s | memory kept | largest, MB | ended in order |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name in [*(one for one in groups if one != "all"), *(["all"] if groups else [])]:
        rows = groups[name]
        lines.append(
            f"| {name} | {len(rows)} | {sum(one.late <= 0 for one in rows)} "
            f"| {max(one.seconds - one.case.seconds for one in rows):+.1f} "
            f"| {sum(one.large <= 0 for one in rows)} "
            f"| {max((one.peak - one.case.memory) / MB for one in rows):+.0f} "
            f"| {sum(one.status in ENDED for one in rows)} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    found: list[Ran] = []
    for number in range(given.first, given.first + given.cases):
        one = ran(Case.drawn(number))
        found.append(one)
        if not one.kept:
            print(
                f"case {number}, status {one.status}: {one.seconds:.1f} s of {one.case.seconds}, "
                f"{one.peak / MB:.0f} MB of {one.case.memory / MB:.0f}\n  {one.command}\n  {one.message}",
                file=sys.stderr,
                flush=True,
            )
    print(table(found))
    return int(not all(one.kept for one in found))


if __name__ == "__main__":
    sys.exit(main())
