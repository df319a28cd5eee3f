"""Tables of facts: read from files, databases and data frames, checked, and stored as sorted index arrays."""
