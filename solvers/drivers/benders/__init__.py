"""Benders decomposition: the split into master and subproblem, the multi-tree and the single-tree loop.

May import ``solvers.drivers`` (base, trace), ``solvers.facts`` and the packages below it.
"""
