"""The thread that answers the requests of a panel; requests and events are plain values for JSON.

A request has ``do`` (one of ``ACTIONS``, or "stop"), ``id`` (repeated by its events) and ``question``::

    {"do": "select", "id": 3, "question": {"model": "fsp-m", "max_features": 5, "C": 1.0, "penalty": None,
                                           "force_in": [], "force_out": ["age"], "rows": ["ca + cp <= 1"]}}

Every action answers the question first, so that its result belongs to the question that is shown. The events are
"welcome", "progress", "answer", "result" (a text with a table), "report", "stopped" and "error".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import Error, ParameterError
from fsmodels.insight.explore import Session, explore
from fsmodels.page.report import report
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.report import as_json, headline, number
from fsmodels.selection.request import is_default
from fsmodels.selection.selection import Selection
from fsmodels.text import as_names, listed
from solvers import interrupt, show
from solvers.interrupt import Cancel

Event = dict[str, Any]
Emit = Callable[[Event], None]
EXPLORED = {"fsp-m": None, "fsp-lambda": 1.0, "fs": 0.05, "fsl": 0.05}  # models of a panel, and their first penalties
ACTIONS = ("select", "near_optimal", "necessity", "cross_validate", "report")
NUMBERS = ("max_features", "C", "penalty")
ROWS = ("force_in", "force_out", "rows")
FIRST_SIZE = 5
PACE = 0.1  # s between progress events


class PanelWorker:
    """Thread that answers requests about one data set; a new request cancels the one before it.

    Attributes
    ----------
    data : Dataset
    model : str
        The model of the first question.
    given : dict
        Arguments of ``select``: the first question, and other side constraints and options of every question.
    emit : function
        Called with each event.
    load : str
        The Python expression that loads the data.
    session : Session, optional
        A session of the model with these arguments.
    """

    def __init__(
        self,
        data: Dataset,
        model: str,
        given: Mapping[str, Any],
        emit: Emit,
        load: str = "",
        session: Session | None = None,
    ) -> None:
        self.data, self.emit, self.load = data, emit, load
        self.first = _first_question(data, model, given)
        own = (*NUMBERS, *ROWS)
        self.others = {name: v for name, v in given.items() if name not in own and not is_default(name, v)}
        self.sessions = {} if session is None else {model: session}
        self.history: list[Event] = []
        self._changed = threading.Condition()
        self._next: Event | None = None
        self._cancel = Cancel()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="fsmodels-app", daemon=True)
        self._thread.start()

    def submit(self, request: Mapping[str, Any]) -> None:
        """Accept a request and return at once; may be called from any thread."""
        with self._changed:
            self._cancel.set()
            dropped, self._next = self._next, None if request.get("do") == "stop" else dict(request)
            self._changed.notify()
        if dropped is not None:
            self._send(dropped, {"event": "stopped"})

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._cancel.set()
            self._changed.notify()
        self._thread.join()

    def welcome(self) -> Event:
        """Return the event for a new page: the data, the models, the last question and the history."""
        models = [
            {"name": name, "penalty": penalty, "uses": [key for key in NUMBERS if _uses(name, key)]}
            for name, penalty in EXPLORED.items()
        ]
        return {
            "event": "welcome",
            "data": f"{self.data.name}: {self.data.n_samples} samples, {self.data.n_features} features",
            "features": list(self.data.features),
            "models": models,
            "question": self.history[-1]["question"] if self.history else self.first,
            "history": self.history,
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._next is not None)
                if self._closed:
                    return
                request, self._next, self._cancel = self._next or {}, None, Cancel()
            try:
                with interrupt.run(self._cancel):
                    event = self._answer(request)
            except KeyboardInterrupt:
                event = {"event": "stopped"}
            except Error as error:
                event = {"event": "error", "text": str(error)}
            except Exception as error:  # the thread continues with the next request
                event = {"event": "error", "text": f"{type(error).__name__}: {error}"}
            self._send(request, event)

    def _send(self, request: Event, event: Event) -> None:
        self.emit({**as_json(event), "id": request.get("id")})

    def _answer(self, request: Event) -> Event:
        """Answer the question of a request and perform its action; return the last event."""
        action = request.get("do")
        if action not in ACTIONS:
            raise ParameterError(f'There is no request "{action}": use one of {listed(ACTIONS)}.')
        session = self._ask(request)
        answer = self._answer_event(request, session)
        if action == "select":
            return answer
        self._send(request, answer)
        if interrupt.pressed():
            return {"event": "stopped"}
        if action == "report":
            page = report(session.data, session.task.spec.name, **session.arguments)
            return {"event": "report", "html": page.html, "name": f"{self.data.name}.html"}
        result = getattr(session, action)()
        return {"event": "result", "do": action, "text": result.sentence, "table": _table(result.short())}

    def _ask(self, request: Event) -> Session:
        """Answer the question of a request; return the session of its model."""
        question = request["question"]
        model = question["model"]
        if model not in (*EXPLORED, *self.sessions):
            raise ParameterError(f'The explorer does not have the model "{model}": use one of {listed(EXPLORED)}.')
        values = {key: question.get(key) for key in NUMBERS if _uses(model, key)}
        values = {key: value for key, value in values.items() if value is not None or key == "max_features"}
        values |= {key: as_names(question.get(key) or [], key) for key in ROWS}
        last = 0.0

        def report_progress(row: dict[str, Any]) -> None:
            nonlocal last
            if time.monotonic() - last > PACE:
                last = time.monotonic()
                self._send(request, {"event": "progress", "bound": row["Bound"], "incumbent": row["Incumbent"]})

        callback = report_progress if self.others.get("solver") is None else None  # other solvers may have no callback
        if model in self.sessions:
            self.sessions[model].ask(callback=callback, **values)
        else:
            self.sessions[model] = explore(self.data, model, callback=callback, **{**self.others, **values})
        return self.sessions[model]

    def _answer_event(self, request: Event, session: Session) -> Event:
        """Return the last answer of a session as an event, and record it, unless another request has cancelled it."""
        found, question = session.found, request["question"]
        if self._next is None and question not in [entry["question"] for entry in self.history]:
            self.history.append({"question": question, "text": _short(found)})
        text = headline(found)
        numbers = {name: getattr(found, name) for name in ("objective", "bound", "gap", "training_error")}
        try:
            code = session.to_python(self.load)
        except ParameterError as error:
            code = f"# {error}"
        return {
            "event": "answer",
            "question": question,
            "text": text,
            "note": "" if found.message in text else found.message,
            "status": found.status.value,
            "seconds": session.answers[-1].seconds,
            **numbers,
            "features": _features(found),
            "confusion": _confusion(found),
            "code": code,
            "model": repr(show(session.model)),
            "rows": session.rows(),
            "history": self.history,
        }


def _first_question(data: Dataset, model: str, given: Mapping[str, Any]) -> Event:
    penalty, size = given.get("penalty"), given.get("max_features")
    if size is None and MODELS[model].parameters.get("max_features"):  # required
        size = min(FIRST_SIZE, data.n_features)
    rows = given.get("rows") or []
    return {
        "model": model,
        "max_features": size,
        "C": given.get("C") or 1.0,
        "penalty": penalty if isinstance(penalty, int | float) else EXPLORED.get(model),
        "force_in": as_names(given.get("force_in") or [], "force_in"),
        "force_out": as_names(given.get("force_out") or [], "force_out"),
        "rows": [str(row) for row in (rows if isinstance(rows, list | tuple) else [rows])],
    }


def _uses(model: str, key: str) -> bool:
    return key in MODELS[model].parameters or (key == "max_features" and MODELS[model].selects)


def _short(found: Selection) -> str:
    if not found.has_solution:
        return found.status.value
    return f"{len(found.selected)} features, objective {number(found.objective)}, {found.status.value}"


def _features(found: Selection) -> list[list[Any]]:
    """Return name, weight as scaled and weight in original units of the selected features."""
    if not found.has_solution:
        return []
    return [[name, *values] for name, *values in found.table().itertuples()]


def _confusion(found: Selection) -> Event | None:
    """Return the names of both classes, and the training samples by true class (rows) and predicted class."""
    if not found.has_solution:
        return None
    true, predicted = found.data.y > 0, found.predict(found.data) > 0
    counts = [[int(np.sum((true == row) & (predicted == column))) for column in (True, False)] for row in (True, False)]
    return {"labels": list(found.data.classes), "counts": counts}


def _table(frame: pd.DataFrame) -> list[list[str]]:
    """Return the rows of a table as text, the titles first."""
    frame = frame.reset_index()
    return [list(map(str, row)) for row in (frame.columns, *frame.itertuples(index=False))]
