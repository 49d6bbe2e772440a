"""Linear programs behind one small protocol: HiGHS on arrays, any Pyomo solver, projections.

May import ``solvers.interfaces`` and the ground files.
"""
