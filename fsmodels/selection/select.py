"""From data to a reported selection in one call, with an objective that is recomputed from data."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import choice, feature_count
from fsmodels.datasets.checks import dataset, on_one_footing, reweighted, unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import look
from fsmodels.errors import NoSelection, ParameterError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.recipe import Recipe
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import find, used_parameters
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import (
    KINDS,
    able,
    as_words,
    beside,
    number_and_rows,
    read_sides,
    rows_model,
    say_apart,
    state,
    state_most,
)
from fsmodels.words import listed
from solvers import DRIVERS, Result, SolutionStatus, StopReason, facts_of, interrupt
from solvers import progress as watching
from solvers.clock import Clock, one_clock
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
    with interrupt.run(), one_clock(), watching.shown(progress is True):
        with interrupt.raising(), put_off(), watching.doing("building the model"):
            data, fair = beside(reweighted(dataset(data), sample_weight, class_weight), fair)
            look(data)
            task = prepared(
                on_one_footing(data, scale), model, max_features=max_features, C=C, penalty=penalty, budget=budget,
                requires=requires, excludes=excludes, force_in=force_in, force_out=force_out, all_or_none=all_or_none,
                at_most=at_most, at_least=at_least, at_most_of_group=at_most_of_group, hierarchy=hierarchy,
                signs=signs, fair=fair, solver=solver, progress=progress, **options,
            )  # fmt: skip
            say_apart(task.recipe.name, task.data, task.stated)
        return task.run(validation, choose_by)


@dataclass
class Prepared:
    """A named model that is built and waits to be solved, once or for several values of its mutable parameters.

    ``parameters``: of the builder, without the side constraints, which ``stated`` has in words. ``model``: none for a
    baseline. ``driver``: the decomposition driver that will run, where one will.
    """

    recipe: Recipe
    data: Dataset
    parameters: dict[str, Any]
    stated: dict[str, Any]
    model: pyo.ConcreteModel | None
    solver: Any
    driver: Any
    options: dict[str, Any]

    def run(self, validation: Dataset | None = None, choose_by: str = "objective") -> Selection:
        """Solve and report; ``choose_by`` is that of ``select``."""
        by_error = choice("choose_by", choose_by, ["objective", "validation"]) == "validation"
        if validation is not None:
            dataset(validation)
        if by_error and validation is None:
            raise ParameterError('choose_by="validation" needs data to choose by: give validation=.')
        if by_error and not self.takes("choose_by"):
            able = [name for name, driver in DRIVERS.items() if "choose_by" in driver.options_type.__dataclass_fields__]
            raise ParameterError(
                f'choose_by="validation" is a rule of {listed(able)}, on fsp-m and fsp-lambda: leave it out, and '
                "validation= reports the error."
            )
        with interrupt.run(), one_clock(), watching.doing(self.recipe.name):
            return self._run(validation, by_error)

    def _selection(self, result: Result) -> Selection:
        """Return a result with nothing read from it yet."""
        parameters = self.parameters | self.stated | self.recipe.settings(self.model)
        if "budget" in self.stated and "budget" in self.parameters:
            parameters["budget_features"] = self.parameters["budget"]  # the number beside the rows of costs
        parameters.pop("sigma", None)  # which the side constraints imply
        return Selection(
            self.recipe.name, self.data, parameters, (), None, None, result.bound, result.status, result.stop_reason,
            result, result.message, model=self.model,
        )  # fmt: skip

    def _run(self, validation: Dataset | None, by_error: bool) -> Selection:
        options = self.options
        if validation is not None and self.recipe.runs_solver:
            validation = self.data.apply_scale_to(validation)
        if by_error:
            options = {**options, "choose_by": "validation", "validation": validation}
        try:
            result, reading = self.recipe.answer(self.model, self.data, self.parameters, self.solver, options)
        except NoSelection as error:  # of a baseline: for whoever writes down what became of the run
            none = Result(SolutionStatus.INFEASIBLE, StopReason.CONVERGED, options=options, message=str(error))
            error.selection = self._selection(none)
            raise
        found = self._selection(result)
        if reading is None:
            found = replace(found, message=as_words(found.message, found.parameters))
        else:
            told = {part.name: getattr(reading, part.name) for part in fields(reading) if part.name != "classifier"}
            found = replace(found, selected=reading.classifier.selected, machine=reading.classifier, **told)
        if self.recipe.refit and found.selected:
            found = _refitted(found, self.recipe.refit, validation, options.get("time_limit"))
        if validation is not None and found.has_solution:
            with interrupt.finishing():
                found = replace(found, validation_error=found.error(validation))
        return replace(found, chosen_by="validation") if by_error and found.has_solution else found

    def takes(self, option: str) -> bool:
        """Tell whether a driver will run that has this option."""
        return self.driver is not None and option in self.driver.options_type.__dataclass_fields__


def prepared(
    data: Dataset, model: str, *, budget: Any = (), solver: Any = None, progress: bool = False, **given: Any
) -> Prepared:
    """Build the model of a name with its side constraints; arguments and errors are those of ``select``."""
    dataset(data)
    if not isinstance(progress, bool):
        raise ParameterError(f"progress is {type(progress).__name__}: give True or False.")
    recipe = find(model)
    recipe.refuse(given)
    if not recipe.weighs:
        unweighted(data, f'Model "{recipe.name}"')
    budget, rows_of_costs = (budget, ()) if isinstance(budget, numbers.Number) else number_and_rows(budget)
    if isinstance(budget, numbers.Number):
        if "budget" not in recipe.parameters:
            raise ParameterError(
                f"budget got {type(budget).__name__} {budget!r}, which is for fsmulti: "
                f'model "{model}" takes (costs, limit), on the command line --budget COSTS.csv:LIMIT.',
                parameter="budget",
            )
        given = {**given, "budget": budget}
    rows = {kind: given.pop(kind, None) for kind in KINDS if kind != "budget"}
    limited = given.get("max_features") is not None and "max_features" not in recipe.parameters
    sides = read_sides(recipe, {"budget": rows_of_costs, **rows}, data, limited=limited)
    on_sigma = any(not side.on_weights for side in sides)
    known = {*recipe.parameters, *PARAMETERS}
    options = {name: value for name, value in given.items() if name not in known}
    wanted = {name: value for name, value in given.items() if name in known}
    most = wanted.pop("max_features", None) if able(recipe) and "max_features" not in recipe.parameters else None
    if (on_sigma or most is not None) and "sigma" in recipe.parameters:
        wanted["sigma"] = True
    parameters = used_parameters(recipe, wanted, others=options)
    on_weights = any(side.on_weights for side in sides)
    parameters = recipe.suited(parameters, data, solver, options, on_weights=on_weights)
    if most is not None:
        feature_count(most, data.n_features)  # before a large model is built
    built = recipe.model(data, parameters)
    if built is None and sides:
        built = rows_model(data.features)
    if built is None:
        return Prepared(recipe, data, parameters, {}, None, solver, None, options)
    stated = state(built, sides)
    if most is not None:
        state_most(built, most)
        parameters = {**parameters, "max_features": most}
    chosen = getattr(facts_of(built), "default_solver", None) if solver is None else solver
    driver = DRIVERS.get(chosen) if isinstance(chosen, str) else None
    if driver is not None and progress:
        options = {"tee": True, **options}
    return Prepared(recipe, data, parameters, stated, built, solver, driver, options)


def _refitted(found: Selection, model: str, validation: Dataset | None, time_limit: float | None) -> Selection:
    """Solve another model on the selected features, as Bradley, Mangasarian and Street do after every selection.

    A run that was stopped is not made longer by it.
    """
    if found.stop_reason is not StopReason.INTERRUPTED and not Clock.of_run(time_limit).over:
        data = found.data.select_features(found.selected)
        if validation is not None:
            validation = validation.select_features(found.selected)
        given = found.parameters
        rows: dict[str, Any] = {
            "signs": {name: sign for name, sign in given.get("signs", {}).items() if name in found.selected},
            "fair": [(row["by"], row["limit"]) for row in given.get("fair", ())],
        }
        with watching.doing("fitting the weights on the selected features"):
            again = prepared(data, model, penalty=given["penalty"], time_limit=time_limit, **rows).run(validation)
        cost = math.inf if again.objective is None else again.objective
        if again.has_solution and (again.status is SolutionStatus.OPTIMAL or cost <= _error(found)):
            return replace(found, refit=again)
        why = "limit came"  # whose point may be worse than these weights, up to w = 0
    else:
        why = "run was stopped"
    words = f"The weights are the model's own: the {why} before they were fitted on the selected features."
    return replace(found, message=f"{found.message} {words}".strip())


def _error(found: Selection) -> float:
    """Return the objective of the refit at the model's own weights."""
    return found.machine.error if isinstance(found.machine, LinearClassifier) else math.inf
