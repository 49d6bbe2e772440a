"""A self-contained HTML page about a selection (``fs.report``).

May import ``fsmodels.evaluation``, ``fsmodels.insight``, ``fsmodels.selection``, ``fsmodels.datasets`` and what lies
below them.
"""
