"""The file of a selection: the content of ``--json``, and what ``save`` adds to it.

It holds the classifier for the data as scaled, the constants of the scaling and of products of features, and, if
``save`` wrote it, the support vectors of a kernel. It holds no other samples.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fsmodels.datasets.files import write_file
from fsmodels.errors import ParameterError
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.selection import report
from fsmodels.selection.outcome import Outcome

__all__ = ["content", "write", "write_text"]


def content(found: Outcome) -> dict[str, Any]:
    """Return what the JSON file of a run holds, with all names of features and the support vectors of a kernel."""
    told = {**report.contract(found), "features": list(found.data.features)}
    machine = found.machine
    if isinstance(machine, KernelClassifier):
        columns = np.flatnonzero(machine.z)
        told["kernel"] = {**told["kernel"], "vectors": machine.vectors[:, columns].tolist()}
    return told


def write(told: dict[str, Any], path: str | Path) -> None:
    """Write to a JSON file; errors as ``write_text``."""
    write_text(json.dumps(told, indent=2, allow_nan=False) + "\n", path)


def write_text(text: str, path: str | Path) -> None:
    """Replace the content of a file completely or not at all. Raises ParameterError."""
    if not isinstance(path, str | Path):
        raise ParameterError(f"save needs the path of a file and got {type(path).__name__}.")
    try:
        write_file(path, text)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        why = getattr(error, "strerror", None) or error
        raise ParameterError(f'"{path}" cannot be written ({why}): give a file in a folder.') from None
