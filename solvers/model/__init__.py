"""A Pyomo model as numbers: its class, its rows, its duals, what of it a solver would not see, and rewritings.

May import ``solvers.interfaces``, ``solvers.clarabel`` and the ground files.
"""
