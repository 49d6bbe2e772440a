"""What if: a session of questions about one model, each answered from what the earlier ones proved where that suffices.

Two facts need no solve. A question that only forbids more (further rows, a smaller limit, a higher price) cannot have a
better optimum: the bound of the earlier one holds. And a selection that was found stays what it is where the objective
is the same and the rows allow it. Where both meet, the answer is there; where not, the driver goes on from its memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.insight.exact import about, bounded, plain, ready, share_of
from fsmodels.models.fsp import penalties
from fsmodels.selection.report import headline, number
from fsmodels.selection.select import Prepared, prepared
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import KINDS, Side, beside, read_sides, state, state_most
from fsmodels.words import lasting, listed, short
from solvers import Memory, SolutionStatus, StopReason, html, interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.options import Config
from solvers.result import DEFAULT_GAP, relative_gap, verdict
from solvers.shared_state import Turn

__all__ = ["Explored", "Session", "explore"]

MUTABLE = ("max_features", "C", "penalty")
WEIGHTS = ("C", "penalty")  # of terms of the objective: of other values, it is another one
MISS = 1e-9  # of a row's size


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
            "objective": plain(found.objective),
            "bound": plain(found.bound),
            "gap": plain(found.gap),
            "status": found.status.value,
            "selected": list(found.selected),
            "how": self.how,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html.paragraph(self.sentence) + self.found._repr_html_()


@dataclass(frozen=True)
class _Asked:
    """A question as numbers and rows, and what was proven about it."""

    question: str
    values: dict[str, Any]
    sides: tuple[Side, ...]
    own: frozenset[str]
    found: Selection


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
    task: Prepared
    values: dict[str, Any]
    given: dict[str, Any]
    answers: list[Explored] = field(default_factory=list)
    _own: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    _built: frozenset[str] = frozenset()
    _asked: list[_Asked] = field(default_factory=list)
    _met: list[Callable[[Any], Any]] = field(default_factory=list)  # kept, so that no later row has the id of one
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
            self._met.append(row)
            words.append(f'with "{name}"')
        sides = tuple(read_sides(self.task.recipe, given, self.data))
        with interrupt.run(), one_clock(), watching.shown(progress):
            stated = self._state(values, sides, own)
            self.values, self.given, self._own, self.task.options = values, given, own, options
            question = ", ".join(words) or ("as it is" if self.answers else "to begin with")
            asked = self._answered(question, sides, own, stated)
        before = self.answers[-1].found.objective if self.answers else None
        rescaled = listed(k for k in WEIGHTS if self.answers and values.get(k) != held.get(k))
        answer = Explored(question, asked[0], asked[1], time.perf_counter() - start, before, rescaled)
        self.answers.append(answer)
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
            elif name in KINDS:
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

    def _state(self, values: dict[str, Any], sides: tuple[Side, ...], own: Mapping[str, Any]) -> dict[str, Any]:
        """Make the model that of a question; where a row cannot be stated, that of the question before again."""
        try:
            return self._stated_anew(values, sides, own)
        except Exception:
            self._stated_anew(self.values, read_sides(self.task.recipe, self.given, self.data), self._own)
            raise

    def _stated_anew(self, values: Mapping[str, Any], sides: Iterable[Side], own: Mapping[str, Any]) -> dict[str, Any]:
        """Take the rows of the last question away, and state those of another."""
        model = self.model
        for name in self._rows():
            model.del_component(name)
        for name, value in values.items():
            self._set(name, value)
        stated = state(model, list(sides))
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

    def _answered(
        self, question: str, sides: tuple[Side, ...], own: Mapping[str, Any], stated: dict[str, Any]
    ) -> tuple[Selection, str]:
        """Answer from what is known, or solve."""
        rows = frozenset(f"{name}/{id(row)}" for name, row in own.items())
        bound, by = self._known_bound(sides, rows)
        at_hand = self._known_selection(sides, rows)
        gap = self.task.options.get("gap")
        gap = DEFAULT_GAP if gap is None else gap
        parameters = {**self.task.parameters, **{k: v for k, v in self.values.items() if v is not None}} | stated
        if at_hand is not None and bound is not None and (relative_gap(at_hand.objective, bound) or 0.0) <= gap:
            assert at_hand.objective is not None
            judged = verdict(at_hand.objective, bound, gap=gap)
            found = replace(
                at_hand, parameters=parameters, bound=judged.bound, status=judged.status,
                stop_reason=StopReason.CONVERGED,
            )  # fmt: skip
            how = f'Nothing was solved: the bound is that of "{by}", and the selection is allowed and as good.'
        else:
            self.task.parameters = {**self.task.parameters, **self.values}
            self.task.stated = stated
            found = self.task.run()
            if bound is not None and found.objective is not None and (found.bound is None or bound > found.bound):
                judged = verdict(found.objective, min(bound, found.objective), gap=gap)
                found = replace(found, bound=judged.bound, status=judged.status)
            how = self._told(found)
        if found.has_solution or found.status is SolutionStatus.INFEASIBLE:
            self._asked.append(_Asked(question, dict(self.values), sides, rows, found))
        return found, how

    def _told(self, found: Selection) -> str:
        """Say what a solve went on from."""
        reused = found.result.details.get("reused")
        if reused:
            return f"Solved, going on from {reused}." if isinstance(reused, str) else "Solved, going on from memory."
        return "Solved, going on from what the driver remembers." if self._asked else "Solved."

    def _known_bound(self, sides: tuple[Side, ...], own: frozenset[str]) -> tuple[float | None, str]:
        """Return the best bound of earlier questions that forbid no more than this one, and which it is."""
        best: tuple[float | None, str] = None, ""
        for asked in self._asked:
            bound = asked.found.bound
            allows = asked.own <= own and all(any(_implies(s, r) for s in sides) for r in asked.sides)
            if bound is None or not allows or not self._no_easier(asked.values):
                continue
            if best[0] is None or bound > best[0]:
                best = bound, asked.question
        return best

    def _no_easier(self, values: Mapping[str, Any]) -> bool:
        """Tell whether the parameters now allow nothing, and charge nothing less, that those did not."""
        for name, value in self.values.items():
            before = values.get(name)
            if value == before:
                continue
            if isinstance(value, Mapping) or isinstance(before, Mapping):
                return False
            if name == "max_features":
                value, before = (self.data.n_features if x is None else x for x in (value, before))
            direction = self.task.recipe.direction.get(name)  # fs: no objective is monotone in its penalty
            if direction is None or direction * (value - before) < 0:
                return False
        return True

    def _known_selection(self, sides: tuple[Side, ...], own: frozenset[str]) -> Selection | None:
        """Return the best selection of earlier questions with this objective that the rows now allow."""
        on_weights = {repr(s.told) for s in sides if s.on_weights}
        sigma = {id(v) for v in self.model.sigma.values()}
        rows = [self.model.component(name) for name in (*self._rows(), "cardinality")]
        rows = [row for row in rows if row is not None]
        on_sigma = [row for row in rows if all(id(v) in sigma for part in _parts(row) for v in _variables(part))]
        others = {name for name in self._own if not any(row.local_name == name for row in on_sigma)}
        need = {key for key in own if key.rpartition("/")[0] in others}
        price = {name: value for name, value in self.values.items() if name != "max_features"}
        best: Selection | None = None
        for asked in self._asked:
            found = asked.found
            if found.objective is None or (best is not None and found.objective >= (best.objective or 0.0)):
                continue
            same = {name: value for name, value in asked.values.items() if name != "max_features"} == price
            held = on_weights <= {repr(s.told) for s in asked.sides if s.on_weights} and need <= asked.own
            if same and held and self._allows(found.selected, on_sigma):
                best = found
        return best

    def _allows(self, selected: Iterable[str], rows: Iterable[Any]) -> bool:
        """Tell whether rows on sigma allow a selection."""
        model, chosen = self.model, set(selected)
        before = [(v, v.value) for v in model.sigma.values()]
        try:
            for name, v in model.sigma.items():
                v.set_value(1.0 if name in chosen else 0.0, skip_validation=True)
            return all(_met(row) for row in rows)
        finally:
            for v, value in before:
                v.set_value(value, skip_validation=True)

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
    >>> answer = session.ask(excludes=[("mcv", "drinks")])
    >>> answer.how
    'Nothing was solved: the bound is that of "to begin with", and the selection is allowed and as good.'
    """
    name = bounded(model)
    data = ready(data, scale, given)
    sides = {kind: given.pop(kind) for kind in list(given) if kind in KINDS and not isinstance(given[kind], Number)}
    task = prepared(data, name, solver=solver, **given)
    if not task.recipe.keeps_model or task.model is None or task.model.component("sigma") is None:
        raise ParameterError(f'explore needs a model whose sigma stays while rows change: "{name}" has none.')
    if task.takes("memory"):
        task.options = {"memory": Memory(), **task.options}
    values = {k: task.parameters.get(k) for k in MUTABLE if k in task.parameters}
    built = frozenset(c.name for c in task.model.component_objects(pyo.Constraint))
    session = Session(data, task, values, {}, _built=built)
    session.ask(progress=progress, **sides)
    return session


def _implies(this: Side, other: Side) -> bool:
    """Tell whether a row forbids all that another of its kind forbids."""
    if this.kind != other.kind:
        return False
    if this.kind in ("force_in", "force_out"):
        return set(other.arguments) <= set(this.arguments)
    if repr(this.told) == repr(other.told):
        return True
    if this.kind == "budget" and this.told["costs"] == other.told["costs"]:
        return bool(this.told["limit"] <= other.told["limit"])
    if this.kind in ("at_most", "at_least") and this.told["features"] == other.told["features"]:
        sign = 1 if this.kind == "at_most" else -1
        return bool(sign * this.told["k"] <= sign * other.told["k"])
    return False


def _shortly(kind: str, value: Any) -> str:
    if kind == "budget" and isinstance(value, tuple) and len(value) == 2:
        return f"of {value[1]:g}" if isinstance(value[1], int | float) else "of costs"
    return short(str(value))


def _parts(row: Any) -> list[Any]:
    return list(row.values()) if row.is_indexed() else [row]


def _variables(part: Any) -> list[Any]:
    return list(identify_variables(part.body))


def _met(row: Any) -> bool:
    """Tell whether the values on the model meet a row on sigma."""
    for part in _parts(row):
        body = pyo.value(part.body, exception=False)
        if body is None:
            return False
        low, high = (-np.inf if part.lower is None else pyo.value(part.lower)), pyo.value(part.upper, exception=False)
        slack = MISS * max(1.0, abs(body))
        if body < low - slack or (part.upper is not None and body > high + slack):
            return False
    return True
