"""Every Pyomo solver by name: what each can, its options in one language, its quirks, one runner.

May import ``solvers.clarabel`` and the ground files.
"""
