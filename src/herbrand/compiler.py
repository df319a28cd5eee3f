"""numba, and how long it has compiled in this process, which happens once for each loop on a machine.

>>> from herbrand.budget import seconds_compiling
>>> seconds_compiling() >= 0
True
"""

from __future__ import annotations

import numba
from numba.core import event

__all__ = ["SPENT", "numba"]

SPENT = event.TimingListener()
event.register("numba:compile", SPENT)
