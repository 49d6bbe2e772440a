"""``fs.select``: build a model by name, solve it, and report the selection."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.rows import Row
from fsmodels.selection.catalogue import MODELS, meaning
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.request import Request
from fsmodels.selection.selection import Selection
from solvers import interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.interrupt import Cancel

Pairs = Iterable[tuple[str, str]]
Groups = Iterable[tuple[Iterable[str], int]]


def select(
    data: Dataset,
    model: str = "fsp-m",
    *,
    max_features: int | None = None,
    count: str | None = None,
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
    cancel: Cancel | None = None,
    **options: Any,
) -> Selection:
    """Build a model by name, solve it and report the selection.

    Parameters
    ----------
    data : Dataset
        Scaled by ``scale``, unless the data are scaled already; ``data.scaled("none")`` counts as scaled.
    model : str
        One of ``catalogue.MODELS``: svm, one-norm-svm, fsp-m, fsp-lambda, robust-lp, fs, fsl, fsv, fss, fsb,
        obd, gmeb, gmeb-dual, gmeb-nonconvex, fsmulti, full-fs, ao-simple, ao-margin, ao-efs, gmkl, rfe,
        information-gain, mutual-information, relief.
    max_features : int, optional
        The maximum number of features, for every model with a selection. For fsmulti in addition to (5), because more
        features may share its budget.
    count : {"features", "columns"}
        What ``max_features`` counts. "columns": a category with several 0/1 features (``one_hot``) counts once. It is
        the row ``column_limit`` over the first feature of each column, whose features are selected together.
    C : float, optional
        The weight of the sum of slacks (of squared slacks with ``loss="squared-hinge"``, for svm, fsp-m and
        fsp-lambda); default 1. The kernel models require it.
    penalty : float or mapping feature -> float, optional
        The price of a feature in the objective (fsp-lambda); lambda in [0, 1) (fs, fsl, fsv, fss, fsb); the share of
        the largest derivative below which a feature is dropped (obd); the value at which (7) is evaluated (robust-lp);
        mu, the price of a unit of kernel weight (full-fs, ao-simple, ao-margin, ao-efs, gmkl).
    budget : (costs, limit), or several of them; a whole number for fsmulti
        ``sum of costs of the selected features <= limit``; a feature without a cost has cost 0. For fsmulti B, the sum
        of the shares of the features, as an alternative to ``max_features``.
    requires, excludes : pairs of features
        ``("a", "b")``: a only together with b; not both a and b.
    force_in, force_out : features
        Features that are selected; features that are not selected.
    all_or_none : groups of features
        All features of the group are selected, or none.
    at_most, at_least : pairs of a group and a number
        ``(["a", "b", "c"], 2)``: at most, or at least, two of them. All side constraints up to here are rows on
        ``model.sigma`` (``fs.side_constraints``); they imply ``sigma=True``.
    at_most_of_group : (groups, number), or several of them
        Groups as feature -> group: at most this number of features of each group; or a mapping group -> number.
    hierarchy : {"strong", "weak"}, optional
        Products of features (``data.with_interactions``) only with both features, or with at least one.
    signs : mapping feature -> "+" or "-"
        The sign of a weight: w_j >= 0, w_j <= 0.
    fair : (groups, limit), or several of them
        ``("sex", 0.1)``: the mean scores w.x + b of any two groups of samples differ by at most 0.1. Groups are a
        column that is set aside (``data.set_aside``), a feature, which is then removed from the features, or one value
        for each sample. This and ``signs`` are rows on ``model.w``.
    rows : str or Row, or several of them
        Linear rows over features by name (``fs.rows``): ``["slope <= oldpeak", "2 thal + ca <= 2", "w[age] >= 0"]``. A
        name is 1 for a selected feature, ``w[name]`` is its weight in the scaled data. The other keywords are short
        forms of such rows. All of them except ``signs`` accept the name of a column of categories that are selected
        together; the column counts once.
    sample_weight : array_like of shape (n_samples,), or str, optional
        Weight of each sample; 0 excludes the sample. One number for each sample, or the name of their column, which is
        then removed from the features. The slack of a sample is multiplied by its weight, and the constants of the
        scaling are weighted.
    class_weight : "balanced" or mapping label -> number, optional
        Weight of errors in a class, which multiplies the slacks too; "balanced": n / (2 n_c), in each fold computed
        from the samples of the fold. As ``data.weighted``; weights of the data that are not given here remain. Models
        whose objective is no sum of slacks reject both. Reported errors are unweighted shares of wrong labels.
    scale : {"standard", "none", "unit-ball", "minmax"}, optional
        By default "standard": mean 0 and deviation 1 in each column. Scaled data are not scaled again. Sparse data are
        scaled only if ``scale`` is given, because a shift would fill every cell.
    solver : str or Pyomo solver, optional
        Any of ``fs.available()``; by default that of the model, or one for its class. By default fsp-m and fsp-lambda
        have ``form="big-m"`` for a solver of the whole model, and ``form="rmp"`` for a driver if the data have more
        than five million cells.
    validation : Dataset, optional
        Other data for a reported error. They do not change the selection.
    choose_by : {"objective", "validation"}
        "validation" is Aytug's rule: of the classifiers that a Benders driver finds, return the one with the lowest
        error on ``validation`` instead of the optimum. The report states this rule.
    progress : bool
        Show the state of the run, with the iteration table of a driver (``tee=True`` shows the log of a solver). In a
        terminal and in Jupyter; elsewhere a line is written to standard error every ten seconds.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.
    **options
        Further parameters of the model, described by ``fs.describe(model)``; "kernels" are full-fs, ao-simple,
        ao-margin, ao-efs and gmkl:

        {parameters}

        Options of the solver: ``gap``, ``time_limit`` (s), ``iteration_limit``, ``threads``, ``seed``, ``tee``,
        ``callback``, further options of a solver by its own names, and options of drivers:

        - benders, branch-and-cut, single-tree: ``sub_solver``, ``sub_options``, ``oracle``, ``complicating``,
          ``blocks``, ``subproblem``, ``coupling``, ``assume_convex``; benders, single-tree: ``master_solver``,
          ``master_options``, ``patience``, ``cuts``, ``in_out``, ``write_master``; branch-and-cut: ``lp_solver``,
          ``lp_options``, ``root_limit``, ``memory``, ``cutoff``, ``within``, ``most_choices``
        - sla, alternating, multi-start: ``starts``, ``start_range``; sla, alternating: ``tolerance``, ``lp_solver``,
          ``lp_options``; sla: ``linear_start``, ``master_solver``, ``master_options``, ``master_seconds``; alternating:
          ``blocks``, ``together``, ``method``; alternating, multi-start: ``warm_start``; multi-start: ``sub_solver``,
          ``sub_options``
        - cutting-plane: ``tolerance``, ``assume_convex``, ``separable``, ``lp_solver``, ``lp_options``,
          ``master_solver``, ``master_options``
        - two-layer: ``stabilised``, ``risk_tolerance``; row-generation: ``master_solver``, ``master_options``

    Returns
    -------
    Selection

    Raises
    ------
    ParameterError
        The model is unknown, or a parameter is missing, out of range, or not used by the model.
    DataError
        A name is not a feature.
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
    arguments = {
        name: value for name, value in locals().items() if name not in ("validation", "choose_by", "cancel", "options")
    }
    with interrupt.run(), one_clock(), watching.shown(progress is True):
        request = Request.of(**arguments, **options).ready()
        with interrupt.run(cancel):  # the model is built before a token ends the run
            return request.solve(validation, choose_by)


def _parameters() -> str:
    """Return the list of parameters of builders that are not parameters of ``select``, with their models."""
    kernels = [name for name, spec in MODELS.items() if "kernel" in spec.parameters]
    users: dict[str, list[str]] = {}
    for model, spec in MODELS.items():
        for parameter in spec.parameters.keys() - inspect.signature(select).parameters.keys():
            users.setdefault(parameter, []).append(model)
    lines = []
    for parameter, models in sorted(users.items()):
        others = [model for model in MODELS if model not in models]
        names = ["all but " + others[0], *others[1:]] if len(others) < len(models) else models
        if set(kernels) <= set(names):
            names = [*(name for name in names if name not in kernels), "kernels"]
        known = PARAMETERS.get(parameter)
        about = known.help if known else meaning(MODELS[models[0]], parameter)
        text = f"- ``{parameter}`` ({', '.join(names)}): {about}"
        lines += textwrap.wrap(text, 110, subsequent_indent="  ", break_on_hyphens=False)
    return "\n        ".join(lines)


if select.__doc__:  # python -OO has none
    select.__doc__ = select.__doc__.replace("{parameters}", _parameters())
