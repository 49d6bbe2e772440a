"""Pyomo solvers by name: capabilities, options with common names, adapters and one runner.

May import ``solvers.clarabel`` and the modules at the top of ``solvers``.
"""
