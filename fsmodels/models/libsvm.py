"""scikit-learn's SVC with an iteration limit: without one, libsvm does not end if rounding hides the progress."""

from __future__ import annotations

from functools import cache
from typing import Any

from fsmodels.errors import SolverError

__all__ = ["seconds", "svc"]

PACE = 1e10  # multiplications per second
OVERHEAD = 200  # cost of libsvm's iterations and of exponentials, in features
MOST = 10_000_000  # iterations, the limit of libsvm itself, which scikit-learn removes


def seconds(samples: int, features: int) -> float:
    """Return a high estimate of the time for a kernel matrix and libsvm, which cannot be interrupted."""
    return samples * samples * (features + OVERHEAD) / PACE


def svc(C: float, *, strict: bool = True, **parameters: Any) -> Any:
    """Return ``sklearn.svm.SVC(C=C, **parameters)`` with an iteration limit.

    ``strict``: Raise ``SolverError`` if ``fit`` ends before the optimum; otherwise keep the last iterate.
    """
    machine = _limited_svc()(**{"C": C, "max_iter": MOST} | parameters)
    machine.strict = strict
    return machine


@cache
def _limited_svc() -> type:
    from sklearn.svm import SVC  # the import takes over a second; loading and building do not need it

    class LimitedSVC(SVC):  # type: ignore[misc, unused-ignore]
        """SVC without a warning at its iteration limit; a warning filter would apply to all threads."""

        strict = True

        def _warn_from_fit_status(self) -> None:
            pass

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            remedy = "give a C nearer to 1, or scale the data."
            most = 1.0 if sample_weight is None else float(max(sample_weight))
            at = f"{self.C:g}" if most == 1.0 else f"{self.C:g} times weights of samples up to {most:g}"
            try:
                super().fit(X, y, sample_weight)
            except ValueError as error:  # the multipliers are not finite
                raise SolverError(f"libsvm failed at C={at} ({error}): {remedy}") from error
            if self.strict and self.n_iter_.max() >= MOST:
                raise SolverError(
                    f"libsvm did not end within {MOST} iterations at C={at}, more than it can resolve on these "
                    f"data: {remedy}"
                )
            return self

    return LimitedSVC
