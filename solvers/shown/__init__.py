"""How a model shows itself: its rows as they stand, equation by equation, in rendered mathematics.

Nothing is stated twice: each equation is read from the live model, edits and the user's own rows included. Numbers that
differ from row to row become letters, members of a family one line, long sums a sum sign.

May import ``solvers.facts``, ``solvers.model`` and the ground files.
"""
