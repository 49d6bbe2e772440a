"""The errors that solvers and drivers raise on purpose.

Every message says what was wrong, the value, what is allowed and the next step. ``Error`` is the common root of both
packages, so that a program can catch them all at once and let genuine bugs through.
"""

from __future__ import annotations


class Error(Exception):
    """Root of the errors raised on purpose by ``solvers`` and ``fsmodels``.

    ``parameter``: the parameter or option that the error is about, None where there is no single one.
    """

    parameter: str | None = None

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class ModelError(Error, ValueError):
    """The model, as it stands, cannot be treated this way; the message names the component."""


class OptionError(Error, ValueError):
    """An option is unknown, or its value is not allowed."""


class SolverError(Error, RuntimeError):
    """A solver is unknown, not installed, cannot solve this class of model, or failed."""


class LicenceError(SolverError):
    """A solver has no licence, or none for a model of this size."""


class SolverFailure(SolverError):
    """A solver took a model and did not solve it; ``solver`` is its name, the message its own words."""

    def __init__(self, message: str, solver: str) -> None:
        super().__init__(message)
        self.solver = solver

    def __reduce__(self) -> tuple[type[SolverFailure], tuple[str, str]]:
        """Pickle with the solver's name, for another process."""
        return type(self), (str(self), self.solver)


class UnsupportedModel(SolverFailure):
    """The interface of a solver cannot represent an expression of the model."""
