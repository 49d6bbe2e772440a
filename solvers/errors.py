"""Errors of solvers and drivers for invalid input and for failures of solvers.

Each message contains the problem, the value, the allowed values and the next step. ``Error`` is the base class of the
errors of both packages.
"""

from __future__ import annotations


class Error(Exception):
    """Base class of the errors of ``solvers`` and ``fsmodels``.

    ``parameter``: the name of the parameter or option in question, or None.
    """

    parameter: str | None = None

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class ModelError(Error, ValueError):
    """The model cannot be solved this way; the message names the component."""


class OptionError(Error, ValueError):
    """An option is unknown, or its value is not allowed."""


class SolverError(Error, RuntimeError):
    """A solver is unknown, not installed, cannot solve this class of model, or failed."""


class UnknownSolver(SolverError):
    """A name is neither in the table of solvers nor a solver of Pyomo."""


class LicenceError(SolverError):
    """A solver has no licence, or none for a model of this size."""


class SolverFailure(SolverError):
    """A solver has failed on a model; ``solver`` is its name, and the message is that of the solver."""

    def __init__(self, message: str, solver: str) -> None:
        super().__init__(message)
        self.solver = solver

    def __reduce__(self) -> tuple[type[SolverFailure], tuple[str, str]]:
        """Pickle with the name of the solver."""
        return type(self), (str(self), self.solver)


class LargeNumbers(SolverFailure, ModelError):
    """A number of the model is larger than the solver accepts."""


class UnsupportedModel(SolverFailure):
    """The interface of a solver cannot represent an expression of the model."""
