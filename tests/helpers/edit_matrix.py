"""Every edit of every family by its default driver: the outcome, and its check.

A cell is ``proven`` (status optimal, and equal to the best of every support, or to scip's optimum), ``honoured`` (the
answer satisfies the edit, and its objective is right, but nothing is proven), ``refused`` (with the name of what it is
and what to do instead), or ``-`` (the model has nothing that the edit could be stated on). Anything else is a defect,
which ``Cell.wrong`` tells.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

import fsmodels as fs
import solvers
from edits import EDITS, FEATURES, Edit, Missing, View
from families import Family, data
from fsmodels.selection.catalogue import MODELS, used_parameters
from solvers import SolutionStatus, facts_of

CLOSE, ROOM = 1e-4, 1e-6  # relative gap of an optimum; what rows may be missed by
LIMIT = 20  # seconds, of scip where it is the reference
REMEDY = re.compile(r"\b(use|state|solve|build|give|models that can|instead|leave|write|drop|set|fix|see)\b", re.I)
NOTHING = Edit("none", "as built")
# Cells that are wrong, why, and whose they are: each must be wrong still.
KNOWN: dict[tuple[str, str], str] = {}
HELD = (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY)


@dataclass
class Cell:
    """What became of an edit: the word of the table, the solver, what was said, and what is wrong."""

    word: str
    solver: str = ""
    said: str = ""
    wrong: list[str] = field(default_factory=list)


@dataclass
class Answer:
    """A solved model: its result, the weights, the selected features."""

    result: Any
    model: Any
    w: np.ndarray | None
    b: float
    used: frozenset[str]


def run(family: Family, edit: Edit) -> Cell:
    """Make an edit, solve by the default driver, and judge."""
    try:
        answer = _answer(family, edit)
    except Missing as missing:
        return Cell("-", said=str(missing))
    except (solvers.Error, fs.DataError) as refusal:
        said = str(refusal)
        return Cell("refused", said=said, wrong=[] if REMEDY.search(said) else ["it does not say what to do"])
    return _judged(family, edit, answer)


def _answer(family: Family, edit: Edit) -> Answer:
    spec = MODELS[family.name]
    if edit.words:
        found = fs.select(data(), family.name, **family.given, **edit.words)
        model, classifier, used = found.model, found.classifier, found.selected
        result, solved = replace(found.result, status=found.status, objective=found.objective), found.has_solution
    else:
        given = used_parameters(spec, family.given)
        if edit.on_sigma is not None and "sigma" in spec.parameters:
            given["sigma"] = True
        given = spec.choose_form(given, data(), None, {}, on_weights=edit.on_weights is not None)
        model = spec.build_model(data(), given)
        if model is None:
            raise Missing("no model")
        view = View(model, spec.has_sigma(given), family.changed)
        for part in (edit.on_weights, edit.on_sigma):
            if part is not None:
                part(view)
        result, read = spec.solve_and_read(model, data(), given, None, {})
        classifier, used = (None, ()) if read is None else (read.classifier, read.classifier.selected)
        solved = result.has_solution
    if not solved:
        return Answer(result, model, None, 0.0, frozenset())
    w, b = _weights(spec, model, classifier)
    return Answer(result, model, w, b, frozenset(used))


def _weights(spec: Any, model: Any, classifier: Any) -> tuple[np.ndarray | None, float]:
    """Weights on the model itself, where it has some, and as they are reported where not."""
    if model is not None and hasattr(spec, "weights"):
        return spec.weights(model)
    z = None if model is None else model.component("z")
    if z is not None:
        return np.array([pyo.value(z[j]) for j in FEATURES]), 0.0
    weights = getattr(classifier, "w", None)
    return (None if weights is None else np.asarray(weights)), float(getattr(classifier, "b", 0.0))


def _judged(family: Family, edit: Edit, answer: Answer) -> Cell:
    result, wrong = answer.result, []
    by, optimal = result.solver, result.status is SolutionStatus.OPTIMAL
    cell = Cell("proven" if optimal else "honoured", by, str(result.message), wrong)
    if result.status not in HELD:
        wrong.append(f"status {result.status.value}: {result.message}")
        return cell
    on_selection = (edit.words and not edit.rows) or edit.on_sigma is not None
    if on_selection and not edit.allowed(answer.used):
        wrong.append(f"selects {sorted(answer.used)}")
    if on_selection and answer.w is not None and family.hinge is not None:
        idle = [j for j, x in zip(FEATURES, answer.w, strict=True) if abs(x) > ROOM and j not in answer.used]
        wrong += [f"{idle} have weights and are not selected"] if idle else []
    if answer.w is not None and (missed := edit.missed(answer.w)) > 10 * ROOM:
        wrong.append(f"the weights miss the edit by {missed:.1e}")
    given = {"C": 1.0, **family.given}
    if edit.changes and family.changed is not None:
        given[family.changed[0]] = family.changed[1]
    wrong += _objective(family, edit, answer, given)
    return cell


def _objective(family: Family, edit: Edit, answer: Answer, given: dict[str, Any]) -> list[str]:
    """What is wrong with the objective: not that of the answer, or of the optimum."""
    result, wrong = answer.result, []
    objective = result.objective
    if answer.model is not None and objective is not None:
        active = next(answer.model.component_data_objects(pyo.Objective, active=True), None)
        at = None if active is None else pyo.value(active, exception=False)
        facts = facts_of(answer.model)
        if at is not None and (facts is None or not facts.implicit) and not _near(at, objective):
            wrong.append(f"objective {objective:.9g}, and its own values give {at:.9g}")
    if family.hinge is None and result.status is SolutionStatus.OPTIMAL and result.solver != "scip":
        other = _by_another(family, edit, answer)
        if other is None or not math.isclose(other, objective, rel_tol=3 * CLOSE, abs_tol=1e-5):
            wrong.append(f"{objective:.9g} is called optimal, and another way leads to {other}")
    if family.hinge is None or answer.w is None or objective is None:
        return wrong
    recomputed = family.hinge.value(answer.w, answer.b, answer.used, given, edit)
    if not _near(recomputed, objective):
        wrong.append(f"objective {objective:.9g}, and the data give {recomputed:.9g}")
    if family.exact:
        least = family.hinge.optimum(given, edit)
        if objective < least - 1e-5 * abs(least) - ROOM:
            wrong.append(f"objective {objective:.9g} is below the optimum {least:.9g}")
        if result.status is SolutionStatus.OPTIMAL and objective > least + 1.1 * CLOSE * abs(least) + ROOM:
            wrong.append(f"objective {objective:.9g} is called optimal, and the optimum is {least:.9g}")
        if result.bound is not None and result.bound > least + 1e-5 * abs(least) + ROOM:
            wrong.append(f"bound {result.bound:.9g} is above the optimum {least:.9g}")
    return wrong


def _by_another(family: Family, edit: Edit, answer: Answer) -> float | None:
    """The optimum by scip, or where rows are left to an oracle by the family on each set of features alone."""
    facts = facts_of(answer.model)
    if facts is None or not facts.implicit:
        return fs.solve(answer.model, "scip", time_limit=LIMIT).objective
    most = family.given["max_features"]
    found = []
    for used in (frozenset(s) for k in range(1, most + 1) for s in itertools.combinations(FEATURES, k)):
        if edit.allowed(used):
            part = data().select_features([j for j in FEATURES if j in used])
            alone = fs.select(part, family.name, **{**family.given, "max_features": len(used)})
            found.append(alone.objective + edit.price(used))
    return min(found)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-5)


def row(family: Family) -> list[Cell]:
    """Run the cells of a family."""
    return [run(family, edit) for edit in EDITS]


def matters(family: Family, edit: Edit) -> bool:
    """Tell whether an edit changes the optimum of a family, so that one that is ignored is found out."""
    assert family.hinge is not None
    given = {"C": 1.0, **family.given}
    plain = family.hinge.optimum(given, NOTHING)
    if edit.changes and family.changed is not None:
        given[family.changed[0]] = family.changed[1]
    return not math.isclose(plain, family.hinge.optimum(given, edit), rel_tol=1e-3)
