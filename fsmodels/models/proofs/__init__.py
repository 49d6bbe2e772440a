"""What the data prove of linear classifiers: bounds from any multipliers, points repaired, columns of one size.

May import the ground files and ``solvers.facts``.
"""
