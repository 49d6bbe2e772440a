"""Successive linear approximation, over polyhedra and over unions of them.

May import ``solvers.facts`` and what lies below it.
"""
