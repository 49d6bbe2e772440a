"""HOW to optimise: every Pyomo solver and every decomposition driver by name. Knows nothing of what is modelled.

Its names are imported when they are first used: ``__init__.pyi`` lists them. May import every package of its own:
``solvers.run``, ``solvers.drivers``, ``solvers.facts``, ``solvers.interfaces``.
"""

from solvers import import_hook, lazy

OWNER = "fsmodels"  # fsmodels looks for this mark, so that no other package named solvers is taken for ours

import_hook.enter()  # pyo.SolverFactory("fsmodels.benders"), and the page of a model in Jupyter
_REMOVED = {"probe": "solvers.register(name, capabilities, qualify=True) solves the trial problems"}
__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__, _REMOVED)
