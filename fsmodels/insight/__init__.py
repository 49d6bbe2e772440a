"""Questions beyond one answer, each answered with a proof: how good is a selection from elsewhere, what a row costs.

May import ``fsmodels.selection``, ``fsmodels.certificates`` and what lies below them.
"""
