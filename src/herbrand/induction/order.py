"""Order of constants, as numbers: numbers as they are, dates and times in days.

The language compares texts by code point, which for dates and times in their one format is the order of time.
So texts of this format have an order, whether or not their type is declared; other texts have none.

>>> order_of(2.5), order_of("2026-11-22") - order_of("2026-11-20"), order_of("anna")
(2.5, 2.0, nan)
>>> simplest_date(order_of("2022-03-07"), order_of("2021-11-30"))
'2022-01-01'
"""

from __future__ import annotations

from datetime import date, datetime
from math import nan

from herbrand.language.names import moment
from herbrand.language.syntax import Value

DAY = 86_400
LENGTH_OF_DATE = len("2026-11-22")


def order_of(value: Value) -> float:
    """Position of a number, date or time in its order; NaN for other texts."""
    if not isinstance(value, str):
        return float(value)
    if len(value) < LENGTH_OF_DATE or value[4] != "-":
        return nan
    calendar = "date" if len(value) == LENGTH_OF_DATE else "time"
    try:
        if moment(calendar, value) != value:
            return nan
        instant = datetime.fromisoformat(value)
    except ValueError:
        return nan
    seconds = instant.hour * 3600 + instant.minute * 60 + instant.second + instant.microsecond / 1e6
    return instant.toordinal() + seconds / DAY


def simplest_date(inside: float, outside: float) -> str:
    """Simplest date from ``inside`` up to, but without, ``outside``: the first of a year, else of a month,
    else any day; of several, the one nearest to the middle."""
    step = 1 if outside > inside else -1
    days = [date.fromordinal(day) for day in range(int(inside), int(outside), step)]
    of_years = [day for day in days if (day.month, day.day) == (1, 1)]
    of_months = [day for day in days if day.day == 1]
    middle = (inside + outside) / 2
    return min(of_years or of_months or days, key=lambda day: abs(day.toordinal() - middle)).isoformat()
