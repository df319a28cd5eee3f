"""Tables of facts: read from wherever they are, checked whole, and kept as sorted index arrays."""
