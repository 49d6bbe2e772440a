"""Time to prove optimality in exact feature selection."""
