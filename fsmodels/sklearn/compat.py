"""What versions of scikit-learn call differently: validation since 1.6, tags since 1.6, callbacks since 1.9."""

from __future__ import annotations

from typing import Any

import sklearn
from sklearn.utils.fixes import parse_version

__all__ = ["SINCE_1_6", "CallbackSupport", "callbacks_of_run", "validated", "with_callbacks"]

SINCE_1_6 = parse_version(sklearn.__version__) >= parse_version("1.6")

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """There are no callbacks in this version."""

    def with_callbacks(method: Any) -> Any:
        """Return the method."""
        return method


def callbacks_of_run(estimator: Any, **words: Any) -> Any:
    """Return the context of a fit for scikit-learn's callbacks; None in versions that have none."""
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin(**words)


def validated(estimator: Any, X: Any, y: Any = None, *, reset: bool, **words: Any) -> Any:
    """Check X, and y where there is one, and set or compare the features of the estimator."""
    given = (X,) if y is None else (X, y)
    if SINCE_1_6:
        from sklearn.utils.validation import validate_data

        return validate_data(estimator, *given, reset=reset, **words)
    return estimator._validate_data(*given, reset=reset, **words)
