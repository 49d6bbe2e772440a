"""Clarabel as a Pyomo solver: second-order cones and convex quadratics by name.

May import only modules at the top of ``solvers`` (errors, result, interrupt, values), so that it is independent.
"""
