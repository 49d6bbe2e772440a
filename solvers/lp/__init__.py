"""Linear programs with a small common interface: HiGHS on arrays, or any Pyomo solver.

May import ``solvers.interfaces`` and the modules at the top of ``solvers``.
"""
