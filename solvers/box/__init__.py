"""Smooth functions over a box behind one call: L-BFGS-B, Newton in a trust region, interior points.

May import ``solvers.interfaces`` and the ground files.
"""
