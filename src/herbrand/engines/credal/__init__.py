"""Lower and upper probabilities of a query over all distributions that a theory of bounds allows."""
