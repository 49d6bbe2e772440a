"""The drivers: algorithms by name, each for all models with the facts that it needs.

May import ``solvers.facts`` and the packages below it.
"""
