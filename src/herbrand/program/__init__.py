"""What it means: theory and facts become a ``Program``, which is all that engines read."""
