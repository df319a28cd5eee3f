"""How much of the memory that is allowed a database gets, and whether that is enough to open one.

>>> is_enough(1 << 30), is_enough(1 << 20)
(True, False)
"""

SHARE_FOR_DATABASE = 0.8
"""Of the memory allowed; the rest is this process's own."""
LEAST_MEMORY = 64 << 20


def is_enough(memory: int) -> bool:
    """Whether a database can be opened within so many bytes."""
    return memory * SHARE_FOR_DATABASE >= LEAST_MEMORY
