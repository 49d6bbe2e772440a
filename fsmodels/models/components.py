"""Components for several builders: mutable parameters, sets, rows, selection, and the plane w.x = gamma of (5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunct, Disjunction
from scipy import sparse

from fsmodels.checks import feature_count
from fsmodels.datasets.checks import as_given, dataset, require_both_classes
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError
from fsmodels.models.proofs.bounds import robust_bound
from fsmodels.models.proofs.certified import Point, values_of, write
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.shares import class_shares, slack_weights
from fsmodels.weights import used
from solvers.facts import Change, add_matrix_rows
from solvers.html import split_doc

MOST_FEATURES = 500_000  # of a model with variables for each feature; 100,000 take a second


def changeable(check: Callable[[Any], Any], value: Any, doc: str, index: Any = None) -> pyo.Param:
    """Return a mutable parameter with a check of each new value.

    Pyomo's domains have no checks of sizes and no messages with the meaning of a parameter. ``check``: value -> checked
    value. ``value``: number, or mapping over ``index``. ``doc``: str. ``index``: Set. Raises ParameterError from
    ``check``, here and on each assignment; the parameter then keeps its value.

    >>> from functools import partial
    >>> from fsmodels.checks import share
    >>> model = pyo.ConcreteModel()
    >>> model.penalty = changeable(partial(share, "penalty", meaning="lambda"), 0.5, "(7) lambda")
    >>> model.penalty = 1.5
    Traceback (most recent call last):
    fsmodels.errors.ParameterError: penalty=1.5 is not allowed: lambda. Give a number from 0 to below 1.
    """
    first = check(value) if index is None else {key: check(x) for key, x in value.items()}
    where = () if index is None else (index,)
    return pyo.Param(*where, initialize=first, within=pyo.Any, validate=partial(_allowed, check), mutable=True, doc=doc)


def _allowed(check: Callable[[Any], Any], model: Any, new: Any, *_: Any) -> bool:
    check(new if isinstance(new, Real) else None)  # the text of a number is not converted
    return True


def add_rows(
    model: pyo.ConcreteModel,
    name: str,
    index: Any,
    terms: Sequence[tuple[Any, Any]],
    doc: str,
    *,
    at_least: float | None = None,
) -> None:
    """Add the rows ``matrix_i x + sum_k c_ik z_k + d_i y_i``, equal to 0 or ``at_least`` a number.

    ``terms``: ``(matrix, x)`` with matrix (m, n), dense or CSR; ``(c_k, z_k)`` with c_k (m,) and one variable; at last
    ``(d, y)`` with d (m,) or a number, and y (m,), one variable for each row. The matrix is kept with the rows, so that
    solvers do not read the terms, which are created when something else reads them.
    """
    (matrix, variables), *shared, (scale, own) = terms
    coefficients = np.column_stack([*(c for c, _ in shared), np.broadcast_to(scale, len(own))])
    whole, columns = _with_columns(matrix, coefficients), [*variables, *(z for _, z in shared), *own]

    def relation(body: Any) -> Any:
        return body == 0.0 if at_least is None else body >= at_least

    add_matrix_rows(model, name, index, whole, columns, relation, doc)


def _with_columns(matrix: Any, coefficients: np.ndarray) -> Any:
    """Return (matrix, all columns of the coefficients but the last, the diagonal matrix of the last) as CSR."""
    if sparse.issparse(matrix):
        shared = sparse.csr_array(coefficients[:, :-1])
        return sparse.hstack(
            [matrix.tocsr().sorted_indices(), shared, sparse.diags_array(coefficients[:, -1])], format="csr"
        )
    values = np.column_stack([matrix, coefficients])  # zeros are terms, too
    rows, n = values.shape
    columns = np.empty((rows, n), dtype=np.int32)
    columns[:, :-1], columns[:, -1] = np.arange(n - 1), n - 1 + np.arange(rows)
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(rows + 1) * n), shape=(rows, n - 1 + rows))


def signed(data: Dataset) -> Any:
    """Return the rows y_i x_i, dense or CSR like the data."""
    if sparse.issparse(data.X):
        return sparse.csr_array(sparse.diags_array(data.y) @ data.X)
    return data.y[:, None] * data.X


def rows_of(matrix: Any) -> list[tuple[list[float], Sequence[int]]]:
    """Return the coefficients and columns of each row: all columns of a dense matrix, the stored ones of a CSR."""
    if sparse.issparse(matrix):
        m = matrix.tocsr().sorted_indices()
        spans = zip(m.indptr[:-1].tolist(), m.indptr[1:].tolist(), strict=True)
        return [(m.data[a:z].tolist(), m.indices[a:z].tolist()) for a, z in spans]
    columns = range(matrix.shape[1])
    return [(row, columns) for row in matrix.tolist()]


def few_enough(name: str, data: Dataset) -> None:
    """Raise DataError if the data have too many features for a model with variables for each."""
    if len(dataset(data).features) > MOST_FEATURES:
        raise DataError(
            f'Data "{data.name}" have {len(data.features):,} features, and {name} has variables for each: at '
            f"most {MOST_FEATURES:,}. Select among fewer, data.select_features([...]), or use fsmulti, which has no "
            "limit."
        )


def weighted_sum(s: np.ndarray, slacks: Sequence[Any], *, squared: bool = False) -> Any:
    """Return the sum of s_i times slacks, or their squares."""
    if not squared:
        return LinearExpression(linear_coefs=s.tolist(), linear_vars=slacks)
    if (s == 1.0).all():
        return pyo.quicksum(xi**2 for xi in slacks)
    return pyo.quicksum(share * xi**2 for share, xi in zip(s.tolist(), slacks, strict=True))


def slack_sum(s: np.ndarray, *, squared: bool = False) -> str:
    """Return the LaTeX of ``weighted_sum``."""
    return rf"\sum_i {'' if (s == 1.0).all() else 's_i '}\xi_i{'^2' if squared else ''}"


def latex_of(component: Any) -> str:
    """Return the LaTeX in the ``doc`` of a component."""
    return split_doc(component.doc)[1]


def index_sets(model: pyo.ConcreteModel, data: Dataset) -> Dataset:
    """Add the sets of features and samples for a model with variables for each feature; return as ``add_sets``.

    Raises DataError: too many features.
    """
    few_enough(model.name, data)
    return add_sets(model, as_given(data, weights=True))


def add_sets(model: pyo.ConcreteModel, data: Dataset) -> Dataset:
    """Add the sets of features and samples; return the data without the samples of weight 0.

    ``samples`` are the row numbers of the remaining samples in the data.
    """
    model.features = pyo.Set(initialize=list(data.features), doc="features, in the order of the data's columns")
    kept = data.counting
    rows = range(len(data.y)) if kept is data else np.flatnonzero(slack_weights(data)).tolist()
    model.samples = pyo.Set(initialize=rows, doc="samples, in the order of the data's rows")
    return kept


def put_plane(model: pyo.ConcreteModel, point: Point) -> None:
    """Write a point on the components of (5)."""
    write(model.w, point.w)
    model.gamma.set_value(-point.b)
    for i, xi in zip(model.samples, point.xi.tolist(), strict=True):
        (model.y if i in model.y else model.z)[i].set_value(xi)


def plane_rows(model: pyo.ConcreteModel) -> list[Any]:
    """Return the rows of (5), whose multipliers prove a bound, if the model has them."""
    return [part for part in map(model.component, ("plane_A", "plane_B")) if part is not None]


def plane_bound(columns: Columns, y: np.ndarray, shares: np.ndarray, alpha: np.ndarray | None) -> float:
    """Return a lower bound of (5); the multipliers of class +1 come first."""
    if alpha is not None:
        order = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y < 0)])
        alpha = alpha[np.argsort(order)]
    return robust_bound(columns, y, shares, alpha)


def plane_change(model: pyo.ConcreteModel, columns: Columns, *sized: Any) -> Change | None:
    """Return the change of units of w, of gamma, and of further variables in the units of w."""
    parts = [(1.0, list(part.values())) for part in (model.w, *sized)]
    change = columns.change(parts, (-1.0, model.gamma))
    if change is not None:  # only w is part of w.x - gamma
        weights = {id(v) for v in model.w.values()}
        change.centre = [(c, v) for c, v in change.centre if id(v) in weights]
    return change


def by_disjunctions(model: pyo.ConcreteModel, number: str) -> None:
    """Add a binary sigma and the disjunctions of sigma_j = 1 and w_j = 0."""
    model.selected = Disjunct(model.features, doc=f"{number} feature j is selected")
    model.dropped = Disjunct(model.features, doc=f"{number} feature j is not selected")
    for j in model.features:
        model.dropped[j].weight = pyo.Constraint(expr=model.w[j] == 0, doc=f"{number} w_j = 0 unless sigma_j = 1")
    doc = rf"{number} feature j is selected or w_j = 0 \([\sigma_j = 1] \;\veebar\; [w_j = 0] \quad \forall\, j\)"
    model.only_selected = Disjunction(model.features, rule=lambda m, j: [m.selected[j], m.dropped[j]], doc=doc)
    model.sigma = pyo.Reference(model.selected[:].binary_indicator_var)


def write_disjunctions(model: pyo.ConcreteModel, selected: np.ndarray) -> None:
    """Write a selection (n,) on the disjunctions."""
    write(model.sigma, selected)
    for j, value in zip(model.features, selected.tolist(), strict=True):
        model.dropped[j].binary_indicator_var.set_value(int(not value))


def by_weight(sizes: np.ndarray, model: pyo.ConcreteModel) -> list[str]:
    """Return the features that the weights of the model use; ``sizes`` are those of the columns."""
    uses = used(values_of(model.w), sizes).tolist()
    return [j for j, is_used in zip(model.features, uses, strict=True) if is_used]


def separating_plane(name: str, data: Dataset, *, stated: bool = True) -> pyo.ConcreteModel:
    """Return a model with w, gamma, y, z, ``error``, and the rows of (5) if ``stated``, without an objective."""
    model = pyo.ConcreteModel(name=name)
    data = index_sets(model, data)
    sides = {"A": np.flatnonzero(data.y > 0), "B": np.flatnonzero(data.y < 0)}
    samples = np.array(list(model.samples))
    require_both_classes(data)
    model.A = pyo.Set(initialize=samples[sides["A"]].tolist(), doc="samples of class +1")
    model.B = pyo.Set(initialize=samples[sides["B"]].tolist(), doc="samples of class -1")
    model.w = pyo.Var(model.features, doc="(1) normal of the plane, weight of feature j")
    model.gamma = pyo.Var(doc="(1) the plane is w.x = gamma")
    model.b = pyo.Expression(expr=-model.gamma, doc="offset: class +1 where w.x + b > 0")
    model.y = pyo.Var(model.A, domain=pyo.NonNegativeReals, doc="(5) slack of sample i of A")
    model.z = pyo.Var(model.B, domain=pyo.NonNegativeReals, doc="(5) slack of sample i of B")
    if stated:
        matrix, w = signed(data), list(model.w.values())
        docs = {
            "A": r"(5) -A w + e gamma + e <= y \(-w^\top x_i + \gamma + 1 \le y_i \quad \forall\, i \in A\)",
            "B": r"(5) B w - e gamma + e <= z \(w^\top x_i - \gamma + 1 \le z_i \quad \forall\, i \in B\)",
        }
        for side, slack in (("A", model.y), ("B", model.z)):  # y_i w.x_i - y_i gamma + slack_i >= 1
            rows = sides[side]
            terms = [(matrix[rows], w), (-data.y[rows], model.gamma), (1.0, list(slack.values()))]
            add_rows(model, f"plane_{side}", slack.index_set(), terms, docs[side], at_least=1.0)
    shares, slacks = class_shares(data), [*model.y.values(), *model.z.values()]
    coefs = shares[np.concatenate([sides["A"], sides["B"]])].tolist()
    total = LinearExpression(linear_coefs=coefs, linear_vars=slacks)
    even = data.sample_weight is None
    means = (r"\tfrac{1}{m} ", r"\tfrac{1}{k} ", "") if even else ("", "", "s_i ")
    latex = rf"{means[0]}\sum_{{i \in A}} {means[2]}y_i + {means[1]}\sum_{{i \in B}} {means[2]}z_i"
    model.error = pyo.Expression(expr=total, doc=rf"(5) e'y/m + e'z/k \({latex}\)")
    return model


def limit_features(model: pyo.ConcreteModel, most: int) -> None:
    """Add the limit on the number of features, ``cardinality``; ``model.max_features`` is a mutable parameter."""
    sigma = list(model.sigma.values())
    checked = partial(feature_count, n_features=len(sigma))
    model.max_features = changeable(checked, most, "most features")
    doc = r"at most that many features \(\sum_j \sigma_j \le \mathrm{max\_features}\)"
    model.cardinality = pyo.Constraint(expr=pyo.quicksum(sigma) <= model.max_features, doc=doc)


def limit_columns(model: pyo.ConcreteModel, columns: Iterable[Sequence[str]], most: int) -> None:
    """Add the limit on the number of columns, ``column_limit``; each column is a group of features with equal sigma.

    sigma of the first feature of a column is 1 if the column is used. ``model.max_columns`` is a mutable parameter.
    """
    first = [model.sigma[names[0]] for names in columns]
    model.max_columns = changeable(partial(feature_count, n_features=len(first), what="columns"), most, "most columns")
    doc = "at most that many columns, by sigma of the first feature of each"
    model.column_limit = pyo.Constraint(expr=pyo.quicksum(first) <= model.max_columns, doc=doc)


def by_ordered_sets(model: pyo.ConcreteModel, weights: Any, number: str = "(7)") -> None:
    """Add a binary sigma and "weight_j = 0 unless sigma_j = 1" as ordered sets of type 1."""
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc=f"{number} 1 if feature j is selected")
    model.unselected = pyo.Var(model.features, bounds=(0.0, 1.0), doc=f"{number} 1 - sigma_j")
    doc = rf"{number} unselected_j = 1 - sigma_j \(\mathrm{{unselected}}_j = 1 - \sigma_j \quad \forall\, j\)"
    model.complement = pyo.Constraint(model.features, rule=lambda m, j: m.unselected[j] + m.sigma[j] == 1, doc=doc)
    model.only_selected = pyo.SOSConstraint(
        model.features,
        rule=lambda m, j: [weights[j], m.unselected[j]],
        sos=1,
        doc=rf"{number} no weight unless sigma_j = 1 "
        rf"\(\mathrm{{SOS1}}({weights.local_name}_j, \mathrm{{unselected}}_j) \quad \forall\, j\)",
    )
