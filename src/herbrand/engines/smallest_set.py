"""Minimal inconsistent sets of statements, found by deletion of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def smallest(everything: Sequence[int], inconsistent: Callable[[Sequence[int]], bool]) -> list[int]:
    """An inconsistent subset of ``everything``, which is inconsistent, none of whose members can be left out.

    >>> smallest(range(100), lambda kept: {3, 77} <= set(kept))
    [3, 77]
    """
    kept = list(everything)
    block = max(1, len(kept) // 2)
    start = 0
    while True:
        rest = kept[:start] + kept[start + block :]
        if start < len(kept) and inconsistent(rest):
            kept = rest
        else:
            start += block
        if start >= len(kept):
            if block == 1:
                return kept
            block, start = max(1, min(block, len(kept)) // 2), 0


def together(count: int) -> str:
    """Phrase of messages for a set of ``count`` statements."""
    return "this statement" if count == 1 else f"these {count} statements together"
