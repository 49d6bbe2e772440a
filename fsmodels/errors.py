"""Errors of ``fsmodels``, in addition to those of ``solvers``."""

from typing import Any

from solvers.errors import Error, ModelError, OptionError, SolverError

__all__ = [
    "DataError",
    "DataWarning",
    "Error",
    "InfeasibleParameter",
    "ModelError",
    "NoSelection",
    "OptionError",
    "ParameterError",
    "SolverError",
]


class DataError(Error, ValueError):
    """The data are not valid; the message names the column, row or label."""


class DataWarning(UserWarning):
    """A property of the data that may affect the result, in one line."""


class ParameterError(Error, ValueError):
    """A parameter of a formulation is outside its range."""


class InfeasibleParameter(ParameterError):
    """A parameter has a valid form, but no solution satisfies it."""


class NoSelection(InfeasibleParameter):
    """No selection satisfies all rows on the selection.

    ``selection``: for ``fs.select``, an empty ``Selection`` with the parameters of the run; else None.
    """

    selection: Any = None
