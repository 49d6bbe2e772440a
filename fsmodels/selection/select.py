"""From data to a reported selection in one call, with an objective that is recomputed from data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.rows import Row
from fsmodels.selection.request import Request
from fsmodels.selection.rows import say_apart
from fsmodels.selection.selection import Selection
from solvers import interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.garbage import put_off

Pairs = Iterable[tuple[str, str]]
Groups = Iterable[tuple[Iterable[str], int]]


def select(
    data: Dataset,
    model: str = "fsp-m",
    *,
    max_features: int | None = None,
    C: float | None = None,
    penalty: float | Mapping[str, float] | None = None,
    budget: int | tuple[Mapping[str, float], float] | Iterable[tuple[Mapping[str, float], float]] = (),
    requires: Pairs = (),
    excludes: Pairs = (),
    force_in: Iterable[str] = (),
    force_out: Iterable[str] = (),
    all_or_none: Iterable[Iterable[str]] = (),
    at_most: Groups = (),
    at_least: Groups = (),
    at_most_of_group: Any = (),
    hierarchy: str | None = None,
    signs: Mapping[str, str] | None = None,
    fair: Any = (),
    rows: Iterable[str | Row] = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    scale: str | None = None,
    solver: Any = None,
    validation: Dataset | None = None,
    choose_by: str = "objective",
    progress: bool = False,
    **options: Any,
) -> Selection:
    """Build a model by name, solve it and report the selection.

    Parameters
    ----------
    data : Dataset
        Scaled here, by ``scale``, unless it is already; ``data.scaled("none")`` counts as that too.
    model : str
        One of ``recipes.MODELS``: svm, one-norm-svm, fsp-m, fsp-lambda, robust-lp, fs, fsl, fsv, fss, fsb,
        obd, gmeb, gmeb-dual, gmeb-nonconvex, fsmulti, full-fs, ao-simple, ao-margin, ao-efs, gmkl, rfe,
        information-gain, mutual-information, relief.
    max_features : int, optional
        The most features, of any model with a selection; of fsmulti with the bound of (5), which more may share.
    C : float, optional
        The weight of the sum of slacks (of squared slacks with ``loss="squared-hinge"``, of svm, fsp-m and fsp-lambda);
        1 where it is left out. The kernel models ask for it.
    penalty : float or mapping feature -> float, optional
        The price of a feature in the objective (fsp-lambda); lambda in [0, 1) (fs, fsl, fsv, fss, fsb); the share of
        the largest derivative below which a feature is dropped (obd); what (7) is evaluated with (robust-lp); mu, the
        price of a unit of kernel weight (full-fs, ao-simple, ao-margin, ao-efs, gmkl).
    budget : (costs, limit), or several of them; a whole number for fsmulti
        ``sum of costs of the selected features <= limit``; a feature without a cost is free. Of fsmulti B, the sum of
        shares that more features may have, in place of ``max_features``.
    requires, excludes : pairs of features
        ``("a", "b")``: a only together with b; not both a and b.
    force_in, force_out : features
        These are selected; these are not.
    all_or_none : groups of features
        The whole group is selected or nothing of it.
    at_most, at_least : pairs of a group and a number
        ``(["a", "b", "c"], 2)``: at most, or at least, two of them. All of these are rows on ``model.sigma``
        (``fs.side_constraints``); models whose sigma is made on demand are built with ``sigma=True`` for them.
    at_most_of_group : (groups, number), or several of them
        Groups as feature -> group: at most so many features of each; a mapping group -> number says it for each.
    hierarchy : {"strong", "weak"}, optional
        Products of features (``data.with_interactions``) only with both of these, or with one at least.
    signs : mapping feature -> "+" or "-"
        The direction in which a feature may speak: w_j >= 0, w_j <= 0.
    fair : (groups, limit), or several of them
        ``("sex", 0.1)``: the mean scores w.x + b of any two groups of samples differ by at most 0.1. Groups are a
        column that lies aside (``data.set_aside``), a feature, which is then none, or one value a sample. This and
        ``signs`` are rows on ``model.w``.
    rows : str or Row, or several of them
        Linear rows over features by name (``fs.rows``): ``["slope <= oldpeak", "2 thal + ca <= 2", "w[age] >= 0"]``. A
        name is 1 for a selected feature, ``w[name]`` is its weight in the scaled data. The other keywords are short
        forms of such rows.
    sample_weight : array_like of shape (n_samples,), or str, optional
        How often each row counts, 0 leaving it out: one number a sample, or the column of these, which is then no
        feature. The slack of a sample is multiplied by it, and the constants of the scaling count it.
    class_weight : "balanced" or mapping label -> number, optional
        What a mistake costs in a class, by which slacks are multiplied too; "balanced": n / (2 n_c), of the rows of a
        fold within one. As ``data.weighted``, and what is given there and not here stays. Models that are no sum of
        slacks refuse both. Errors are shares of wrong labels all the same.
    scale : {"standard", "none", "unit-ball", "minmax"}, optional
        By default "standard": mean 0 and deviation 1 in each column. Data that are already scaled are taken as they
        are, and so are sparse data unless ``scale`` is given, as a shift would fill every cell.
    solver : str or Pyomo solver, optional
        Any of ``fs.available()``; by default the one that the model's structure names, or one for its class. A solver
        that takes the whole model gets fsp-m and fsp-lambda with ``form="big-m"``, unless ``form`` is given; a driver
        gets ``form="rmp"`` where the data have more than five million cells.
    validation : Dataset, optional
        Other data; the error on them is reported, and nothing else changes.
    choose_by : {"objective", "validation"}
        "validation" is Aytug's rule: of the classifiers that a Benders driver meets, keep that of least error on
        ``validation`` and not the optimum. The report says so, and that its validation error was chosen by.
    progress : bool
        Show how things stand while they change, with the iteration table of a driver (``tee=True`` shows a solver's own
        log). In a terminal and in Jupyter; elsewhere a line every ten seconds goes to standard error.
    **options
        Further parameters of the model, as ``fs.describe(model)`` tells them; kernels are full-fs, ao-simple,
        ao-margin, ao-efs and gmkl:

        - ``loss`` (svm, fsp-m, fsp-lambda: "hinge", "squared-hinge"; fsmulti: "f1", "prbep", "rec@10", "auc", ...)
        - ``form`` (fsp-m, fsp-lambda, fs, gmeb, fsmulti, kernels): how the model is written; ``intercept`` (fsp-m,
          fsp-lambda): False for b = 0; ``sigma`` (all but fsp-m, fsp-lambda, fs, fsl, filters and rfe): binaries for
          rows on features, which the words above set by themselves
        - ``R_plus``, ``R_minus`` (gmeb, gmeb-dual, gmeb-nonconvex): bounds on the second moments of each class, above 0
        - ``alpha`` (fsv, fss): steepness of the smoothed step; ``mu`` (fsb): price of complementarity; ``delta`` (obd):
          step of the differences
        - ``offset`` (fsmulti: True for a column of ones; kernels: constant of a polynomial), ``start``, ``kernel``,
          ``eps``, ``degree`` (kernels), ``svm`` (kernels but gmkl), ``stop`` (ao-efs)
        - ``step`` (rfe), ``n_neighbors`` (mutual-information, relief), ``seed`` (mutual-information)

        And options of the solver: ``gap``, ``time_limit`` (s), ``iteration_limit``, ``threads``, ``seed``, ``tee``,
        ``callback``, those of its own by its own names, and of drivers:

        - benders, branch-and-cut, single-tree: ``sub_solver``, ``sub_options``, ``oracle``, ``complicating``,
          ``blocks``, ``subproblem``, ``coupling``, ``assume_convex``; benders, single-tree: ``master_solver``,
          ``master_options``, ``patience``, ``cuts``; branch-and-cut: ``lp_solver``, ``lp_options``, ``root_limit``,
          ``memory``, ``cutoff``, ``within``, ``most_choices``
        - sla, alternating, multi-start: ``starts``, ``start_range``; sla, alternating: ``tolerance``, ``lp_solver``,
          ``lp_options``; sla: ``linear_start``, ``master_solver``, ``master_options``, ``master_seconds``; alternating:
          ``blocks``, ``together``, ``method``; alternating, multi-start: ``warm_start``; multi-start: ``sub_solver``,
          ``sub_options``
        - cutting-plane: ``tolerance``, ``assume_convex``, ``separable``, ``lp_solver``, ``lp_options``,
          ``master_solver``, ``master_options``
        - two-layer: ``stabilised``, ``risk_tolerance``, ``master_solver``, ``master_options``; row-generation:
          ``master_solver``, ``master_options``

    Returns
    -------
    Selection

    Raises
    ------
    ParameterError
        The model is unknown, a parameter is missing, out of range, or one that this model does not use.
    DataError
        A name is no feature.
    ModelError
        Side constraints for a model without ``sigma``.
    SolverError, OptionError
        The solver is unknown, not installed or cannot solve the model; an option is unknown.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.select(fs.load_dataset("bupa"), "fsp-m", max_features=2, excludes=[("mcv", "drinks")])
    >>> found.selected, found.status.value
    (('sgpt', 'sgot'), 'optimal')
    """
    words = {name: value for name, value in locals().items() if name not in ("validation", "choose_by", "options")}
    words |= options
    with interrupt.run(), one_clock(), watching.shown(progress is True):
        with interrupt.raising(), put_off(), watching.doing("building the model"):
            request = Request.of(**words).build()
            say_apart(request.recipe.name, request.data, request.stated or {})
        return request.solve(validation, choose_by)
