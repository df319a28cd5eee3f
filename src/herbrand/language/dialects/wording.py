"""Words that messages share.

>>> counted(1, "argument"), counted(2, "argument")
('1 argument', '2 arguments')
"""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
