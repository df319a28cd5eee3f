"""Parser, checker and printer: text or Python objects become a :class:`~herbrand.language.theory.Theory`."""
