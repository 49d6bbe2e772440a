"""Processes that joblib has: its own, or those of a cluster, by ``joblib.parallel_config("dask")`` and the like.

Nothing is shared during a slice, and nothing is kept between slices but caches: a process gives all its nodes back,
and the next slice may go to any. The job itself is sent until a process is known to have it.
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

from solvers.drivers.tree.dealt import Board, Explorer, Job, Report, Slice
from solvers.drivers.tree.forks import Failed, Unavailable
from solvers.processes import end_with_parent, safe_path
from solvers.shared_state import process_wide

KEPT = 4  # jobs whose cuts and answers a process keeps

_one_thread = process_wide(lambda: threadpool_limits(1))  # of linear algebra: Dask runs several slices in a process
_explorers: dict[tuple[str, int], Explorer] = {}  # by job and thread


def configured() -> bool:
    """Tell whether joblib was told to use processes, here or elsewhere."""
    from joblib.parallel import get_active_backend  # an import of a tenth of a second, as below

    backend, _ = get_active_backend(prefer="threads")
    return not any(getattr(backend, fact, False) for fact in ("supports_sharedmem", "uses_threads"))


class Cluster:
    """Processes by joblib's backend."""

    keeps = False
    first, longest = 0.5, 2.0  # s, of slices

    def __init__(self, job: Job, size: int) -> None:
        if not job.portable:
            raise Unavailable("this model's oracle cannot be sent to other processes")
        from joblib import Parallel

        self._job = np.frombuffer(pickle.dumps(job), dtype=np.uint8)  # an array: joblib and Dask send it once
        self._token = uuid.uuid4().hex
        self.why = "lost by joblib"
        self._open = ExitStack()
        self._open.enter_context(safe_path())
        self._parallel = self._open.enter_context(Parallel(n_jobs=size, batch_size=1, pre_dispatch="all"))

    def confirm(self, objective: float) -> None:
        """Say nothing: the next slices say it."""

    def run(
        self, parts: Mapping[int, Slice], take: Callable[[np.ndarray], None], stopped: Callable[[], Any]
    ) -> dict[int, Report]:
        """Let processes explore; return what they report, without those that were lost. As ``Forks.run``."""
        reports = self._ask(None, parts)
        missing = {k: part for k, part in parts.items() if reports.get(k) == "unknown"}
        if missing:
            reports |= self._ask(self._job, missing)
        for said in reports.values():
            if isinstance(said, Failed):
                raise said.error
            for point, _ in said.points:
                take(point)
        return reports

    def _ask(self, job: np.ndarray | None, parts: Mapping[int, Slice]) -> dict[int, Any]:
        from joblib import delayed

        try:
            said = self._parallel(delayed(explore)(self._token, job, part) for part in parts.values())
        except Exception as error:  # of the backend: what a process meets comes as an answer
            self.why = f"{type(error).__name__}: {error}"
            return {}
        return dict(zip(parts, said, strict=True))

    def end(self) -> None:
        """Let the processes go; they are joblib's."""
        self._open.close()


def explore(token: str, job: np.ndarray | None, part: Slice) -> Report | Failed | str:
    """Explore a slice in a process of joblib's; "unknown" where it does not have the job."""
    key = (token, threading.get_ident())
    try:
        if key not in _explorers:
            if job is None:
                return "unknown"
            end_with_parent()
            _explorers[key] = Explorer(pickle.loads(job.tobytes()), Board())
            while len(_explorers) > KEPT:
                del _explorers[next(iter(_explorers))]
        with _one_thread():
            return _explorers[key].explore(part)
    except Exception as error:
        _explorers.pop(key, None)
        return Failed.by(error)
