"""Work in another thread, so that this one can report progress or be interrupted meanwhile.

>>> work = Background(lambda: 6 * 7)
>>> work.start()
>>> work.join()
>>> work.result()
42
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Background(threading.Thread):
    """A thread whose result or error can be fetched. It does not keep the process from ending."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value
