"""Linear programs behind one small protocol: HiGHS on arrays, or any Pyomo solver.

May import ``solvers.interfaces`` and the ground files.
"""
