"""Gibbs sampling by several chains, with measures of their own convergence."""
