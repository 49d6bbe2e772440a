"""One page about a selection for whoever decides by it: a self-contained HTML file (``fs.report``).

May import ``fsmodels.evaluation``, ``fsmodels.insight``, ``fsmodels.selection``, ``fsmodels.datasets`` and what lies
below them.
"""
