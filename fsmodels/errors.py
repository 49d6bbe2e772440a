"""The errors that ``fsmodels`` raises on purpose, over those of ``solvers``."""

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
    """The data cannot be used as given; the message names the column, row or label."""


class DataWarning(UserWarning):
    """A property of the data that may affect the result, in one line."""


class ParameterError(Error, ValueError):
    """A parameter of a formulation is outside what is allowed."""


class InfeasibleParameter(ParameterError):
    """A parameter is well formed, but no solution can satisfy it."""


class NoSelection(InfeasibleParameter):
    """Rows on the selection that each may stand, and that no selection satisfies together.

    ``selection``: of ``fs.select``, what is known of the run: an empty ``Selection`` with its parameters, else None.
    """

    selection: Any = None
