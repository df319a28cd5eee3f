"""Where data of third parties lie: ``HERBRAND_DATA``, or ``shared/data`` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("HERBRAND_DATA", Path(__file__).parents[2] / "shared" / "data"))
