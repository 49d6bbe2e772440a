"""scikit-learn's libsvm with an end: where rounding hides what is left to gain, it would turn forever."""

from __future__ import annotations

from functools import cache
from typing import Any

from fsmodels.errors import SolverError

__all__ = ["seconds", "svc"]

PACE = 1e10  # multiplications a second
OVERHEAD = 200  # features that libsvm's own iterations, and exponentials, cost
MOST = 10_000_000  # iterations, libsvm's own limit, which scikit-learn lifts


def seconds(samples: int, features: int) -> float:
    """Return what a kernel matrix and libsvm on it may take, on the slow side: nothing in it can be broken off."""
    return samples * samples * (features + OVERHEAD) / PACE


def svc(C: float, *, strict: bool = True, **words: Any) -> Any:
    """Return ``sklearn.svm.SVC(C=C, **words)`` whose ``fit`` ends.

    ``strict``: whether ``fit`` raises ``SolverError`` where it ends before the optimum; else the machine is left as it
    is.
    """
    return (_strict() if strict else _plain())(**{"C": C, "max_iter": MOST} | words)


@cache
def _plain() -> type:
    # scikit-learn takes over a second to import and loading or building needs none of it
    from sklearn.svm import SVC

    class Quiet(SVC):  # type: ignore[misc, unused-ignore]
        """An SVC that does not warn at its limit; a filter of warnings would be one of all threads."""

        def _warn_from_fit_status(self) -> None:
            pass

    return Quiet


@cache
def _strict() -> type:
    class Optimal(_plain()):  # type: ignore[misc]
        """An SVC that is optimal or none."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            remedy = "give a C nearer to 1, or scale the data."
            most = 1.0 if sample_weight is None else float(max(sample_weight))
            at = f"{self.C:g}" if most == 1.0 else f"{self.C:g} times weights of samples up to {most:g}"
            try:
                super().fit(X, y, sample_weight)
            except ValueError as error:  # its multipliers are not finite
                raise SolverError(f"libsvm failed at C={at} ({error}): {remedy}") from error
            if self.n_iter_.max() >= MOST:
                raise SolverError(
                    f"libsvm did not end within {MOST} iterations at C={at}, more than it can resolve on these "
                    f"data: {remedy}"
                )
            return self

    return Optimal
