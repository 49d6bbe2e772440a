"""The algorithms by name, each for any model that tells what it needs.

May import ``solvers.facts`` and what lies below it.
"""
