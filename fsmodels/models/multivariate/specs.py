"""Specification of FSmulti: (5) with a budget, or at most K features chosen by exchanges under the bound of (5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choosing, feature_count
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.classifier import LinearClassifier, linear_decision
from fsmodels.models.multivariate import classifier, fsmulti, measures, objective, risk
from fsmodels.models.multivariate.extended import why_lazy
from fsmodels.models.multivariate.groups import chosen, drop_idle
from fsmodels.models.multivariate.measures import Loss
from fsmodels.models.spec import LinearSpec, Parameters
from fsmodels.weights import FloatArray, column_sizes
from solvers import Result, StopReason, SupportFound, SupportSearch, facts_of, solve
from solvers.clock import Clock, one_clock
from solvers.facts import CompositeRisk
from solvers.result import DEFAULT_GAP, verdict

__all__ = ["SPECS"]

ORACLES = ("two-layer", "branch-and-cut", "benders", "single-tree")  # drivers for the lazy form
ENDED = (StopReason.INTERRUPTED, StopReason.CALLBACK)  # ended by the user
SHARE = 0.5  # of the time limit, for (5); the exchanges get the rest


def build(
    data: Dataset,
    *,
    max_features: int | None = None,
    budget: int | None = None,
    C: float = 1.0,
    loss: str | Loss = "f1",
    offset: bool = False,
    form: str = "lazy",
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build (5) with B = ``budget``, or B = ``max_features`` for ``run`` to choose from.

    Parameters and errors as for ``fsmulti``. ``max_features``: K, 1..m, the maximum number of features, by exchanges
    from the K largest with B = K; with ``sigma`` it is the row ``cardinality`` on these binaries.

    Raises ParameterError: both or neither are given, ``max_features`` does not support the form, or an error of
    ``fsmulti``.
    """
    if (max_features is None) == (budget is None):
        raise ParameterError(
            'Model "fsmulti" takes one of max_features (--max-features), at most so many features, or budget '
            "(--budget-features), B of (5), the sum of shares that more features may have."
        )
    if max_features is not None:
        feature_count(max_features, data.n_features + bool(offset))
        if form == "stated" and not choosing(sigma):
            raise ParameterError(
                'max_features with form="stated": exchanges need form="lazy" or "extended"; give budget instead, or '
                "sigma=True."
            )
    B: Any = budget if max_features is None else max_features
    model = fsmulti(data, budget=B, C=C, loss=loss, offset=offset, form=form, sigma=sigma)
    if sigma and max_features is not None:
        model.cardinality = pyo.Constraint(
            expr=pyo.quicksum(model.sigma.values()) <= model.budget, doc="(23) at most that many features"
        )
    return model


@one_clock()
def run(model: pyo.ConcreteModel, data: Dataset, parameters: Mapping[str, Any], solver: Any, options: Any) -> Result:
    """Solve (5); with ``max_features``, improve the solution to a selection of at most K features.

    A model with sigma contains this limit as a row and is solved once.

    The search starts from the K features of largest ``|w_j| max_i |x_ij|`` and from the features that remain when those
    of least weight are dropped one by one. It exchanges single features while (2) decreases
    (``two_layer.support_search``). The bound of (5) also holds for the best w with at most K features (Lemma 2 and its
    relaxation), so the gap bounds the distance of the selection from the best one.
    """
    K = parameters.get("max_features")
    if K is not None:
        model.budget.set_value(K)
    if parameters.get("sigma"):
        result = solve(model, solver, **options)
        if not result.has_solution:
            return result
        drop_idle(model)
        return replace(result, selected=chosen(model))
    clock = Clock.of_run(options.get("time_limit"))
    limit = options.get("time_limit")
    share = {"time_limit": SHARE * limit} if K is not None and isinstance(limit, int | float) and limit > 0 else {}
    result = replace(solve(model, solver, **{**options, **share}), options=dict(options))
    facts = facts_of(model)
    if K is None or not result.has_solution or not isinstance(facts, CompositeRisk):
        return result
    w, b = classifier(model)
    w = np.append(w, b) if parameters.get("offset") else w
    columns = np.flatnonzero(w)
    if len(columns) == 0:
        return result
    size = np.abs(w[columns]) * column_sizes(facts.matrix[:, columns])
    m = data.n_features
    locked = [m] if w[-1] and len(w) > m and K > 1 else []  # the offset counts as one of the K, and stays
    size[np.isin(columns, locked)] = np.inf
    columns = columns[np.argsort(-size, kind="stable")]
    found, noticed = None, StopReason.CONVERGED
    try:
        found = _searched(facts, result, columns, K, float(pyo.value(model.C)), locked, clock, options)
    except KeyboardInterrupt:
        noticed = StopReason.INTERRUPTED
    kept, few, xi, value = _truncated(data, w, columns[:K], parameters["loss"], model)
    if found is not None and found.value <= value:  # a limit may stop it before
        w = np.zeros(len(w))
        w[found.columns] = found.w
        kept, few, xi, value = _truncated(data, w, found.columns, parameters["loss"], model)
    order = np.argsort(kept)
    kept, few = kept[order], few[order]
    facts.load(kept[few != 0], few[few != 0], np.ones(np.count_nonzero(few)), xi)
    stops = [result.stop_reason, found.stop if found else StopReason.CONVERGED, noticed]
    objective = float(pyo.value(model.objective))
    judgement = verdict(objective, result.bound, gap=options.get("gap", DEFAULT_GAP))
    return replace(
        result,
        status=judgement.status,
        bound=judgement.bound,
        stop_reason=next((stop for stop in stops if stop is not StopReason.CONVERGED), StopReason.CONVERGED),
        objective=objective,
        selected=facts.selected(model) if facts.selected else None,
        seconds=clock.elapsed,
        message=" ".join(part for part in (_words(K, m in kept, found), judgement.message, result.message) if part),
        details={**result.details, "exchanges": found.exchanges if found else 0},
    )


def _words(K: int, offset: bool, found: SupportFound | None) -> str:
    many = f"At most {K} features{', the offset counted' if offset else ''}"
    if found is None:
        return f"{many}: those of the largest weights in (5). The bound is of the best such selection."
    end = ", and no exchange of one feature lowers the objective" if found.local else ""
    return f"{many}, after {found.exchanges} exchanges{end}. The bound is of the best such selection."


def _truncated(data: Dataset, w: Any, kept: Any, loss: Any, model: pyo.ConcreteModel) -> tuple[Any, Any, float, float]:
    """Return columns, their weights in (5), the risk and the objective of these alone."""
    m = data.n_features
    alone = np.where(np.isin(np.arange(len(w)), kept), w, 0.0)
    xi = risk(data, alone[:m], loss, b=float(alone[m]) if len(w) > m else 0.0)
    return kept, w[kept], xi, 0.5 * float(w[kept] @ w[kept]) + float(pyo.value(model.C)) * xi


def _searched(
    facts: CompositeRisk, result: Result, columns: Any, K: int, C: float, locked: list[int], clock: Clock, options: Any
) -> SupportFound | None:
    rows = list(result.details.get("rows", ()))
    scores = np.zeros(facts.matrix.shape[0])
    slopes = np.asarray(facts.matrix.T @ facts.worst(scores).coefficients.astype(float)).ravel()
    search = SupportSearch(facts, K, C, slopes, [columns[:K], columns], clock, locked=locked, rows=rows)
    return search.run(result.bound, options.get("gap", DEFAULT_GAP), exchanges=result.stop_reason not in ENDED)


@dataclass(frozen=True)
class FsMultiSpec(LinearSpec):
    """Specification of FSmulti with a budget, or with at most K features."""

    reported_defaults = ("C", "loss")

    def check_parameters(self, parameters: Parameters) -> None:
        """Raise an error for the removed option ``strict``."""
        if "strict" in parameters:
            raise ParameterError(
                f'Model "{self.name}" takes no strict: max_features=K (--max-features) selects at most K features; '
                "budget=B (--budget-features) is B of (5)."
            )

    def choose_form(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Parameters, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with the form that rows on weights or the solver need; the default is lazy.

        Exchanges do not support rows on weights; sigma replaces them.
        """
        by_oracle = solver is None or (isinstance(solver, str) and solver in ORACLES)
        if "form" in parameters or (by_oracle and not on_weights):
            return parameters
        stated = solver == "row-generation" or (by_oracle and why_lazy(measures.loss(parameters["loss"]), data) != "")
        chosen: dict[str, Any] = {"form": "stated" if stated else "extended"}
        if on_weights and "max_features" in parameters:
            chosen["sigma"] = True
        return {**chosen, **parameters}

    def solve(self, model: Any, data: Dataset, parameters: Parameters, solver: Any, options: Parameters) -> Result:
        """Solve (5), and improve to a selection of at most ``max_features`` features if this is given."""
        return run(model, data, parameters, solver, options)

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b); a lazy model contains only the used weights."""
        return classifier(model)

    def remark(self, c: LinearClassifier, parameters: Parameters, model: Any) -> str:
        """Report the measure and the number of features in the budget; explain scores of 0 and a risk without bound."""
        measure, B = measures.loss(parameters["loss"]), _budget(model)
        scores = linear_decision(c.data.X, c.w, c.b)
        sentences = [f"{measure.name} on these data: {measure.measure(c.data.y, scores):.2f}%."]
        if not c.w.any():
            sentences = [f"All weights are 0: every score is {c.b:g}, predicted as class {1 if c.b > 0 else -1}. "]
            sentences[0] += "A larger C makes features pay."
        if len(c.selected) > B:
            sentences.append(
                f"{len(c.selected)} features share the budget of {B} (sum of d); max_features={B} selects {B}."
            )
        positives = int((c.data.y > 0).sum())
        if not np.array_equal(measure.predict(c.data.y, n_positive=positives), c.data.y):  # y is not in Y
            sentences.append(
                f"The risk is no bound on what {measure.name} loses here, as the true labelling has {positives} "
                "positive samples and not k; prbep bounds it."
            )
        return " ".join(sentences)


def _budget(model: Any) -> int:
    return int(pyo.value(model.budget))


def _regularised_risk(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    known = {name: parameters[name] for name in ("C", "loss") if name in parameters}
    return objective(c.data, c.w, b=c.b, budget=_budget(model), **known)


SPECS = [
    FsMultiSpec(
        "fsmulti",
        "least loss of a whole labelling (F1, PRBEP, recall at k, ...) on a budget of features, exact",
        build,
        _regularised_risk,
        page="multivariate",
        equations=("(5)",),
        takes_weights=False,
        proves_bound=True,
        alternatives={"max_features": "budget"},
    )
]
