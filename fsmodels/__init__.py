"""Feature selection for support vector machines as optimisation models you can edit.

``fs.load_dataset`` and ``fs.Dataset`` provide data, ``fs.svm`` and ``fs.fsp`` build Pyomo models, and ``fs.solve``
solves them with a solver or decomposition driver by name. Names are imported on first use; ``__init__.pyi`` lists them.

May import every package except the command line, ``fsmodels.cli``.
"""

import os
import signal
import sys

# Until the command ``fsmodels`` is imported and handles Ctrl-C, Ctrl-C ends it without a traceback.
if (
    os.path.basename("".join(sys.argv[:1])) in ("fsmodels", "fsmodels.exe")
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it can be ignored
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import solvers

if getattr(solvers, "OWNER", None) != "fsmodels":
    raise ImportError(
        f"fsmodels needs its own package named solvers, but {getattr(solvers, '__file__', solvers)} hides it: rename "
        "that file, or start Python from another folder."
    )

from solvers import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)  # what <TAB> offers, by __init__.pyi
