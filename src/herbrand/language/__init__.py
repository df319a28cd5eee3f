"""What was said: text or Python objects become a :class:`~herbrand.language.syntax.Theory`. Knows no data."""
