r"""Feature weights inside the kernel of an SVM: full space, alternating with a shared or explicit margin, and GMKL.

Problem
    A weight z_k >= 0 for each feature, inside the kernel; K(z)_ij = K(Z x_i, Z x_j), for the RBF kernel

    .. math::
        K(z)_{ij} = \exp(-\textstyle\sum_k z_k^2 (x_{ik} - x_{jk})^2)                                      && (13)

    With a_i = y_i u_i and f = K(z) a + b, the decision values of the samples:

    .. math::
        \min_{u, b, z \ge 0}\ & \Omega = \tfrac12 a^\top K(z) a + C \sum_i V(y_i f_i) + \mu \sum_k z_k     && (7) \\
        \min_{\bar u, \bar b, z \ge 0, \lambda}\ & \tfrac{1}{2 \lambda^2} \bar a^\top K(z) \bar a
            + C \sum_i V(y_i f_i / \lambda) + \mu \sum_k z_k                                               && (11) \\
        \min_{z \ge 0, \lambda}\ & \tfrac{1}{2 \lambda^2}
            + C \sum_i V(y_i f_i / \lambda) + \mu \sum_k z_k                                               && (12) \\
        \min_{z \ge 0}\ & F(z) + \mu \sum_k z_k,\quad F(z) = \max_\alpha \{e^\top \alpha
            - \tfrac12 \alpha^\top Y K(z) Y \alpha : y^\top \alpha = 0,\ 0 \le \alpha \le C\}              && (5), (6)

    With weights of samples C is C s_i for each (``models.shares``); those of weight 0 have no u. V is the hinge
    max(0, 1 - m), smoothed over [1 - 2 eps, 1]:

    .. math::
        V(m) = 1 - m - \epsilon \ (m < 1 - 2 \epsilon),\quad (1 - m)^2 / (4 \epsilon) \ (m < 1),\quad 0    && (8)

Algorithms
    ``full_fs``     (7) in all variables at once (section 3).
    ``gmkl``        (5): projected gradient with Armijo steps on the value function; F is the hinge's.
    ``ao_simple``   Algorithm 1: SVM for fixed z, then (FS), z for fixed (u, b), until z is still.
    ``ao_margin``   Algorithm 2: SVM, then (XFS), (z, lambda) of (11) for fixed (u, b), until z is still.
    ``ao_efs``      Algorithm 3: SVM, then (EFS), (z, lambda) of (12), until the set of weights in use is still.

    All weights below 0.01 of the largest count as 0. At the end the SVM is solved again, so that Omega of different
    models can be compared; ``omega`` gives it for any z.
What to know of the objective
    The slope of a weight at 0 is mu > 0: what is 0 stays 0, and z = 0 is a strict local minimum, at which every sample
    gets the label of the larger class. From z = 1 with 120 standardised features K is the identity and all slopes
    vanish but mu: the default start is z = min(1, 2 / sqrt(2 d)), at which two samples are a distance of about 2
    apart (``start="ones"`` for the paper's), and a first step is tried at a quarter of ||z||.
    (11) does not change under (u, b, lambda) -> t (u, b, lambda). (12) drops u'Ku, so that a kernel near the identity,
    which memorises the labels, costs little: for C >= 1 it prefers weights on noise; take C near n^(-1/3), from a grid
    as 2^-7..2^2. At z = 0 its lambda runs away: lambda stays in [1e-3, 1e3].
    mu gives all weights one price, so that columns should be standardised (``data.scaled("standard")``).
    ``model.z.fix(0.5)`` before solving gives the plain SVM at these weights, in any model and form.
    Omega falls in every step of Algorithms 1 and 2, not of Algorithm 3, which is why its sweeps are limited. The sweeps
    of Algorithms 1 and 2 begin where the last ones lead to, if Omega is no higher there
    (``solvers.drivers.alternating.oracle_descent``): as printed they creep, and many end at the limit of 250.
The forms
    ``algebra`` is complete: it holds all rows and terms. ``oracle`` and ``reduced`` are not: an oracle evaluates their
    objective. From the same start and SVM they reach the same objectives, within the accuracy of the NLP solver.
    ``oracle`` (default): variables and an objective without algebra, steps on arrays (``kernel.problem``), memory
    O(n^2 + n d). Bounds and fixed values of ``z`` may be edited, and linear rows on it added; the solver is the driver
    "alternating" with ``method=`` l-bfgs-b, trust-newton, projected-gradient or spectral-gradient,
    between rows one of the two gradients, which project to them. ``algebra``: every row, for any NLP
    solver and edit, for some 60 samples of 20 features (``kernel.algebra``); global solvers prove nothing on it: scip
    has no bound after 15 s for 4 samples of 2 features. ``reduced`` (``full_fs``): L-BFGS-B on (5) with the smoothed
    hinge, whose local minima are those of (7): much faster where n is large.
Rows
    Linear rows on ``z`` are kept by projections (``solvers.box.polyhedron``). ``sigma=True`` adds binaries with z_j = 0
    unless sigma_j = 1, and any linear rows on them, on integers of your own, and on z beside them; the driver then
    searches over selections by exchanges (``solvers.drivers.alternating.oracle_search``), and says "feasible" at most.
The SVM step
    libsvm on K + (2 eps / C) I solves the smoothed SVM exactly (``value_function``); ``svm="primal"`` is Newton's.
Symbols
    u -> ``u`` (samples), b -> ``b``, z -> ``z`` (features; 1/unit of the feature), lambda -> ``margin`` (1 where it is
    not shared), C -> ``C``, mu -> ``penalty``, eps -> ``eps``; a_i = y_i u_i.
Source
    Tayal, Coleman, Li, "Primal explicit max margin feature selection for nonlinear support vector machines": (2),
    (4)-(8), (11)-(13), Algorithms 1-3. Varma, Babu 2009, "More generality in efficient multiple kernel learning", for
    GMKL.
Deviations
    Omega in section 3 lacks the second index of its double sum. Start and first step as above. The methods over a box
    are L-BFGS-B by default, and the paper's trust region (Coleman, Li 1996) as "trust-newton": variables are scaled by
    their distance to 0 (``solvers.box.newton``), and (9) is solved globally, by Lanczos vectors (``solvers.box.ball``)
    where the paper takes eigenvalues. Algorithm 3 stops at an unchanged set of weights; its printed rule, no weight
    changes, is ``stop="weights"``. z in the RBF kernel enters as z^2, so that the polynomial and linear kernels take
    z^2 x x' as well.
Class
    NLP, nonconvex, in z; a convex QP in (u, b) for fixed z.
Certificate
    stationary, where the first-order residual that the driver measures is small; feasible otherwise.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the ground files and, of
``solvers``, its facts, LPs and boxes; no other family.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from fsmodels.checks import choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.kernel import algebra as algebra
from fsmodels.models.kernel.algebra import efs, fs, svm, xfs
from fsmodels.models.kernel.build import built, by_oracle, share, weights, without_sigma
from fsmodels.models.kernel.fitted import KernelClassifier, classifier, ranking
from fsmodels.models.kernel.problem import STOPS, used
from solvers.facts import OracleBlock

__all__ = [
    "FORMS",
    "KernelClassifier",
    "ao_efs",
    "ao_margin",
    "ao_simple",
    "classifier",
    "efs",
    "fs",
    "full_fs",
    "gmkl",
    "omega",
    "ranking",
    "svm",
    "used",
    "xfs",
]
__dir__ = __all__.copy  # what <TAB> offers

FORMS = ["oracle", "algebra"]
SWEEPS = 250  # of Algorithms 1 and 2
EFS_SWEEPS = 30  # of Algorithm 3, whose Omega may rise


def full_fs(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    svm: str = "libsvm",
    degree: int = 2,
    offset: float = 1.0,
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build FULL-FS (7): classifier and weights of the features at once, from the SVM at the start (section 3).

    Parameters
    ----------
    data : Dataset of shape (n, d)
        Dense, standardised: weights are compared and added.
    C : float
        Weight of the unscaled sum of losses, above 0; ``model.C`` can be changed between solves.
    penalty : float
        mu, the price of a unit of weight, above 0; ``model.penalty`` can be changed between solves.
    start : {"default", "ones"}, array of shape (d,), mapping feature -> weight, or one number
        First weights: min(1, 2 / sqrt(2 d)), the paper's ones, or given. They are values of ``model.z``, so that a
        second solve goes on from where the first one ended.
    kernel : {"rbf", "polynomial", "linear"}
        Kernel on the weighted features; a polynomial has ``degree`` and ``offset``.
    degree : int
        Degree of a polynomial kernel, at least 1.
    offset : float
        What a polynomial kernel adds to the product of two samples, at least 0.
    eps : float
        Half the width of the hinge's smooth part, above 0.
    form : {"oracle", "reduced", "algebra"}
        Fast steps on arrays; the same by the value function of z; or all rows, for small data and any NLP solver.
    svm : {"libsvm", "primal"}
        How the SVM for fixed weights is solved; both find the same.
    sigma : bool
        Add binaries ``sigma`` (features): z_j = 0 unless sigma_j = 1, for rows on what is selected; not for "algebra".

    Returns
    -------
    pyo.ConcreteModel
        ``u`` (samples), ``b``, ``z`` (features), ``margin`` (lambda, fixed at 1); read it with ``classifier``.

    Raises
    ------
    ParameterError
        A parameter outside what is allowed.
    DataError
        A class without a sample, or sparse data.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.full_fs(data, C=1.0, penalty=2.0, form="reduced"))
    >>> result.status.value
    'stationary'
    """
    choice("form", form, [*FORMS, "reduced"])
    shared = {"start": start, "kernel": kernel, "eps": eps, "svm": svm, "degree": degree, "offset": offset}
    model = built("FULL-FS", data, C=C, penalty=penalty, **shared)
    if form == "algebra":
        without_sigma(form, sigma)
        return algebra.whole(model)
    problem = model.kernel_problem
    step = problem.move_by_value if form == "reduced" else problem.move_all
    block = OracleBlock("z" if form == "reduced" else "u, b, z", step)
    return by_oracle(model, [block], sigma, begin=problem.fitted, finish=problem.fitted)


def gmkl(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.0,
    form: str = "oracle",
    degree: int = 2,
    offset: float = 1.0,
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build GMKL (5), (6): weights by projected gradient steps on the value function of the SVM.

    Parameters, components and errors as for ``full_fs``, without ``svm``; ``eps`` 0 is the hinge of (6), above 0 it is
    smoothed; ``form`` is "oracle" or "algebra".

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.gmkl(data, C=1.0, penalty=2.0))
    >>> result.bound is None
    True
    """
    choice("form", form, FORMS)
    shared = {"start": start, "kernel": kernel, "eps": eps, "degree": degree, "offset": offset}
    model = built("GMKL", data, C=C, penalty=penalty, hinge=True, **shared)
    if form == "algebra":
        without_sigma(form, sigma)
        return algebra.whole(model)
    problem = model.kernel_problem
    block = OracleBlock("z", problem.move_by_value)
    return by_oracle(model, [block], sigma, begin=problem.fitted, finish=problem.fitted, method="projected-gradient")


def ao_simple(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    svm: str = "libsvm",
    degree: int = 2,
    offset: float = 1.0,
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build Algorithm 1, simple AO: the SVM for fixed weights and the weights for a fixed classifier, in turn.

    Parameters, components and errors as for ``full_fs``; ``form`` is "oracle" or "algebra".

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.ao_simple(data, C=1.0, penalty=2.0))
    >>> bool((result.iterations["Objective"].diff().dropna() <= 1e-6).all())
    True
    """
    choice("form", form, FORMS)
    shared = {"start": start, "kernel": kernel, "eps": eps, "svm": svm, "degree": degree, "offset": offset}
    model = built("simple AO", data, C=C, penalty=penalty, **shared)
    if form == "algebra":
        without_sigma(form, sigma)
        return algebra.alternating(model, 1)
    problem = model.kernel_problem
    blocks = [OracleBlock("svm", problem.solve_svm), OracleBlock("fs", problem.select)]
    facts = {"settled": problem.same_weights, "finish": problem.fitted, "carried": [model.z]}
    return by_oracle(model, blocks, sigma, sweeps=SWEEPS, **facts)


def ao_margin(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    svm: str = "libsvm",
    degree: int = 2,
    offset: float = 1.0,
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build Algorithm 2, margin sharing AO: the weights move together with the functional margin of (11).

    Parameters, components and errors as for ``ao_simple``; ``margin`` is free.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.ao_margin(data, C=1.0, penalty=2.0))
    >>> bool((result.iterations["Objective"].diff().dropna() <= 1e-6).all())
    True
    """
    choice("form", form, FORMS)
    shared = {"start": start, "kernel": kernel, "eps": eps, "svm": svm, "degree": degree, "offset": offset}
    model = built("margin sharing AO", data, C=C, penalty=penalty, **shared)
    if form == "algebra":
        without_sigma(form, sigma)
        return algebra.alternating(model, 2)
    share(model)
    problem = model.kernel_problem
    blocks = [OracleBlock("svm", problem.solve_svm), OracleBlock("xfs", problem.select_sharing)]
    facts = {"settled": problem.same_weights, "finish": problem.fitted, "carried": [model.z]}
    return by_oracle(model, blocks, sigma, sweeps=SWEEPS, **facts)


def ao_efs(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    svm: str = "libsvm",
    degree: int = 2,
    offset: float = 1.0,
    stop: str = "support",
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build Algorithm 3, explicit margin AO: the weights maximise the functional margin (12) for fixed coefficients.

    Parameters, components and errors as for ``ao_margin``. ``stop``: end when the same weights count as 0 ("support")
    or, as printed, when no weight moves by 0.01 of the largest ("weights"). C near n^(-1/3) suits (12): where C is 1 or
    more, memorising is nearly free. The result is the last point, and its objective Omega.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.ao_efs(data, C=0.125, penalty=0.5))
    >>> result.has_solution
    True
    """
    choice("form", form, FORMS)
    choice("stop", stop, list(STOPS))
    shared = {"start": start, "kernel": kernel, "eps": eps, "svm": svm, "degree": degree, "offset": offset}
    model = built("explicit margin AO", data, C=C, penalty=penalty, **shared)
    if form == "algebra":
        without_sigma(form, sigma)
        return algebra.alternating(model, 3, STOPS[stop], EFS_SWEEPS)
    share(model)
    problem = model.kernel_problem
    blocks = [OracleBlock("svm", problem.solve_svm), OracleBlock("efs", problem.select_explicit, returns=False)]
    return by_oracle(
        model, blocks, sigma, settled=problem.settled(stop), finish=problem.fitted, sweeps=EFS_SWEEPS, keeps_last=True
    )


def omega(
    data: Dataset,
    z: ArrayLike | Mapping[str, float],
    *,
    C: float,
    penalty: float,
    kernel: Any = "rbf",
    eps: float = 0.5,
    degree: int = 2,
    offset: float = 1.0,
) -> float:
    """Return Omega (7) at weights z with the SVM solved, to compare the weights of any methods.

    ``z``: array of shape (d,), mapping feature -> weight, or one number; all else as for ``full_fs``, and eps = 0 is
    the hinge.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> omega(data, 0.5, C=1.0, penalty=1.0) < omega(data, 0.0, C=1.0, penalty=1.0)
    True
    """
    shared = {"kernel": kernel, "eps": eps, "degree": degree, "offset": offset}
    problem = built("Omega", data, C=C, penalty=penalty, hinge=True, **shared).kernel_problem
    n, d = problem.n, problem.d
    point = np.concatenate([np.zeros(n + 1), weights(data, z, "z"), [1.0]])
    assert len(point) == n + d + 2
    return float(problem.value(problem.fitted(point, None)))
