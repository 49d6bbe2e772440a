"""Errors on held-out samples: cross-validation, nested choice of parameters, comparison of models, and stability.

May import ``fsmodels.selection``, ``fsmodels.insight`` and what lies below them.
"""
