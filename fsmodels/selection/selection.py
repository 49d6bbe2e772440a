"""A reported selection: features, classifier, and what is proven about them."""

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
    """Selected features, their classifier, and what is proven about them.

    Attributes
    ----------
    name : str
        The model's name in the table.
    data : Dataset
        What the model was built from.
    parameters : dict
        Those of the model, and the side constraints.
    selected : tuple of str
        sigma = 1 where the model has a sigma; else ``|w_j| max_i |x_ij|`` above 1e-6 of the largest; of a kernel,
        weights of at least 0.01 of the largest, and the others are set to 0. In order.
    machine : LinearClassifier, KernelClassifier or None
        What decides, on ``data`` as scaled.
    objective, bound : float or None
        The formulation's objective, recomputed from ``data`` and ``machine`` without the solver, and a
        proven lower bound on the best one.
    status, stop_reason : SolutionStatus, StopReason
        What you hold, and why the run stopped.
    message : str
        What a person should know: rows that clash, a bound that could not be proven.
    validation_error : float or None
        Share of wrong labels on the validation data.
    chosen_by : str or None
        "validation" where this is not the optimum but the classifier of least ``validation_error`` among those met
        (``choose_by`` of ``select``), whose error is then no estimate for new data.
    result : Result
        The solver's own, with the iteration table of a driver.
    fs_objective : float or None
        For the family of FS (Bradley, Mangasarian, Street 1998): (7) at ``weights`` and ``bias``.
    refit : Selection or None
        For fsl, fsv, fss and fsb: the robust LP on the selected features, with ``predict`` and errors of its own.
    model : pyo.ConcreteModel or None
        The live model with the solution's values; None for a baseline, and once it has been pickled.
    ranking : pandas.Series or None
        Scores of a baseline, best first.
    """

    refit: Selection | None = None

    @cached_property
    def certificate(self) -> CertificateFile:
        """A proof that a stranger can check: ``certificate.save("c.json")``, then ``fsmodels verify c.json DATA``.

        Written for fsp-m and fsp-lambda with rows on sigma, by a tree of its own against the objective found: it takes
        about two to three times the solve. Raises ModelError: another model, an edit beside sigma, or nothing proven.

        Examples
        --------
        >>> import fsmodels as fs
        >>> found = fs.select(fs.load_dataset("bupa"), max_features=2)
        >>> fs.verify(found.certificate, fs.load_dataset("bupa")).holds
        True
        """
        return prove(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file; ``null`` (None) where there is none, never NaN.

        ``objective``, ``bound``, ``weights`` and ``bias`` belong to the scaled data, so that the objective can be
        recomputed: ``weights`` holds every weight that is not 0. ``weights_original`` and ``bias_original`` are the
        same classifier for the file's units. ``kernel`` holds what decides besides, where there is a kernel.
        """
        return report.contract(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of the selected features, the largest on top, with what is proven in the title.

        The bars are weights as scaled, which can be compared; beside each the number, and in brackets the weight per
        unit of the feature. The colour tells for which class more of the feature speaks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from fsmodels.selection.pictures import draw_weights

        return draw_weights(self, ax)

    def save(self, path: str | Path) -> None:
        """Write everything but the live model to a JSON file, which ``fs.load_selection`` reads.

        It is the content of ``to_dict`` with all names of features and the support vectors of a kernel; it contains no
        other samples.

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
        if isinstance(self.machine, KernelClassifier):
            columns = np.flatnonzero(self.machine.z)
            content["kernel"] = {**content["kernel"], "vectors": self.machine.vectors[:, columns].tolist()}
        write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", path)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the live model, which belongs to this process: workers and files get the rest."""
        return {**self.__dict__, "model": None}

    def __copy__(self) -> Selection:
        return replace(self)

    def __repr__(self) -> str:
        return report.text(self)

    def _repr_html_(self) -> str:
        return report.html(self)


def write_text(text: str, path: str | Path) -> None:
    """Replace the content of a file completely or not at all. Raises ParameterError."""
    if not isinstance(path, str | Path):
        raise ParameterError(f"save needs the path of a file and got {type(path).__name__}.")
    try:
        write_file(path, text)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        why = getattr(error, "strerror", None) or error
        raise ParameterError(f'"{path}" cannot be written ({why}): give a file in a folder.') from None
