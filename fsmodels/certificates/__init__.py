"""Certificates of exact selections: what is written about a proof, and a check of it from the data alone.

``document`` is the file, ``verify`` the check, which shares no line with what found the proof: numpy and the data only.
May import the ground files and ``fsmodels.datasets``.
"""
