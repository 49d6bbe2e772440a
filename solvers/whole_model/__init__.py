"""One solver on a whole model: what it is shown, what it chose settled exactly, and its answer proven.

May import ``solvers.drivers`` and what lies below it.
"""
