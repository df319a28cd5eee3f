"""Gibbs sampling by several chains, with convergence diagnostics."""
