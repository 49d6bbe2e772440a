"""Proofs of linear classifiers from the data: bounds from any multipliers, repaired points, columns of one size.

May import the modules of ``fsmodels`` itself and ``solvers.facts``.
"""
