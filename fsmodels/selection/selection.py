"""``Selection``: the result of ``fs.select``, with its display, file and certificate."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fsmodels.certificates.document import CertificateFile
from fsmodels.datasets.files import write_file
from fsmodels.errors import ParameterError
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.selection import report
from fsmodels.selection.outcome import Outcome
from fsmodels.selection.proof import prove

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Outcome):
    """Selected features with their classifier, objective and proven bound.

    Attributes
    ----------
    name : str
        The name of the model.
    data : Dataset
        The scaled data of the model.
    parameters : dict
        Parameters of the model, and the side constraints.
    selected : tuple of str
        Features with sigma = 1 if the model has a sigma; otherwise with ``|w_j| max_i |x_ij|`` above 1e-6 of the
        largest; for a kernel with a weight of at least 0.01 of the largest (smaller weights are set to 0).
    classifier : LinearClassifier, KernelClassifier or None
        The classifier for ``data`` as scaled.
    objective, bound : float or None
        The objective of the formulation, recomputed from ``data`` and ``classifier`` without the solver, and a proven
        lower bound on the optimum.
    status, stop_reason : SolutionStatus, StopReason
        The status of the solution, and the reason why the run stopped.
    message : str
        Remarks of the solver, such as conflicting rows or a bound that could not be proven.
    validation_error : float or None
        Share of wrong labels on the validation data.
    chosen_by : str or None
        "validation" if this is not the optimum but the classifier with the least ``validation_error`` of those found
        (``choose_by`` of ``select``); this error is then no estimate for new data.
    result : Result
        The result of the solver, with the iteration table of a driver.
    fs_objective : float or None
        For the family of FS (Bradley, Mangasarian, Street 1998): (7) at ``weights`` and ``bias``.
    refit : Selection or None
        For fsl, fsv, fss and fsb: the robust LP on the selected features.
    model : pyo.ConcreteModel or None
        The live model with the values of the solution; None for a baseline and after pickling.
    ranking : pandas.Series or None
        Scores of a baseline, best first.
    """

    refit: Selection | None = None

    @cached_property
    def certificate(self) -> CertificateFile:
        """Independently checkable proof: ``certificate.save("c.json")``, then ``fsmodels verify c.json DATA``.

        It exists for fsp-m and fsp-lambda with rows on sigma. A separate tree search proves the objective, which takes
        about two to three times the time of the solve. Raises ModelError: another model, an edit of other parts of the
        model, or the selection is not proven.

        Examples
        --------
        >>> import fsmodels as fs
        >>> found = fs.select(fs.load_dataset("bupa"), max_features=2)
        >>> fs.verify(found.certificate, fs.load_dataset("bupa")).holds
        True
        """
        return prove(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file; missing values are ``null`` (None), never NaN.

        ``objective``, ``bound``, ``weights`` and ``bias`` belong to the scaled data, so that the objective can be
        recomputed; ``weights`` has every weight that is not 0. ``weights_original`` and ``bias_original`` are the same
        classifier in original units. ``kernel`` has the other parameters of a kernel classifier.
        """
        return report.contract(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of the selected features, the largest on top, with the proven bound in the title.

        The bars are weights as scaled, which can be compared; the labels show them and, in brackets, the weight per
        unit of the feature. The colour is the class that larger values of the feature favour.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from fsmodels.selection.pictures import draw_weights

        return draw_weights(self, ax)

    def save(self, path: str | Path) -> None:
        """Write everything except the live model to a JSON file, which ``fs.load_selection`` reads.

        The file has the content of ``to_dict``, all feature names and the support vectors of a kernel, but no other
        samples.

        Raises
        ------
        ParameterError
            The file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import fsmodels as fs
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "bupa.json"
        >>> fs.select(fs.load_dataset("bupa"), max_features=2).save(path)
        >>> fs.load_selection(path).table().index.tolist()
        ['sgot', 'sgpt']
        """
        content = {**report.contract(self), "features": list(self.data.features)}
        if isinstance(self.classifier, KernelClassifier):
            columns = np.flatnonzero(self.classifier.z)
            content["kernel"] = {**content["kernel"], "vectors": self.classifier.vectors[:, columns].tolist()}
        write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", path)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the live model, which cannot leave this process."""
        return {**self.__dict__, "model": None}

    def __copy__(self) -> Selection:
        return replace(self)

    def __repr__(self) -> str:
        return report.text(self)

    def _repr_html_(self) -> str:
        return report.html(self)


def write_text(text: str, path: str | Path) -> None:
    """Replace the content of a file completely or not at all. Raises ParameterError: the file cannot be written."""
    if not isinstance(path, str | Path):
        raise ParameterError(f"save needs the path of a file and got {type(path).__name__}.")
    try:
        write_file(path, text)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        why = getattr(error, "strerror", None) or error
        raise ParameterError(f'"{path}" cannot be written ({why}): give a file in a folder.') from None
