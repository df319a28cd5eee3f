"""Lower a theory and its facts to a ``Program``, the input of every engine."""
