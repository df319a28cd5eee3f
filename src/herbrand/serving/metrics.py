"""Metrics of a service, in the text format of Prometheus.

>>> metrics = Metrics()
>>> metrics.answered("infer", 200, 0.004)
>>> [line for line in metrics.text().splitlines() if line.startswith("herbrand_requests_total")]
['herbrand_requests_total{command="infer",status="200"} 1']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
MOST_REMEMBERED_BYTES = 64 * 1024
"""Size above which answers are not cached: a thousand of them would fill the memory."""


class Metrics:
    """Counters since the start of a service."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self.remembered = 0
        self.most_remembered_bytes = MOST_REMEMBERED_BYTES

    def answered(self, command: str, status: int, seconds: float) -> None:
        """Count a request with its status and duration."""
        self._requests[command, status] += 1
        self._seconds[command] += seconds  # type: ignore[assignment]
        for bucket in BUCKETS:
            if seconds <= bucket:
                self._within[command, bucket] += 1

    def text(self, pool: Any = None) -> str:
        """All counts as Prometheus reads them."""
        return "\n".join([*self._lines(pool), ""])

    def _lines(self, pool: Any) -> Iterator[str]:
        yield "# HELP herbrand_requests_total Requests by command and HTTP status."
        yield "# TYPE herbrand_requests_total counter"
        for (command, status), count in sorted(self._requests.items()):
            yield f'herbrand_requests_total{{command="{command}",status="{status}"}} {count}'
        yield "# HELP herbrand_request_seconds Duration of requests, waiting included."
        yield "# TYPE herbrand_request_seconds histogram"
        for command in sorted(self._seconds):
            for bucket in BUCKETS:
                within = self._within[command, bucket]
                yield f'herbrand_request_seconds_bucket{{command="{command}",le="{bucket}"}} {within}'
            total = sum(n for (name, _), n in self._requests.items() if name == command)
            yield f'herbrand_request_seconds_bucket{{command="{command}",le="+Inf"}} {total}'
            yield f'herbrand_request_seconds_sum{{command="{command}"}} {self._seconds[command]:.6f}'
            yield f'herbrand_request_seconds_count{{command="{command}"}} {total}'
        yield from _single(
            "herbrand_remembered_answers_total", "counter", "Answers from memory.", self.remembered
        )
        if pool is not None:
            yield from _single("herbrand_workers", "gauge", "Processes that answer.", pool.alive)
            yield from _single("herbrand_workers_busy", "gauge", "Processes at work.", pool.busy)
            yield from _single("herbrand_waiting", "gauge", "Requests that wait for a process.", pool.waiting)
            yield from _single(
                "herbrand_killed_total", "counter", "Requests cut at their limit.", pool.killed
            )
            yield from _single("herbrand_lost_total", "counter", "Processes that were lost.", pool.lost)


def _single(name: str, kind: str, help: str, value: int) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    yield f"{name} {value}"
