"""Clarabel as a Pyomo solver: second-order cones and convex quadratics by name.

May import ``solvers``' ground files (errors, result, interrupt, values) only, so that it could be released alone.
"""
