"""``SavedSelection``: a selection from a file of ``Selection.save`` or ``--json``, with its classifier."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.columns import Category
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import json_text
from fsmodels.datasets.prepare import Imputing, Interaction
from fsmodels.datasets.scaling import Scale
from fsmodels.errors import DataError, ModelError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.kernel.kernels import Polynomial, Rbf
from fsmodels.selection import report
from fsmodels.selection.outcome import FittedSelection
from fsmodels.selection.request import Request
from fsmodels.text import listed

KERNELS: dict[str, Any] = {"rbf": Rbf, "polynomial": Polynomial}
NEEDED = ("model", "data", "parameters", "selected", "weights", "bias", "status", "scale")


@dataclass(frozen=True, eq=False, repr=False)
class SavedSelection(FittedSelection):
    """Selection from a file, with its classifier and its proven bound.

    Attributes
    ----------
    content : dict
        The content of the file.
    data : Dataset
        Features, labels and scaling of the data of the selection, without the samples.
    name, parameters, selected, classifier, objective, bound, gap
        As in ``Selection``.
    status : str
        The status of the result.
    """

    content: dict[str, Any]
    data: Dataset
    selected: tuple[str, ...]
    classifier: LinearClassifier | KernelClassifier | None
    name: str
    parameters: dict[str, Any]
    objective: float | None
    bound: float | None
    gap: float | None
    status: str

    def _reason(self) -> str:
        return f": the solve ended as {self.status}."

    @property
    def weights_original(self) -> dict[str, float]:
        """The weights for data in original units, from the file."""
        return dict(self.content.get("weights_original") or {})

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file."""
        return self.content

    def rebuild(self, data: Dataset) -> pyo.ConcreteModel | None:
        """Build the live model with its side constraints again, from the data of the selection.

        Return None for a method without a model.

        Raises
        ------
        DataError
            The data have other features or another number of samples.
        """
        return Request.from_dict(self.content, self.data, data).build().model

    def __repr__(self) -> str:
        proof = "" if self.bound is None else f"; {report.distance(self.objective, self.bound)}"
        return (
            f"{self.name} on {self.data.name}: {len(self.selected)} of {self.data.n_features} features, objective "
            f"{report.number(self.objective)}{proof} ({self.status})\n{self.table().to_string()}"
        )


def load_selection(path: str | Path) -> SavedSelection:
    """Read a file of ``Selection.save`` or ``fsmodels select --json``.

    Raises
    ------
    DataError
        The file does not exist or is no selection, or the file of a kernel has no support vectors.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fsmodels as fs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bupa.json"
    >>> fs.select(fs.load_dataset("bupa"), max_features=2).save(path)
    >>> found = fs.load_selection(path)
    >>> found.selected, found.predict([[90, 70, 30, 25, 30, 4]]).tolist()
    (('sgpt', 'sgot'), [-1])
    """
    try:
        content = json.loads(json_text(path))
    except OSError as error:
        raise DataError(f'"{path}" cannot be read ({error.strerror}): give the file of a saved selection.') from None
    except (TypeError, ValueError, RecursionError) as error:  # lists nested too deeply
        raise DataError(f'"{path}" is no JSON file of a selection ({error}).') from None
    lacking = [key for key in NEEDED if key not in content] if isinstance(content, dict) else list(NEEDED)
    if lacking:
        raise DataError(f'"{path}" is no selection ({listed(lacking)} missing): give a file of save or of --json.')
    try:
        return _read(content, str(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DataError | ModelError):
            raise
        raise DataError(f'"{path}" is no selection that can be read ({error!r}): save it again.') from None


def _read(content: dict[str, Any], path: str) -> SavedSelection:
    scale, about, inside = content["scale"], content["data"], content.get("kernel")
    imputing = content.get("imputing")
    features = tuple(scale["shift"])
    shift, factor = (np.array([scale[key][name] for name in features], dtype=float) for key in ("shift", "factor"))
    z, chosen = (
        np.array([(content["weights"] or {}).get(name, 0.0) for name in features]),
        tuple(content["selected"] or ()),
    )
    X, y = np.zeros((0, len(features))), np.zeros(0)
    if inside is not None:
        if "vectors" not in inside:
            raise DataError(f'"{path}" has no support vectors of its kernel: save it in Python, found.save(path).')
        X = np.zeros((len(inside["coefficients"]), len(features)))
        X[:, np.flatnonzero(z)] = inside["vectors"]
        y = np.full(len(X), inside["constant"] or 1.0)  # of which a classifier without weights takes the larger class
    negative = about["negative_label"]
    data = Dataset(
        X, y, features, about["name"], tuple(negative) if isinstance(negative, list) else negative,
        about["positive_label"], Scale(scale["method"], shift, factor), bool(about.get("positive_guessed")),
        products={name: _product(part) for name, part in content.get("products", {}).items()},
        dialect=Dialect(**content["dialect"]) if content.get("dialect") else None,
        categories={name: _category(part) for name, part in content.get("categories", {}).items()},
        imputing=Imputing(imputing["method"], imputing["values"], {}) if imputing else None,
    )  # fmt: skip
    if about.get("class_names") is not None:
        data = data.with_class_names(*about["class_names"])
    classifier: LinearClassifier | KernelClassifier | None = None
    if content["selected"] is not None and inside is None:
        classifier = LinearClassifier(data, z, float(content["bias"]), chosen)
    elif content["selected"] is not None and inside is not None:
        kernel = KERNELS[inside["name"]](**{key: inside[key] for key in ("degree", "offset") if key in inside})
        a = np.array(inside["coefficients"], dtype=float)
        classifier = KernelClassifier(data, kernel, z, np.arange(len(a)), a, float(content["bias"]), chosen)
    numbers: dict[str, Any] = {name: content.get(name) for name in ("objective", "bound", "gap")}
    named: dict[str, Any] = {
        "name": str(content["model"]),
        "parameters": dict(content["parameters"]),
        "status": str(content["status"]),
    }
    return SavedSelection(content, data, chosen, classifier, **named, **numbers)


def _category(part: dict[str, Any]) -> Category:
    return Category(part["column"], tuple(part["levels"]), bool(part["together"]))


def _product(part: dict[str, Any]) -> Interaction:
    (one, other), (by_one, by_other) = part["shift"], part["factor"]
    return Interaction(part["a"], part["b"], (one, other), (by_one, by_other))
