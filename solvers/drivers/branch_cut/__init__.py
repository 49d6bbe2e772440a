"""Branch-and-cut of our own over 0/1 variables: the tree, its LP, cuts, incumbents and what runs remember.

May import ``solvers.drivers.benders``, ``solvers.facts`` and what lies below it.
"""
