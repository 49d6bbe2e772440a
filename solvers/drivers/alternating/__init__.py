"""Alternating optimisation over blocks of variables: closed forms, LPs, solvers, oracles.

May import ``solvers.drivers`` (base, trace, starts), ``solvers.facts`` and what lies below it.
"""
