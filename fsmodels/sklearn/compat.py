"""The callbacks of scikit-learn, which version 1.9 introduced."""

from __future__ import annotations

from typing import Any

__all__ = ["CallbackSupport", "callbacks_of_run", "with_callbacks"]

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
