"""What it means: theory and facts become a :class:`~herbrand.program.program.Program`, all that engines read."""
