"""Every Pyomo solver by name: what each can, its options in one language, adapters, one runner.

May import ``solvers.clarabel`` and the ground files.
"""
