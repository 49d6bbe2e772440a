"""The table of named models: which builder, which parameters, how the objective follows from data.

``MODELS`` is the only table of names. Which parameters a model takes is read from its builder's signature, and which
solver it runs from the structure that the builder attaches. A new formulation is one new entry.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels import baselines
from fsmodels.checks import share
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models import concave, fsp, gmeb, kernel, multivariate, obd, svm
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.kernel.objective import hinge
from fsmodels.models.multivariate import measures, strict
from fsmodels.words import listed, short

__all__ = ["MODELS", "PARAMETERS", "Classifier", "KernelSvm", "Recipe", "find", "used_parameters"]

FloatArray = NDArray[np.float64]

# Parameter -> (option of the command line, what it is).
PARAMETERS = {
    "max_features": ("--max-features", "the most features to select, a whole number"),
    "C": ("-C", "the weight of the sum of slacks, a number above 0"),
    "penalty": (
        "--penalty",
        "the price of a feature, one number or one for each; lambda in [0, 1) of the fs family, mu of the kernels",
    ),
    "R_plus": ("--R-plus", "the most the second moments of class +1 may weigh, a number above 0"),
    "R_minus": ("--R-minus", "the same for class -1"),
    "loss": ("--loss", "f1, prbep, rec@10, rec@2p, prec@10, hamming or auc"),
    "budget": ("--budget-features", "B, the sum of the features' shares of a budget, a whole number"),
    "offset": ("--offset", "a column of ones takes part"),
}


@dataclass(frozen=True)
class Classifier:
    """A linear classifier on its data, as objectives see it.

    Attributes
    ----------
    data : Dataset
    w : array of shape (n,)
    b : float
    selected : names of the selected features
    parameters : dict
        Of the builder.
    model : pyo.ConcreteModel
        For parameters that a driver has set.
    """

    data: Dataset
    w: FloatArray
    b: float
    selected: Sequence[str]
    parameters: Mapping[str, Any]
    model: pyo.ConcreteModel

    @cached_property
    def losses(self) -> FloatArray:
        """Hinge losses max(0, 1 - y_i (w.x_i + b)), shape (l,)."""
        scores = np.asarray(self.data.X @ self.w).ravel() + self.b
        return np.asarray(np.maximum(0.0, 1.0 - self.data.y * scores))

    @property
    def loss(self) -> float:
        """The sum of hinge losses."""
        return float(self.losses.sum())

    @property
    def error(self) -> float:
        """E of Bradley, Mangasarian, Street 1998: the mean hinge losses of the two classes, added."""
        return float(self.losses[self.data.y > 0].mean() + self.losses[self.data.y < 0].mean())

    @property
    def price(self) -> float:
        """The summed penalty of the selected features."""
        penalty = self.parameters.get("penalty")
        if isinstance(penalty, Mapping):
            return float(sum(penalty.get(name, 0.0) for name in self.selected))
        return float(penalty or 0.0) * len(self.selected)

    @property
    def penalty(self) -> float:
        """Lambda of the fs family, 0 where there is none."""
        return float(self.parameters.get("penalty") or 0.0)


@dataclass(frozen=True)
class KernelSvm:
    """A kernel classifier on its training data, as objectives see it.

    Attributes
    ----------
    machine : KernelClassifier
    parameters : dict
        With ``C``, ``penalty`` (mu) and ``eps``.
    """

    machine: KernelClassifier
    parameters: Mapping[str, Any]

    @property
    def values(self) -> FloatArray:
        """Decision values K a + b of shape (n,), those of the SVM even where all weights are 0."""
        c = self.machine
        if c.is_constant:
            return np.full(len(c.data), float(c.kernel.entries(np.zeros((1, 1)))[0, 0]) * c.a.sum() + c.b)
        return c.decision(c.data.X)


@dataclass(frozen=True)
class Recipe:
    """One model by name.

    Attributes
    ----------
    title : str
        One line for lists.
    build : callable
        ``build(data, *, parameters)`` returns a Pyomo model, or for a baseline a ``Baseline``.
    objective : callable, optional
        ``Classifier``, or ``KernelSvm`` -> the formulation's objective; None for a baseline, which minimises nothing.
    kind : {"linear", "kernel"}
        Of the classifier: weights w, or a kernel of features weighted by z.
    selects : bool
        Whether the model has ``sigma``, so that side constraints can be stated.
    fs : bool
        Of the family of FS (7): ``penalty`` is lambda in [0, 1), and (7) is reported beside the objective.
    refit : bool
        Whether the robust LP is solved again on the selected features, for predictions.
    procedure : callable, optional
        ``procedure(model, data, parameters, solver, options)`` -> Result, in place of one solve of the model.
    instead : mapping
        Required parameter -> the one that may be given in its place.
    gone : pairs of str
        Words that it took, and what to give now.
    reported : tuple of str
        Optional parameters that only the report needs.
    found : tuple of str
        Parameters of the model to report besides those given: their defaults, or what the driver has set.
    classifier : callable, optional
        model -> (w, b) on the data as given, where they are not ``model.w`` and ``model.b``; of the linear kind.
    rival : bool
        Whether it selects for an SVM by other means than FSP, so that FSP's objective of its features compares them.
    remark : callable, optional
        ``Classifier`` -> a sentence for the report.
    whole : mapping
        Parameters of ``build`` for a solver that takes the whole model, where the user gives none.
    large : mapping
        The same for a driver with an oracle, where the data have more than five million cells.
    """

    title: str
    build: Callable[..., Any]
    objective: Callable[[Any], float] | None = None
    selects: bool = False
    kind: str = "linear"
    fs: bool = False
    refit: bool = False
    procedure: Callable[..., Any] | None = None
    instead: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[tuple[str, str], ...] = ()
    reported: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    classifier: Callable[[pyo.ConcreteModel], tuple[FloatArray, float]] | None = None
    remark: Callable[[Classifier], str] | None = None
    rival: bool = False
    whole: Mapping[str, Any] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes besides the data, and whether each is required."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        given = inspect.signature(self.build).parameters.values()
        required = {p.name: p.default is p.empty or p.name in self.instead for p in given if p.kind is keyword}
        return required | dict.fromkeys(self.reported, False)

    def built(self, data: Dataset, parameters: Mapping[str, Any]) -> Any:
        """Build, without the parameters that only the report needs."""
        return self.build(data, **{name: value for name, value in parameters.items() if name not in self.reported})


def _squares(c: Classifier) -> float:
    return 0.5 * float(c.w @ c.w) + c.parameters["C"] * c.loss + c.price


def _absolutes(c: Classifier) -> float:
    return float(np.abs(c.w).sum()) + c.parameters["C"] * c.loss + c.price


def _error(c: Classifier) -> float:
    return c.error


def _loss(c: Classifier) -> float:
    return c.loss


def _dual_value(c: Classifier) -> float:
    return float(pyo.value(c.model.objective))


def _primal_value(c: Classifier) -> str:
    if not gmeb.has_multipliers(c.model):
        return "The classifier is the dual's multipliers, and there are none: its weights are 0."
    gap = gmeb.duality_gap(c.loss, _dual_value(c))
    return f"The classifier is the dual's multipliers; its loss is {c.loss:.9g}, a duality gap of {gap:.2g}."


def _weighed(steps: Callable[[Classifier], float]) -> Callable[[Classifier], float]:
    """Return (1 - lambda) E + lambda times a sum of steps."""
    return lambda c: (1 - c.penalty) * c.error + c.penalty * steps(c)


def _exponentials(c: Classifier) -> float:
    return float((1 - np.exp(-c.model.alpha.value * np.abs(c.w))).sum())


def _sigmoids(c: Classifier) -> float:
    return float((1 / (1 + np.exp(-c.model.alpha.value * np.abs(c.w)))).sum())


def _bilinear(c: Classifier) -> float:
    """(14) with the best r for v = u = |w|."""
    mu, v = c.model.mu.value, np.abs(c.w)
    steps = np.minimum(0.0, (1 - mu) * c.penalty - mu * v)
    return float((1 - mu) * (1 - c.penalty) * c.error + steps.sum() + mu * v.sum())


def _regularised_risk(c: Classifier) -> float:
    parameters = {name: c.parameters[name] for name in ("C", "loss") if name in c.parameters}
    return multivariate.objective(c.data, c.w, b=c.b, budget=int(pyo.value(c.model.budget)), **parameters)


def _omega(c: KernelSvm) -> float:
    """Omega (7): half of a'Ka, C times the losses, mu times the sum of weights."""
    k, given, f = c.machine, c.parameters, c.values
    losses = float(hinge(k.data.y * f, given["eps"]).sum())
    return 0.5 * float(k.a @ (f[k.rows] - k.b)) + given["C"] * losses + given["penalty"] * float(k.z.sum())


def _on_training_data(c: Classifier) -> str:
    """Say what the measure is, how many features share the budget, what a score of 0 means, and what no bound is."""
    measure, B = measures.loss(c.parameters["loss"]), int(pyo.value(c.model.budget))
    scores = np.asarray(c.data.X @ c.w).ravel() + c.b
    said = [f"{measure.name} on these data: {measure.measure(c.data.y, scores):.2f}%."]
    if not c.w.any():
        said = [f"All weights are 0: every score is {c.b:g}, predicted as class {1 if c.b > 0 else -1}. "]
        said[0] += "A larger C makes features pay."
    if len(c.selected) > B:
        said.append(f"{len(c.selected)} features share the budget of {B} (sum of d); max_features={B} selects {B}.")
    if c.w.any() and (ties := int((scores == 0).sum())):
        said.append(f"{ties} samples have none of the features: their score 0 is predicted as class -1.")
    positives = int((c.data.y > 0).sum())
    if not np.array_equal(measure.predict(c.data.y, n_positive=positives), c.data.y):  # y is not in Y
        said.append(
            f"The risk is no bound on what {measure.name} loses here, as the true labelling has {positives} positive "
            "samples and not k; prbep bounds it."
        )
    return " ".join(said)


# Measured with scip on 60 instances of unscaled data: "perspective" left 15 with a gap above 1e-4 (up to 6%), because
# w^2 <= t sigma holds to 1e-6 only; "big-m" left none and was faster. Its bound is proven, and ``select`` adds rows on
# sigma only, so it holds.
_BIG_M = {"form": "big-m"}
_RMP = {"form": fsp.RMP}
_ALPHA = ("alpha",)
_FS = _weighed(lambda c: len(c.selected))
LARGE = 5_000_000  # cells of X; half a million take 0.7 s to build as rows of a Pyomo model


def _of_kernel(title: str, build: Callable[..., Any]) -> Recipe:
    return Recipe(title, build, _omega, kind="kernel", found=("eps",))


MODELS: dict[str, Recipe] = {
    "svm": Recipe("soft-margin SVM on all features", svm.l2_svm, _squares),
    "one-norm-svm": Recipe(
        "1-norm SVM, a linear program that uses few features", svm.one_norm_svm, _absolutes, rival=True
    ),
    "fsp-m": Recipe("best SVM on at most M features, exact", fsp.fsp_m, _squares, True, whole=_BIG_M, large=_RMP),
    "fsp-lambda": Recipe(
        "SVM that pays for each feature, exact", fsp.fsp_lambda, _squares, True, whole=_BIG_M, large=_RMP
    ),
    "robust-lp": Recipe(
        "robust linear program, on all features", svm.robust_lp, _error, fs=True, reported=("penalty",)
    ),
    "fs": Recipe("least error and fewest features, exact for few features", concave.fs, _FS, True, fs=True),
    "fsl": Recipe("the same as a linear program with complementarity", concave.fsl, _FS, True, fs=True, refit=True),
    "fsv": Recipe(
        "the same with a concave exponential", concave.fsv, _weighed(_exponentials), fs=True, refit=True, found=_ALPHA
    ),
    "fss": Recipe("the same with a sigmoid", concave.fss, _weighed(_sigmoids), fs=True, refit=True, found=_ALPHA),
    "fsb": Recipe("the same as a bilinear program", concave.fsb, _bilinear, fs=True, refit=True, found=("mu",)),
    "obd": Recipe(
        "robust LP without the features it hardly needs, heuristic", obd.build, _error, fs=True, procedure=obd.run
    ),
    "gmeb": Recipe(
        "least loss under bounds on both classes' scaled moments, exact", gmeb.primal, _loss, classifier=gmeb.classifier
    ),
    "gmeb-dual": Recipe(
        "the same by its conic dual",
        gmeb.dual,
        _dual_value,
        classifier=gmeb.feasible_classifier,
        remark=_primal_value,
    ),
    "gmeb-nonconvex": Recipe(
        "the same before its change of variables", gmeb.nonconvex, _loss, classifier=gmeb.classifier
    ),
    "fsmulti": Recipe(
        "least loss of a whole labelling (F1, PRBEP, recall at k, ...) on a budget of features, exact",
        strict.build,
        _regularised_risk,
        procedure=strict.run,
        instead={"max_features": "budget"},
        gone=(
            (
                "strict",
                "max_features=K (--max-features) selects at most K features; budget=B (--budget-features) is B of (5)",
            ),
        ),
        classifier=multivariate.classifier,
        remark=_on_training_data,
    ),
    "full-fs": _of_kernel(
        "weights z of the features inside an RBF kernel, with its SVM at once, local", kernel.full_fs
    ),
    "ao-simple": _of_kernel("the same, SVM and weights in turn", kernel.ao_simple),
    "ao-margin": _of_kernel("the same, with the weights a functional margin", kernel.ao_margin),
    "ao-efs": _of_kernel("the same, the weights for the largest functional margin", kernel.ao_efs),
    "gmkl": _of_kernel("the same by projected gradient on the value function of the SVM", kernel.gmkl),
    "rfe": Recipe("recursive feature elimination, heuristic", baselines.rfe, rival=True),
    "information-gain": Recipe("filter by information gain, heuristic", baselines.information_gain, rival=True),
    "mutual-information": Recipe("filter by mutual information, heuristic", baselines.mutual_information, rival=True),
    "relief": Recipe("filter by Relief, heuristic", baselines.relief, rival=True),
}


# Words of the field -> the model that does it, or comes nearest.
OTHER_WORDS = {
    **dict.fromkeys(["lasso", "l1", "l1-svm", "1-norm", "1-norm-svm", "l1-norm", "sparse-svm"], "one-norm-svm"),
    **dict.fromkeys(["l2", "l2-svm", "linear-svm", "svc", "linearsvc", "libsvm", "ridge"], "svm"),
    **dict.fromkeys(["l0", "best-subset", "exact", "cardinality", "mip"], "fsp-m"),
    **dict.fromkeys(["svm-rfe", "recursive", "recursive-feature-elimination"], "rfe"),
    **dict.fromkeys(["mrmr", "mi"], "mutual-information"),
    **dict.fromkeys(["entropy", "ig"], "information-gain"),
    **dict.fromkeys(["relieff", "relief-f"], "relief"),
    **dict.fromkeys(["mkl", "multiple-kernel-learning"], "gmkl"),
    **dict.fromkeys(["optimal-brain-damage"], "obd"),
    **dict.fromkeys(["rbf", "kernel", "kernel-svm"], "full-fs"),
    **dict.fromkeys(["lp"], "robust-lp"),
}


def find(name: str) -> Recipe:
    """Return the model of a name.

    Raises
    ------
    ParameterError
        With the nearest name and the list.
    """
    if isinstance(name, str) and name in MODELS:
        return MODELS[name]
    word = str(name).lower()
    near = [known for known in MODELS if known.startswith(word)] or difflib.get_close_matches(word, MODELS, 1, 0.7)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    plain = word.replace("_", "-").replace(" ", "-")
    if plain in OTHER_WORDS:
        hint = f'For {short(str(name))}, see "{OTHER_WORDS[plain]}". '
    raise ParameterError(f'Model "{short(str(name))}" is not known. {hint}Models: {", ".join(MODELS)}.')


def used_parameters(model: str, recipe: Recipe, given: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parameters for the builder; None counts as not given, and C defaults to 1.

    ``others`` are words that were given besides: a missing parameter may be among them, misspelt.

    Raises
    ------
    ParameterError
        One that the model does not use (naming those it does), or a missing one.
    """
    known = recipe.parameters
    for name, value in given.items():
        if value is not None and name not in known:
            users = [other for other, r in MODELS.items() if name in r.parameters]
            raise ParameterError(
                f'Model "{model}" does not use {name} ({_flag(name)}): it takes '
                f"{listed(f'{n} ({_flag(n)})' for n in known if n in PARAMETERS)}. "
                f"Models that use {name}: {', '.join(users)}."
            )
    for name, required in known.items():
        other = recipe.instead.get(name)
        if required and given.get(name) is None and (other is None or given.get(other) is None):
            what = PARAMETERS[name][1] if name in PARAMETERS else "see its documentation"
            near = difflib.get_close_matches(name, list(others), n=1, cutoff=0.75)
            hint = f' "{near[0]}" is no parameter of it: did you mean {name}?' if near else ""
            rival = f"; or {other} ({_flag(other)}), {PARAMETERS[other][1]}" if other else ""
            raise ParameterError(f'Model "{model}" needs {name} ({_flag(name)}): {what}{rival}.{hint}')
    used = {name: given[name] for name in known if given.get(name) is not None}
    if recipe.fs and "penalty" in used:
        share("penalty", used["penalty"], concave.MEANING)
    if recipe.kind == "kernel" and isinstance(used["penalty"], Mapping):
        raise ParameterError(
            f'Model "{model}" has one penalty for all features, mu: give a number above 0, for example penalty=1, and '
            "not one for each feature."
        )
    if "C" in known:
        used.setdefault("C", 1.0)
    if "loss" in known:
        used.setdefault("loss", "f1")
    return used


def _flag(name: str) -> str:
    return PARAMETERS[name][0] if name in PARAMETERS else f"--{name.replace('_', '-')}"
