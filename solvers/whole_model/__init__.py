"""Solution of whole models by one solver: reformulation, polishing of the integer choice, and proof of the result.

May import ``solvers.drivers`` and the packages that it imports.
"""
