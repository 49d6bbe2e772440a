"""What-if questions about one model: each solve continues the tree of the earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.insight.what_if import about, bounded, memory_for, share_of
from fsmodels.models.fsp import penalties
from fsmodels.selection.report import as_json, headline, number
from fsmodels.selection.request import Request
from fsmodels.selection.rows import KEYWORDS, Declaration, beside, read_rows, state, state_most
from fsmodels.selection.selection import Selection
from fsmodels.words import lasting, listed, short
from solvers import SolutionStatus, html, interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.options import Config
from solvers.shared_state import Turn

MUTABLE = ("max_features", "C", "penalty")
WEIGHTS = ("C", "penalty")  # of terms of the objective: of other values, it is another one


@dataclass(frozen=True)
class Explored:
    """One answer: the question in words, the selection with its bound, how it was come by, and seconds."""

    question: str
    found: Selection
    how: str
    seconds: float
    before: float | None = None  # objective of the question before
    rescaled: str = ""  # what was changed that the objective is measured by

    @property
    def sentence(self) -> str:
        """The answer in a line."""
        words = f"{self.question}: {headline(self.found)}"
        now = self.found.objective
        if self.rescaled:
            words += (
                f" With another {self.rescaled} the objective is another one: it is not held against the one before."
            )
        elif now is not None and self.before is not None:
            change = share_of(now, self.before)
            moved = (
                f"{about(abs(change))} {'above' if change > 0 else 'below'}" if abs(change) > 1e-6 else "the same as"
            )
            words += f" That is {moved} the answer before ({number(self.before)})."
        return f"{words} {self.how} {self.seconds:.2f} s."

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file."""
        found = self.found
        return {
            "question": self.question,
            "objective": as_json(found.objective),
            "bound": as_json(found.bound),
            "gap": as_json(found.gap),
            "status": found.status.value,
            "selected": list(found.selected),
            "how": self.how,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html.paragraph(self.sentence) + self.found._repr_html_()


@dataclass(repr=False)
class Session:
    """Questions about one model; ``ask`` changes it, and each answer is kept in ``answers``. One thread asks at a time.

    Attributes
    ----------
    data : Dataset
    model : pyo.ConcreteModel
        The live model, with the rows of the last question.
    answers : list of Explored
    """

    data: Dataset
    task: Request
    values: dict[str, Any]
    given: dict[str, Any]
    answers: list[Explored] = field(default_factory=list)
    _own: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    _built: frozenset[str] = frozenset()
    _proven: dict[Any, Explored] = field(default_factory=dict)
    _turn: Turn = field(default_factory=Turn)

    @property
    def model(self) -> pyo.ConcreteModel:
        """The live model."""
        assert self.task.model is not None
        return self.task.model

    @property
    def found(self) -> Selection:
        """The last answer's selection."""
        return self.answers[-1].found

    def ask(
        self,
        *,
        add: Mapping[str, Callable[[Any], Any]] | None = None,
        drop: Iterable[str] = (),
        progress: bool = False,
        **changes: Any,
    ) -> Explored:
        """Change the question and answer it; what is not named stays as it was.

        Parameters
        ----------
        add : mapping name -> function of the model, optional
            Rows of your own: ``{"odd": lambda m: m.sigma["a"] + m.sigma["b"] == 1}``.
        drop : names
            Rows of your own to leave out again.
        progress : bool
            Show how the solve stands.
        **changes
            ``max_features``, ``C``, ``penalty`` and the side constraints of ``select``, by kind: a kind that is given
            replaces what was there, None or () takes it back. ``time_limit`` and other options of the driver.

        Raises
        ------
        ParameterError, DataError, ModelError
            As ``select``; the question before then stays.
        """
        with self._turn.lock:  # another thread waits
            return self._ask(add or {}, drop, progress, changes)

    def _ask(
        self, add: Mapping[str, Callable[[Any], Any]], drop: Iterable[str], progress: bool, changes: dict[str, Any]
    ) -> Explored:
        start = time.perf_counter()
        held, values, given, own = self.values, dict(self.values), dict(self.given), dict(self._own)
        options = dict(self.task.options)
        words = [*self._change(values, given, options, {name: lasting(value) for name, value in changes.items()})]
        for name in [drop] if isinstance(drop, str) else drop:
            if name not in own:
                raise ParameterError(f'drop: there is no row "{name}" of your own: {listed(own) or "none was added"}.')
            del own[name]
            words.append(f'without "{name}"')
        for name, row in add.items():
            if self.model.component(name) is not None and name not in own:
                raise ParameterError(f'add: the model has a component "{name}": give the row another name.')
            own[name] = row
            words.append(f'with "{name}"')
        rows = tuple(read_rows(self.task.recipe, given, self.data))
        with interrupt.run(), one_clock(), watching.shown(progress):
            stated = self._state(values, rows, own)
            self.values, self.given, self._own = values, given, own
            self.task = replace(self.task, options=options, stated=stated)
            question = ", ".join(words) or ("as it is" if self.answers else "to begin with")
            found, how = self._answered(rows)
        before = self.answers[-1].found.objective if self.answers else None
        rescaled = listed(k for k in WEIGHTS if self.answers and values.get(k) != held.get(k))
        answer = Explored(question, found, how, time.perf_counter() - start, before, rescaled)
        self.answers.append(answer)
        if found.status in (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE):
            self._proven.setdefault(self._key(rows), answer)
        return answer

    def history(self) -> pd.DataFrame:
        """Return one line a question: objective, bound, gap, what is selected, how it was come by, seconds."""
        lines = [answer.to_dict() for answer in self.answers]
        columns = ["question", "objective", "bound", "gap", "status", "selected", "how", "seconds"]
        return pd.DataFrame(lines, columns=columns).set_index("question")

    def _options(self) -> set[str]:
        """Name the options of whoever solves that a question may change; ``memory`` is the session's own."""
        kind = Config if self.task.driver is None else self.task.driver.options_type
        return {part.name for part in fields(kind)} - {"memory", "callback"}

    def _change(
        self, values: dict[str, Any], given: dict[str, Any], options: dict[str, Any], changes: dict[str, Any]
    ) -> list[str]:
        """Put changes into ``values``, ``given`` and ``options``; return them in words."""
        words = []
        for name, value in changes.items():
            if name in MUTABLE:
                if name not in values and not (name == "max_features" and self.task.recipe.selects):
                    raise ParameterError(f'Model "{self.task.recipe.name}" does not use {name}: leave it out.')
                if value is None and self.task.recipe.parameters.get(name):
                    raise ParameterError(f"{name}=None: give a value.")
                if name != "max_features":
                    self.task.recipe.check(name, value, self.data)
                values[name] = value
                words.append(f"{name} = {value}")
            elif name == "fair":
                self.data, given[name] = beside(self.data, value or ())
                words.append(f"{name} = {value}")
            elif name in KEYWORDS:
                value = value.tolist() if isinstance(value, np.ndarray) else value  # an array has no truth value
                given[name] = value
                words.append(f"{name} {_shortly(name, value)}" if value else f"without {name}")
            elif name in self._options():
                options[name] = value
            else:
                raise ParameterError(
                    f"ask got {name}={value!r}, which a session does not change: give {listed(MUTABLE)}, side "
                    "constraints, add, drop, or an option of the solver such as time_limit; for another model, loss or "
                    "scale open another session."
                )
        return words

    def _state(self, values: dict[str, Any], rows: tuple[Declaration, ...], own: Mapping[str, Any]) -> dict[str, Any]:
        """Make the model that of a question; where a row cannot be stated, that of the question before again."""
        try:
            return self._stated_anew(values, rows, own)
        except Exception:
            self._stated_anew(self.values, read_rows(self.task.recipe, self.given, self.data), self._own)
            raise

    def _stated_anew(
        self, values: Mapping[str, Any], rows: Iterable[Declaration], own: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Take the rows of the last question away, and state those of another."""
        model = self.model
        for name in self._rows():
            model.del_component(name)
        for name, value in values.items():
            self._set(name, value)
        stated = state(model, rows)
        for name, row in own.items():
            model.add_component(name, pyo.Constraint(expr=row(model)))
        return stated

    def _rows(self) -> list[str]:
        """Name the rows that the session has stated."""
        names = [c.name for c in self.model.component_objects(pyo.Constraint)]
        return [name for name in names if name not in self._built and name != "cardinality"]

    def _set(self, name: str, value: Any) -> None:
        model = self.model
        parameter = model.component(name)
        if name == "max_features" and not self.task.recipe.parameters.get(name):
            if value is None and parameter is not None:
                model.del_component("cardinality")
                model.del_component("max_features")
            elif value is not None and parameter is None:
                state_most(model, value)
            elif value is not None:
                parameter.set_value(value)
        elif parameter.is_indexed():
            parameter.store_values(penalties(self.data, value))
        else:
            parameter.set_value(value)

    def _key(self, rows: Iterable[Declaration]) -> Any:
        """Return a key of the current question, equal for questions with the same answer."""
        stated = frozenset((row.keyword, repr(row.reported)) for row in rows)
        return repr(self.values), stated, frozenset(self._own.items()), repr(self.task.options.get("gap"))

    def _answered(self, rows: Iterable[Declaration]) -> tuple[Selection, str]:
        """Return the proven answer of an earlier identical question, or solve; and how the answer was found."""
        if earlier := self._proven.get(self._key(rows)):
            return earlier.found, f'The question is that of "{earlier.question}".'
        self.task = self.task.changed(**self.values)
        found = self.task.solve()
        return (
            found,
            "Solved with the memory of earlier solves."
            if self.answers and "memory" in self.task.options
            else "Solved.",
        )

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
    **given: Any,
) -> Session:
    """Open a session of what-if questions about one model, and answer the first.

    Parameters
    ----------
    data, model, scale, solver, **given
        As in ``select``, for a model with a proven bound; the first question.
    progress : bool
        Show how its solve stands; ``ask`` has its own.

    Returns
    -------
    Session
        ``session.ask(max_features=6)``, ``session.ask(force_in=["age"])``, ``session.ask(add={...})`` are the next.

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
    if not task.recipe.keeps_model or task.model is None or task.model.component("sigma") is None:
        raise ParameterError(f'explore needs a model whose sigma stays while rows change: "{name}" has none.')
    built = frozenset(c.name for c in task.model.component_objects(pyo.Constraint))
    task = replace(task, options=memory_for(task.model, task.solver, task.options))
    values = {k: task.parameters.get(k) for k in MUTABLE if k in task.parameters}
    session = Session(task.data, task, values, {}, _built=built)
    session.ask(progress=progress, **request.rows)
    return session


def _shortly(kind: str, value: Any) -> str:
    if kind == "budget" and isinstance(value, tuple) and len(value) == 2:
        return f"of {value[1]:g}" if isinstance(value[1], int | float) else "of costs"
    return short(str(value))
