"""Cutting planes: Kelley's method, with integers, and row generation.

May import ``solvers.facts`` and the packages below it.
"""
