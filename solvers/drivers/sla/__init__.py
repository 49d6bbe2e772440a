"""Successive linear approximation, over polyhedra and over unions of them.

May import ``solvers.facts`` and the packages below it.
"""
