"""Worker processes of joblib: its own, or those of a cluster, for example by ``joblib.parallel_config("dask")``.

Workers exchange no data during a slice and keep only caches between slices. They return all nodes, and any worker can
explore the next slice. The task is sent to each worker once.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from solvers.drivers.branch_cut.process_pool import Unavailable, WorkerFailure
from solvers.drivers.branch_cut.worker import Report, SharedIncumbent, Slice, TreeTask, Worker
from solvers.shared_state import end_with_parent, process_wide, safe_path

KEPT = 4  # number of tasks whose cuts and answers a worker keeps

_one_thread = process_wide(lambda: threadpool_limits(1))  # of linear algebra: Dask runs several slices in a process
_workers: dict[tuple[str, int], Worker] = {}  # by task and thread


def configured() -> bool:
    """Return whether joblib is configured to use processes, here or on a cluster."""
    from joblib.parallel import get_active_backend  # imported here because it takes a tenth of a second

    backend, _ = get_active_backend(prefer="threads")
    return not any(getattr(backend, fact, False) for fact in ("supports_sharedmem", "uses_threads"))


class JoblibPool:
    """Workers of joblib's backend."""

    keeps = False
    first, longest = 0.5, 2.0  # s, of slices

    def __init__(self, task: TreeTask, size: int) -> None:
        if not task.portable:
            raise Unavailable("this model's oracle cannot be sent to other processes")
        from joblib import Parallel

        self._task = np.frombuffer(pickle.dumps(task), dtype=np.uint8)  # an array: joblib and Dask send it once
        self._token = uuid.uuid4().hex
        self.why = "lost by joblib"
        self._open = ExitStack()
        self._open.enter_context(safe_path())
        self._parallel = self._open.enter_context(Parallel(n_jobs=size, batch_size=1, pre_dispatch="all"))

    def run(
        self, parts: Mapping[int, Slice], take: Callable[[np.ndarray], float], stopped: Callable[[], Any]
    ) -> dict[int, Report]:
        """Explore the slices; return the reports of the workers that were not lost, as ``ProcessPool.run``."""
        reports = self._explore(None, parts)
        missing = {k: part for k, part in parts.items() if reports.get(k) == "unknown"}
        if missing:
            sent = self._explore(self._task, missing)
            if not sent:  # the array was lost with a process of Dask that was killed
                sent = self._explore(self._task, missing)
            reports = {k: report for k, report in reports.items() if k not in missing} | sent
        for report in reports.values():
            if isinstance(report, WorkerFailure):
                raise report.error
            for point, _ in report.points:
                take(point)
        return reports

    def _explore(self, task: np.ndarray | None, parts: Mapping[int, Slice]) -> dict[int, Any]:
        from joblib import delayed

        try:
            reports = self._parallel(delayed(explore)(self._token, task, part) for part in parts.values())
        except Exception as error:  # of the backend; an error of a worker is returned
            self.why = f"{type(error).__name__}: {error}"
            return {}
        return dict(zip(parts, reports, strict=True))

    def end(self) -> None:
        """Release the workers; they belong to joblib."""
        self._open.close()


def explore(token: str, task: np.ndarray | None, part: Slice) -> Report | WorkerFailure | str:
    """Explore a slice in a worker of joblib; return "unknown" if it does not have the task."""
    key = (token, threading.get_ident())
    try:
        if key not in _workers:
            if task is None:
                return "unknown"
            end_with_parent()
            _workers[key] = Worker(pickle.loads(task.tobytes()), SharedIncumbent())
            while len(_workers) > KEPT:
                del _workers[next(iter(_workers))]
        with _one_thread():
            return _workers[key].explore(part)
    except Exception as error:
        _workers.pop(key, None)
        return WorkerFailure.by(error)
