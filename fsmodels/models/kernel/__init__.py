r"""Kernel SVM with feature weights: full space, alternating with a shared or explicit margin, and GMKL.

Problem
    A weight z_k >= 0 for each feature inside the kernel, K(z)_ij = K(Z x_i, Z x_j). For the RBF kernel

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

    With weights of samples, C becomes C s_i (``models.shares``), and samples of weight 0 have no u. V is the hinge
    max(0, 1 - m), smoothed over [1 - 2 eps, 1]:

    .. math::
        V(m) = 1 - m - \epsilon \ (m < 1 - 2 \epsilon),\quad (1 - m)^2 / (4 \epsilon) \ (m < 1),\quad 0    && (8)

Algorithms
    ``full_fs``     (7) in all variables at once (section 3).
    ``gmkl``        (5): projected gradient with Armijo steps on the value function F, with the hinge.
    ``ao_simple``   Algorithm 1: SVM for fixed z, then (FS), z for fixed (u, b), until z no longer changes.
    ``ao_margin``   Algorithm 2: SVM, then (XFS), (z, lambda) of (11) for fixed (u, b), until z no longer changes.
    ``ao_efs``      Algorithm 3: SVM, then (EFS), (z, lambda) of (12), until the set of nonzero weights is unchanged.

    Weights below 0.01 of the largest count as 0. At the end the SVM is solved again, so that Omega of different
    models can be compared. ``omega`` evaluates it for any z.
Properties of the objective
    The slope of a weight at 0 is mu > 0. A weight of 0 therefore stays 0, and z = 0 is a strict local minimum, at which
    every sample gets the label of the larger class. From z = 1 with 120 standardised features K is the identity and all
    slopes except mu vanish. The default start is therefore z = min(1, 2 / sqrt(2 d)), at which the distance of two
    samples is about 2 (``start="ones"`` for the paper's start), and the first step is at most a quarter of ||z||.
    (11) does not change under (u, b, lambda) -> t (u, b, lambda). (12) has no u'Ku, so that a kernel near the identity,
    which memorises the labels, has a low cost: for C >= 1 it prefers weights on noise. Take C near n^(-1/3), from a
    grid such as 2^-7..2^2. At z = 0 its lambda is unbounded: lambda stays in [1e-3, 1e3].
    mu is one price for all weights, so that columns should be standardised (``data.scaled("standard")``).
    ``model.z.fix(0.5)`` before solving gives the plain SVM at these weights, in any model and form.
    Omega decreases in every step of Algorithms 1 and 2, but not of Algorithm 3, whose sweeps are therefore limited. The
    sweeps of Algorithms 1 and 2 begin at an extrapolation of the last ones if Omega is no higher there
    (``solvers.drivers.alternating.oracle_descent``): as printed many end at the limit of 250.
The forms
    ``algebra`` is complete: it has all rows and terms. ``oracle`` and ``reduced`` are not: an oracle evaluates their
    objective. From the same start and SVM they reach the same objectives, within the accuracy of the NLP solver.
    ``oracle`` (default): variables and an objective without algebra, steps on arrays (``kernel.problem``), memory
    O(n^2 + n d). Bounds and fixed values of ``z`` may be edited, and linear rows on it added. The solver is the driver
    "alternating" with ``method=`` l-bfgs-b, trust-newton, projected-gradient or spectral-gradient; with rows one of
    the two gradient methods, which project onto them. ``algebra``: every row, for any NLP solver and edit, for some 60
    samples of 20 features (``kernel.algebra``). Global solvers prove nothing on it: scip has no bound after 15 s for 4
    samples of 2 features. ``reduced`` (``full_fs``): L-BFGS-B on (5) with the smoothed hinge, whose local minima are
    those of (7); it is much faster for large n.
Rows
    Linear rows on ``z`` are satisfied by projections (``solvers.box.polyhedron``). ``sigma=True`` adds binaries with
    z_j = 0 unless sigma_j = 1, and allows any linear rows on them, on further integers, and on z together with these.
    The driver then searches over selections by exchanges (``solvers.drivers.alternating.oracle_search``), and its
    status is "feasible" at most.
The SVM step
    libsvm on K + (2 eps / C) I solves the smoothed SVM exactly (``value_function``).
Symbols
    u -> ``u`` (samples), b -> ``b``, z -> ``z`` (features; 1/unit of the feature), lambda -> ``margin`` (1 where it is
    not shared), C -> ``C``, mu -> ``penalty``, eps -> ``eps``; a_i = y_i u_i.
Source
    Tayal, Coleman, Li, "Primal explicit max margin feature selection for nonlinear support vector machines": (2),
    (4)-(8), (11)-(13), Algorithms 1-3. Varma, Babu 2009, "More generality in efficient multiple kernel learning", for
    GMKL.
Deviations
    Omega in section 3 lacks the second index of its double sum. Start and first step as above. The default method over
    a box is L-BFGS-B. The paper's trust region (Coleman, Li 1996) is "trust-newton": variables are scaled by
    their distance to 0 (``solvers.box.newton``), and (9) is solved globally, by Lanczos vectors (``solvers.box.ball``)
    in place of the paper's eigenvalues. Algorithm 3 stops at an unchanged set of weights; its printed rule, no weight
    changes, is ``stop="weights"``. z enters the RBF kernel as z^2, so the polynomial and linear kernels have
    z^2 x x' as well.
Class
    NLP, nonconvex, in z; a convex QP in (u, b) for fixed z.
Certificate
    stationary if the first-order residual that the driver measures is small; otherwise feasible.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the ground files and, of
``solvers``, its facts, LPs and boxes; no other family.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from fsmodels.checks import choice, renamed
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.kernel import algebra as algebra
from fsmodels.models.kernel.algebra import efs, fs, svm, xfs
from fsmodels.models.kernel.build import attach_oracle, base_model, check_form, free_margin, weights
from fsmodels.models.kernel.fitted import KernelClassifier, classifier, ranking
from fsmodels.models.kernel.kernels import as_kernel
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
__dir__ = __all__.copy  # for completion

FORMS = ["oracle", "algebra"]
SWEEPS = 250  # of Algorithms 1 and 2
EFS_SWEEPS = 30  # of Algorithm 3, whose Omega may increase
NO_PRIMAL = "libsvm solves the SVM; leave svm= out"


@renamed("svm", NO_PRIMAL)
def full_fs(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
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
        First weights: min(1, 2 / sqrt(2 d)), the paper's ones, or the given values. They are values of ``model.z``, so
        that a second solve continues where the first one ended.
    kernel : {"rbf", "polynomial", "linear"}
        Kernel on the weighted features; a polynomial has ``degree`` and ``offset``.
    degree : int
        Degree of a polynomial kernel, at least 1.
    offset : float
        Constant of a polynomial kernel, at least 0.
    eps : float
        Half the width of the smooth part of the hinge, above 0.
    form : {"oracle", "reduced", "algebra"}
        Steps on arrays; steps on the value function of z; or all rows, for small data and any NLP solver.
    sigma : bool
        Add binaries ``sigma`` (features), z_j = 0 unless sigma_j = 1, for rows on the selection; not for "algebra".

    Returns
    -------
    pyo.ConcreteModel
        ``u`` (samples), ``b``, ``z`` (features), ``margin`` (lambda, fixed at 1); ``classifier`` reads the solution.

    Raises
    ------
    ParameterError
        A parameter outside its range.
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
    check_form(form, [*FORMS, "reduced"], sigma)
    options = {"start": start, "kernel": as_kernel(kernel, degree, offset), "eps": eps}
    model = base_model("FULL-FS", data, C=C, penalty=penalty, **options)
    if form == "algebra":
        return algebra.joint(model)
    problem = model.kernel_problem
    reduced = form == "reduced"
    block = OracleBlock("z", problem.move_by_value) if reduced else OracleBlock("u, b, z", problem.move_all)
    return attach_oracle(model, [block], sigma, begin=problem.fitted)


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

    Parameters, components and errors as for ``full_fs``. ``eps=0`` is the hinge of (6), larger values smooth it;
    ``form`` is "oracle" or "algebra".

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.gmkl(data, C=1.0, penalty=2.0))
    >>> result.bound is None
    True
    """
    check_form(form, FORMS, sigma)
    options = {"start": start, "kernel": as_kernel(kernel, degree, offset), "eps": eps}
    model = base_model("GMKL", data, C=C, penalty=penalty, hinge=True, **options)
    if form == "algebra":
        return algebra.joint(model)
    problem = model.kernel_problem
    block = OracleBlock("z", problem.move_by_value)
    return attach_oracle(model, [block], sigma, begin=problem.fitted, method="projected-gradient")


@renamed("svm", NO_PRIMAL)
def ao_simple(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    degree: int = 2,
    offset: float = 1.0,
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build Algorithm 1, simple AO: alternate between the SVM for fixed weights and the weights for a fixed classifier.

    Parameters, components and errors as for ``full_fs``; ``form`` is "oracle" or "algebra".

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.ao_simple(data, C=1.0, penalty=2.0))
    >>> bool((result.iterations["Objective"].diff().dropna() <= 1e-6).all())
    True
    """
    options = {"start": start, "kernel": as_kernel(kernel, degree, offset), "eps": eps}
    return _alternating(1, data, C, penalty, form, options, sigma)


@renamed("svm", NO_PRIMAL)
def ao_margin(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
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
    options = {"start": start, "kernel": as_kernel(kernel, degree, offset), "eps": eps}
    return _alternating(2, data, C, penalty, form, options, sigma)


@renamed("svm", NO_PRIMAL)
def ao_efs(
    data: Dataset,
    *,
    C: float,
    penalty: float,
    start: Any = "default",
    kernel: Any = "rbf",
    eps: float = 0.5,
    form: str = "oracle",
    degree: int = 2,
    offset: float = 1.0,
    stop: str = "support",
    sigma: bool = False,
) -> pyo.ConcreteModel:
    """Build Algorithm 3, explicit margin AO: the weights maximise the functional margin (12) for fixed coefficients.

    Parameters, components and errors as for ``ao_margin``. ``stop``: end when the set of weights that count as 0 is
    unchanged ("support") or, as printed, when no weight moves by 0.01 of the largest ("weights"). C near n^(-1/3) suits
    (12): for C of 1 or more, memorising has almost no cost. The result is the last point, and its objective is Omega.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> result = fs.solve(fs.kernel.ao_efs(data, C=0.125, penalty=0.5))
    >>> result.has_solution
    True
    """
    options = {"start": start, "kernel": as_kernel(kernel, degree, offset), "eps": eps}
    return _alternating(3, data, C, penalty, form, options, sigma, stop)


def _alternating(
    number: int,
    data: Dataset,
    C: float,
    penalty: float,
    form: str,
    options: dict[str, Any],
    sigma: bool,
    stop: str = "support",
) -> pyo.ConcreteModel:
    """Build Algorithm 1, 2 or 3; ``stop`` is the rule that ends Algorithm 3."""
    check_form(form, FORMS, sigma)
    choice("stop", stop, list(STOPS))
    name = ["simple AO", "margin sharing AO", "explicit margin AO"][number - 1]
    model, explicit = base_model(name, data, C=C, penalty=penalty, **options), number == 3
    if form == "algebra":
        return algebra.alternating(model, number, *((STOPS[stop], EFS_SWEEPS) if explicit else ()))
    if number > 1:
        free_margin(model)
    problem = model.kernel_problem
    name, step = [("fs", problem.select), ("xfs", problem.select_sharing), ("efs", problem.select_explicit)][number - 1]
    blocks = [OracleBlock("svm", problem.solve_svm), OracleBlock(name, step, returns=not explicit)]
    if explicit:
        rules = {"settled": partial(problem.settled, stop), "sweeps": EFS_SWEEPS, "keeps_last": True}
    else:
        rules = {"settled": problem.same_weights, "sweeps": SWEEPS, "carried": [model.z]}
    return attach_oracle(model, blocks, sigma, **rules)


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
    """Return Omega (7) at weights z with the optimal SVM, to compare the weights of different methods.

    ``z``: array of shape (d,), mapping feature -> weight, or one number; all else as for ``full_fs``, and eps = 0 is
    the hinge.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> omega(data, 0.5, C=1.0, penalty=1.0) < omega(data, 0.0, C=1.0, penalty=1.0)
    True
    """
    kind = as_kernel(kernel, degree, offset)
    problem = base_model("Omega", data, C=C, penalty=penalty, kernel=kind, eps=eps, hinge=True).kernel_problem
    point = np.concatenate([np.zeros(problem.n + 1), weights(data, z, "z"), [1.0]])
    return float(problem.value(problem.fitted(point, None)))
