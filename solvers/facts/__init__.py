"""What a model tells whoever solves it: its parts, oracles, cuts, proofs; read by drivers, written by builders.

May import ``solvers.model``, ``solvers.lp``, ``solvers.box`` and what lies below them.
"""

from solvers.model.linear import LinearRows

__all__ = ["LinearRows"]
