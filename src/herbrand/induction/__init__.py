"""Rules from example worlds: Neural Logic Machines, the
worlds they learn from, and what they have learned."""
