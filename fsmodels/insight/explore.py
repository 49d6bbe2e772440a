"""What-if questions about one model; each solve continues the search tree of the earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from fsmodels.checks import import_extra
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.evaluation.cross_validate import CrossValidated, cross_validate
from fsmodels.insight.near_optimal import NearOptimal, near_optimal_of
from fsmodels.insight.necessity import Necessity, necessity_of
from fsmodels.insight.what_if import about, bounded, clock_of, share_of
from fsmodels.models.components import limit_features
from fsmodels.selection.path import set_parameter
from fsmodels.selection.report import INTERNAL, BaseAnswer, headline, number
from fsmodels.selection.request import Request, driver_options
from fsmodels.selection.rows import KEYWORDS, keywords_by_row, read_rows, set_groups_aside, state
from fsmodels.selection.selection import Selection
from fsmodels.text import DEFAULT_SCALING, lasting, listed, short
from solvers import SolutionStatus, html, interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.interrupt import Cancel
from solvers.options import Config
from solvers.shared_state import Turn

MUTABLE = ("max_features", "C", "penalty")
WEIGHTS = ("C", "penalty")  # of terms of the objective: of other values, it is another one


@dataclass(frozen=True, repr=False)
class Explored(BaseAnswer):
    """Answer to a question: its text, the selection with its bound, how it was found, and seconds."""

    question: str
    found: Selection
    how: str
    seconds: float
    before: float | None = None  # objective of the question before
    rescaled: str = ""  # changed weights of terms of the objective

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        text = f"{self.question}: {headline(self.found)}"
        now = self.found.objective
        if self.rescaled:
            text += f" {self.rescaled} changed, so the objective cannot be compared with the answer before."
        elif now is not None and self.before is not None:
            change = share_of(now, self.before)
            moved = (
                f"{about(abs(change))} {'above' if change > 0 else 'below'}" if abs(change) > 1e-6 else "the same as"
            )
            text += f" That is {moved} the answer before ({number(self.before)})."
        return f"{text} {self.how} {self.seconds:.2f} s."

    def _content(self) -> dict[str, Any]:
        found = self.found
        return {
            "question": self.question,
            "objective": found.objective,
            "bound": found.bound,
            "gap": found.gap,
            "status": found.status.value,
            "selected": list(found.selected),
            "how": self.how,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.found._repr_html_()


@dataclass(repr=False)
class Session:
    """Sequence of questions about one model: ``ask`` changes it, and ``answers`` contains all answers. Thread-safe.

    Attributes
    ----------
    task : Request
        The last question, with the live model.
    answers : list of Explored
    """

    task: Request
    answers: list[Explored] = field(default_factory=list)
    _own: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    _built: frozenset[str] = frozenset()
    _proven: dict[Any, Explored] = field(default_factory=dict)
    _turn: Turn = field(default_factory=Turn)

    @property
    def data(self) -> Dataset:
        """The scaled data."""
        return self.task.data

    @property
    def model(self) -> pyo.ConcreteModel:
        """The live model, with the rows of the last question."""
        assert self.task.model is not None
        return self.task.model

    @property
    def found(self) -> Selection:
        """The selection of the last answer."""
        return self.answers[-1].found

    @property
    def arguments(self) -> dict[str, Any]:
        """The last question as arguments of ``select``, without the rows of ``add``."""
        return {name: value for name, value in self.task.arguments.items() if name not in INTERNAL}

    def ask(
        self,
        *,
        add: Mapping[str, Callable[[Any], Any]] | None = None,
        drop: Iterable[str] = (),
        progress: bool = False,
        cancel: Cancel | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        **changes: Any,
    ) -> Explored:
        """Change the question and answer it; everything else remains as in the question before.

        Parameters
        ----------
        add : mapping name -> function of the model, optional
            Rows of your own: ``{"odd": lambda m: m.sigma["a"] + m.sigma["b"] == 1}``.
        drop : names
            Rows of your own to remove.
        progress : bool
            Show the progress of the solve.
        cancel : Cancel, optional
            Token that ends the solve from another thread, as Ctrl-C does.
        callback : function, optional
            Called in this solve with each row of the iteration table of a driver; if it returns True, the solve stops.
        **changes
            ``max_features``, ``C``, ``penalty`` and side constraints as in ``select``, which replace the former ones of
            the same kind; None or () removes them. ``time_limit`` and other options of the driver.

        Raises
        ------
        ParameterError, DataError, ModelError
            As ``select``; the question before remains.
        """
        with self._turn.lock, interrupt.run(cancel):  # other threads wait
            return self._ask(add or {}, drop, progress, callback, changes)

    def _ask(
        self,
        add: Mapping[str, Callable[[Any], Any]],
        drop: Iterable[str],
        progress: bool,
        callback: Callable[[dict[str, Any]], Any] | None,
        changes: dict[str, Any],
    ) -> Explored:
        start, former, own = time.perf_counter(), self.task.parameters, dict(self._own)
        task, texts = self._changed({name: lasting(value) for name, value in changes.items()})
        for name in [drop] if isinstance(drop, str) else drop:
            if name not in own:
                raise ParameterError(f'drop: there is no row "{name}" of your own: {listed(own) or "none was added"}.')
            del own[name]
            texts.append(f'without "{name}"')
        for name, row in add.items():
            if self.model.component(name) is not None and name not in own:
                raise ParameterError(f'add: the model has a component "{name}": give the row another name.')
            own[name] = row
            texts.append(f'with "{name}"')
        question = ", ".join(texts) or ("as it is" if self.answers else "to begin with")
        with interrupt.run(), one_clock(), watching.shown(progress):
            try:
                self.task, self._own = self._stated(task, own), own
            except Exception:
                self._stated(self.task, self._own)
                raise
            key = self._key
            if earlier := self._proven.get(key):
                found, how = earlier.found, f'The question is that of "{earlier.question}".'
            else:
                solve = self.task if callback is None else self.task.changed(callback=callback)
                found, how = solve.solve(), "Solved."
                if self.answers and "memory" in self.task.options:
                    how = "Solved with the memory of earlier solves."
        before = self.answers[-1].found.objective if self.answers else None
        rescaled = listed(k for k in WEIGHTS if self.answers and self.task.parameters.get(k) != former.get(k))
        answer = Explored(question, found, how, time.perf_counter() - start, before, rescaled)
        self.answers.append(answer)
        if found.status in (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE):
            self._proven.setdefault(key, answer)
        return answer

    def history(self) -> pd.DataFrame:
        """Return a frame with a row for each question: objective, bound, gap, status, features, origin, seconds."""
        lines = [answer.to_dict() for answer in self.answers]
        columns = ["question", "objective", "bound", "gap", "status", "selected", "how", "seconds"]
        return pd.DataFrame(lines, columns=columns).set_index("question")

    def near_optimal(
        self, *, within: float = 0.01, limit: int = 1000, progress: bool = False, cancel: Cancel | None = None
    ) -> NearOptimal:
        """Find every selection within a share of the best under the present rows; see ``fs.near_optimal``."""
        with self._turn.lock, interrupt.run(cancel), one_clock(), watching.shown(progress):
            return near_optimal_of(self.task, within, limit)

    def necessity(
        self,
        *,
        within: float = 0.01,
        features: Iterable[str] | None = None,
        prices: bool = True,
        time_limit: float | None = None,
        progress: bool = False,
        cancel: Cancel | None = None,
    ) -> Necessity:
        """Prove the role of each feature under the present rows; see ``fs.necessity``."""
        with self._turn.lock, interrupt.run(cancel), one_clock(), watching.shown(progress):
            return necessity_of(self.task, clock_of(time_limit), within=within, features=features, prices=prices)

    def cross_validate(self, **folds: Any) -> CrossValidated:
        """Estimate the error on new samples under the present rows; ``**folds``: as for ``fs.cross_validate``.

        Raises ParameterError: there are rows of ``add``, which are functions of the model of all samples.
        """
        self._check_no_functions("cross_validate applies")
        return cross_validate(self.data, self.task.spec.name, **self.arguments, **folds)

    def rows(self) -> dict[str, str]:
        """Return the present side constraints: the name of each component of the model, and its text.

        >>> import fsmodels as fs
        >>> session = fs.explore(fs.load_dataset("bupa"), max_features=2, rows="mcv <= sgot")
        >>> session.rows()
        {'cardinality': 'max_features=2', 'rows': 'rows=["mcv <= sgot"]'}
        """
        known = keywords_by_row({**self.task.parameters, **(self.task.stated or {})})
        own = {name: short(str(self.model.component(name).expr)) for name in self._own}
        return {**{name: text for name, text in known.items() if self.model.component(name) is not None}, **own}

    def to_python(self, load: str = "") -> str:
        """Return Python code that makes the same selection.

        ``load``: the expression that loads the data, such as ``fs.load_dataset("bupa")``; without it the code uses a
        variable ``data``. Raises ParameterError: there are rows of ``add``, whose code is not known.

        >>> import fsmodels as fs
        >>> session = fs.explore(fs.load_dataset("bupa"), max_features=2)
        >>> print(session.to_python('fs.load_dataset("bupa")'))
        import fsmodels as fs
        <BLANKLINE>
        data = fs.load_dataset("bupa")
        found = fs.select(
            data,
            "fsp-m",
            max_features=2,
            C=1.0,
        )
        print(found)
        """
        self._check_no_functions("to_python writes")
        values = {name: _plain(value) for name, value in self.arguments.items()}
        if self.data.scale.method != DEFAULT_SCALING:
            values["scale"] = self.data.scale.method
        given = [f"    {name}={value!r}," for name, value in values.items()]
        call = ["found = fs.select(", "    data,", f'    "{self.task.spec.name}",', *given, ")", "print(found)"]
        lines = ["import fsmodels as fs", "", *([f"data = {load}"] if load else []), *call]
        return "\n".join(lines)

    def panel(self, load: str = "") -> Any:
        """Return the explorer, a widget for Jupyter that continues this session.

        ``load``: as for ``to_python``. Raises ParameterError: ``pip install "fsmodels[app]"`` is needed.
        """
        return import_extra("fsmodels.app.widget", "app").ExplorerWidget(self, load)

    def _check_no_functions(self, verb: str) -> None:
        if self._own:
            raise ParameterError(
                f"{verb} the arguments of select, and the rows {listed(self._own)} are functions of the model: state "
                'them as text, rows=["a + b <= 1"].'
            )

    def _changed(self, changes: Mapping[str, Any]) -> tuple[Request, list[str]]:
        """Return the request with changes, and a text for each change."""
        spec, data, texts = self.task.spec, self.task.data, []
        parameters, rows, options = dict(self.task.parameters), dict(self.task.rows), dict(self.task.options)
        known = driver_options(self.model, self.task.solver) or Config.__dataclass_fields__
        for name, value in changes.items():
            if name in MUTABLE:
                if name not in parameters and not (name == "max_features" and spec.selects):
                    raise ParameterError(f'Model "{spec.name}" does not use {name}: leave it out.')
                if value is None and spec.parameters.get(name):
                    raise ParameterError(f"{name}=None: give a value.")
                if name != "max_features":
                    spec.check_value(name, value, data)
                parameters[name] = value
                texts.append(f"{name} = {value}")
            elif name == "fair":
                data, rows[name] = set_groups_aside(data, value or ())
                texts.append(f"{name} = {value}")
            elif name in KEYWORDS:
                rows[name] = value.tolist() if isinstance(value, np.ndarray) else value  # an array has no truth value
                texts.append(f"{name} {_shortly(name, rows[name])}" if rows[name] else f"without {name}")
            elif name in known and name not in ("memory", "callback"):
                options[name] = value
            else:
                raise ParameterError(
                    f"ask got {name}={value!r}, which a session cannot change: give {listed(MUTABLE)}, side "
                    "constraints, add, drop, or an option of the solver such as time_limit; for another model, loss or "
                    "scale open another session."
                )
        return replace(self.task, data=data, parameters=parameters, rows=rows, options=options), texts

    def _stated(self, task: Request, own: Mapping[str, Callable[[Any], Any]]) -> Request:
        """Replace the rows and parameters of the model by those of a question; return it with its reported rows."""
        model, rows = self.model, read_rows(task.spec, task.rows, task.data)
        for row in list(model.component_objects(pyo.Constraint)):
            if row.name not in self._built and row.name not in ("cardinality", "column_limit"):
                model.del_component(row)
        for name in MUTABLE:
            if name in task.parameters:
                self._set(name, task.parameters[name])
        stated = state(model, rows)
        for name, build in own.items():
            model.add_component(name, pyo.Constraint(expr=build(model)))
        return replace(task, stated=stated)

    def _set(self, name: str, value: Any) -> None:
        """Set a parameter of the model; add or remove a limit on the number of features that is a row."""
        model = self.model
        if name == "max_features" and value is None and model.component("max_columns") is not None:
            value = len(self.data.columns)
        if model.component(name) is not None and (value is not None or name != "max_features"):
            set_parameter(model, name, value, self.data)
        elif value is not None:
            limit_features(model, value)
        elif model.component(name) is not None:
            model.del_component("cardinality")
            model.del_component("max_features")

    @property
    def _key(self) -> Any:
        """A key of the current question, equal for questions with the same answer."""
        task = self.task
        values = [task.parameters.get(name) for name in MUTABLE]
        return repr((values, task.stated, task.options.get("gap"))), frozenset(self._own.items())

    def __repr__(self) -> str:
        return "\n".join(repr(answer) for answer in self.answers)

    def _repr_html_(self) -> str:
        return html.frame(self.history())


def explore(
    data: Dataset,
    model: str = "fsp-m",
    *,
    scale: str | None = None,
    solver: Any = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    **given: Any,
) -> Session:
    """Open a session of what-if questions about one model, and answer the first.

    Parameters
    ----------
    data, model, scale, solver, **given
        The first question, as in ``select``, for a model with a proven bound.
    progress : bool
        Show the progress of the first solve.
    cancel, callback
        As in ``Session.ask``, for the first solve.

    Returns
    -------
    Session
        The next questions are ``session.ask(max_features=6)``, ``session.ask(force_in=["age"])``, and so on.

    Raises
    ------
    ParameterError
        The model proves no bound; and as ``select``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> session = fs.explore(fs.load_dataset("bupa"), max_features=3)
    >>> session.found.selected
    ('sgpt', 'sgot', 'gammagt')
    >>> session.ask(max_features=2).found.selected
    ('sgpt', 'sgot')
    >>> session.ask(max_features=3).how
    'The question is that of "to begin with".'
    """
    name = bounded(model)
    request = Request.of(data, name, scale=scale, solver=solver, **given)
    task = replace(request, rows={}).build()
    if not task.spec.reuses_model or task.model is None or task.model.component("sigma") is None:
        raise ParameterError(f'explore needs a model with sigma that is built once: "{name}" is not.')
    built = frozenset(c.name for c in task.model.component_objects(pyo.Constraint))
    session = Session(task if "memory" in task.options else task.with_memory(), _built=built)
    session.ask(progress=progress, cancel=cancel, callback=callback, **request.rows)
    return session


def _shortly(kind: str, value: Any) -> str:
    if kind == "budget" and isinstance(value, tuple) and len(value) == 2:
        return f"of {value[1]:g}" if isinstance(value[1], int | float) else "of costs"
    return short(str(value))


def _plain(value: Any) -> Any:
    """Return a value whose ``repr`` is Python code: numbers, texts, lists, tuples and dictionaries."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)
