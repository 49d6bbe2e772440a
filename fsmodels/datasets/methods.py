"""The scalings by name; what they do is in ``fsmodels.datasets.scaling``. Imports nothing, for the help of commands."""

METHODS = ("none", "standard", "unit-ball", "minmax")
SPARSE_METHODS = ("none", "unit-ball")
DEFAULT = "standard"
