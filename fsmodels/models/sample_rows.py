"""What the models share that state a row for each sample: their index sets, and rows of the data as linear terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from fsmodels.datasets.checks import as_given, dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError
from fsmodels.models.proofs.certified import weights
from fsmodels.models.proofs.equilibration import rounding
from fsmodels.models.shares import slack_weights
from solvers.facts import keep
from solvers.html import split_doc

MOST_FEATURES = 500_000  # of a model with variables for each: a second for 100,000


def slack_rounding(largest: np.ndarray, model: pyo.ConcreteModel) -> float:
    """Return what rounding leaves of one slack at the model's weights, at none where it has no values."""
    w, _ = weights(model)
    b = pyo.value(model.b, exception=False)
    return rounding(largest, np.nan_to_num(w), 0.0 if b is None else float(b))


def keep_rows(component: Any, rows: Any, offsets: np.ndarray | None, slacks: np.ndarray, held: Sequence[Any]) -> None:
    """Keep rows ``r_i.w + o_i b + s_i xi_i``, b where there is one, as a matrix for whoever would read their terms."""
    shared = [] if offsets is None else [offsets]
    if sparse.issparse(rows):
        parts = [rows, *(sparse.csr_array(o[:, None]) for o in shared), sparse.diags_array(slacks)]
        keep(component, sparse.hstack(parts, format="csr"), held)
        return
    samples, n = rows.shape[0], rows.shape[1] + len(shared)
    values = np.column_stack([rows, *shared, slacks])  # zeros are terms, too
    columns = np.empty((samples, n + 1), dtype=np.int32)
    columns[:, :n], columns[:, n] = np.arange(n), n + np.arange(samples)
    starts = np.arange(samples + 1) * (n + 1)
    keep(component, sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(samples, n + samples)), held)


def signed(data: Dataset) -> Any:
    """Return the rows y_i x_i, dense or CSR as the data are."""
    if sparse.issparse(data.X):
        return sparse.csr_array(sparse.diags_array(data.y) @ data.X)
    return data.y[:, None] * data.X


def rows_of(matrix: Any) -> list[tuple[list[float], Sequence[int]]]:
    """Return each row's coefficients and columns as plain lists: all columns where dense, the stored ones of a CSR."""
    if sparse.issparse(matrix):
        m = matrix.tocsr().sorted_indices()  # a full row is taken to be in the order of the columns
        spans = zip(m.indptr[:-1].tolist(), m.indptr[1:].tolist(), strict=True)
        return [(m.data[a:z].tolist(), m.indices[a:z].tolist()) for a, z in spans]
    columns = range(matrix.shape[1])
    return [(row, columns) for row in matrix.tolist()]


def few_enough(name: str, data: Dataset) -> None:
    """Refuse data of too many features for a model with variables for each.

    Raises DataError.
    """
    if len(dataset(data).features) > MOST_FEATURES:
        raise DataError(
            f'Data "{data.name}" have {len(data.features):,} features, and {name} states variables for each: at '
            f"most {MOST_FEATURES:,}. Select among fewer, data.select_features([...]), or use fsmulti, which takes any "
            "number."
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
    """Return the LaTeX in a component's ``doc``."""
    return split_doc(component.doc)[1]


def index_sets(model: pyo.ConcreteModel, data: Dataset) -> Dataset:
    """Add the sets of features and samples; return the data of the latter, without samples of weight 0.

    ``samples`` are the rows' numbers in the data as given, and the model is one whose slacks can be weighed.
    Raises DataError: more features than a model with variables for each can be built for.
    """
    few_enough(model.name, data)
    model.features = pyo.Set(
        initialize=list(as_given(data, weights=True).features), doc="features, in the order of the data's columns"
    )
    kept = data.counting
    rows = range(len(data.y)) if kept is data else np.flatnonzero(slack_weights(data)).tolist()
    model.samples = pyo.Set(initialize=rows, doc="samples, in the order of the data's rows")
    return kept
