"""The scripts put the tree first on the path, where an installed package may be under test: its parts are not mixed."""

import fsmodels  # noqa: F401
