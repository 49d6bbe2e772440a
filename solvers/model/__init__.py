"""Pyomo models as arrays: class, rows, duals, unsupported components, and reformulations.

May import ``solvers.interfaces``, ``solvers.clarabel`` and the modules at the top of ``solvers``.
"""
