"""``fs.select`` and ``fs.path``: from a data set and a model's name to a checked, reported selection.

May import ``fsmodels.models``, ``fsmodels.baselines`` and what lies below them.
"""
