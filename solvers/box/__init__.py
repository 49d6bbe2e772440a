"""Minimisation of smooth functions over a box, behind one function: L-BFGS-B, a trust-region method, projections.

May import ``solvers.interfaces`` and the ground files.
"""
