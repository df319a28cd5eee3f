"""Gibbs sampling by several chains, with what they tell of their own convergence."""
