"""Solvers of Pyomo and decomposition drivers by name, for any model; ``fsmodels`` builds its models on them.

The public names are imported when they are first used: ``__init__.pyi`` lists them. May import all of its packages:
``solvers.run``, ``solvers.drivers``, ``solvers.facts``, ``solvers.interfaces``.
"""

from solvers import import_hook, lazy

OWNER = "fsmodels"  # fsmodels checks this, because another package may have the name "solvers"

import_hook.enter()  # pyo.SolverFactory("fsmodels.benders"), and the page of a model in Jupyter
_REMOVED = {"probe": "solvers.register(name, capabilities, qualify=True) solves the trial problems"}
__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__, _REMOVED)
