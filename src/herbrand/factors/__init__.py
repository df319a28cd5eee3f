"""Factor graphs of programs: atoms, factors over them, and for how many ground ones each stands."""
