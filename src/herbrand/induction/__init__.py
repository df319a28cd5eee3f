"""Rule induction: search for clauses in example worlds, Neural Logic Machines that learn from them, and rule
mining in one large world."""
