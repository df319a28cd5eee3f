"""Factor graphs of programs: atoms, factors over them, and the number of ground parts
that each represents."""
