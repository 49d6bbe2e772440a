"""The two-layer cutting plane for composite risks: restricted masters, columns, working sets, few columns.

May import ``solvers.drivers`` (base, trace), ``solvers.facts`` and what lies below it.
"""
