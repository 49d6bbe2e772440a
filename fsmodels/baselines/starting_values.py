r"""How many features, and at which price, from a model that is solved at once: values to begin a search with.

``one_norm_size``: M as the number of features that the 1-norm SVM uses, as Aytug 2015 sets it where no M is true.

``svm_penalty``: lambda from the plain SVM, which Aytug 2015 proposes and leaves open. With v_j the weights of the SVM
on all features, the first relaxed master (15) of FSP-lambda is

.. math::
    \min_\sigma \sum_i \alpha_i + \sum_j \sigma_j (\lambda - \tfrac12 v_j^2),

which keeps just the features with v_j^2 / 2 > lambda. So lambda between the M-th and the next largest v_j^2 / 2 keeps M
of them: their geometric mean, as they spread over orders of magnitude. It is a scale to begin with, no more: with fewer
others beside it a feature is worth more, so that the optimum of FSP-lambda keeps more than M where features overlap (16
of wdbc's 30 at M = 1).
"""

from __future__ import annotations

import numpy as np

from fsmodels.checks import feature_count, positive
from fsmodels.datasets.checks import as_given
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import C_MEANING

RELATIVE = 1e-10  # relative, of the cost: what it misses there is the square of what weights miss


def svm_penalty(data: Dataset, *, max_features: int, C: float = 1.0) -> float:
    """Return a price of a feature, lambda, that M weights of the plain SVM are worth; a scale to begin at.

    Parameters
    ----------
    data : Dataset
        Scaled, as weights are compared with one another.
    max_features : int
        M, 1..n_features; with all of them half of the least v_j^2 / 2.
    C : float
        Cost of slack, above 0, for which the price is meant: lambda is in units of the objective.

    Returns
    -------
    float
        lambda for ``fsp_lambda``, at least 0; where fewer than M features have a weight, the least that drops the rest.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> price = fs.baselines.svm_penalty(data, max_features=5)
    >>> len(fs.select(data, "fsp-lambda", penalty=price).selected)
    17
    """
    data = as_given(data, weights=True).counting
    feature_count(max_features, data.n_features)
    oracle = SvmOracle(data.X, data.y, positive("C", C, C_MEANING) * slack_weights(data))
    v = oracle.solve(np.ones(data.n_features), tolerance=RELATIVE).v
    gains = np.sort(0.5 * v**2)[::-1]
    if max_features == data.n_features:
        return float(0.5 * gains[-1])
    return float(np.sqrt(gains[max_features - 1] * gains[max_features]))
