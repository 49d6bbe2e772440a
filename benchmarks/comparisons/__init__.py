"""Comparisons of the models and solvers of the project with other methods."""
