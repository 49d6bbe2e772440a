"""Branch-and-cut over 0/1 variables: the tree, its LP and cuts, incumbents, worker processes, and the memory of runs.

May import ``solvers.drivers.benders``, ``solvers.facts`` and the packages below it.
"""
