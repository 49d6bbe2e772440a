"""Honest errors: what a selection decides about samples that had no part in it, nor in any choice before it.

May import ``fsmodels.selection``, ``fsmodels.insight`` and what lies below them.
"""
