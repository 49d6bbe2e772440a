"""A fit as scikit-learn's callbacks see it: a task for each class, in it one for each row of the driver's table.

Of a version without callbacks nothing is told. A callback that asks to stop ends the solve as a limit does: what was
found is kept, with its bound.
"""

from __future__ import annotations

from typing import Any

from fsmodels.sklearn.compat import callbacks_of_run
from fsmodels.sklearn.running import Callback

__all__ = ["Watch"]


class Watch:
    """Tells the callbacks of an estimator how its fit goes."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, classes: list[str]) -> None:
        self._tasks = [f"class {name}" for name in classes]
        self._estimator, self._open = estimator, None
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._told = {"X": X, "y": y, "metadata": metadata}
        self._fit = callbacks_of_run(estimator, max_subtasks=len(self._tasks))
        if self._fit is not None:
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._told)

    def task(self) -> Callback | None:
        """Begin the next class's task, and return what its driver shall call with each row of its table."""
        if self._fit is None:
            return None
        self._close()
        task = self._fit.subcontext(task_name=self._tasks.pop(0), max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self._estimator)
        self._open = task

        def row(told: dict[str, Any]) -> bool:
            step = task.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator, metadata=told)
            return bool(step.call_on_fit_task_end(estimator=self._estimator, metadata=told))

        return row

    def end(self) -> None:
        """End the fit, whose attributes are there now."""
        if self._fit is not None:
            self._close()
            self._fit.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes={}, **self._told)

    def _close(self) -> None:
        if self._open is not None:
            self._open.call_on_fit_task_end(estimator=self._estimator)
