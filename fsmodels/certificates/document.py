"""The file of a certificate: JSON that names data, model, incumbent, and the tree with its multipliers.

``problem``: prices, C, ridge and bounds by feature or sample, one number where all are equal; rows on sigma. Weights of
samples are in C, which is what a unit of each sample's slack costs, 0 where it does not count.
``multipliers``: a list of ``[at_C, positions, values]``; all other multipliers are 0. ``tree``: entries as
``certificates.verify`` reads them, ``[0]``, ``[1, k, theta]``, ``[2, k, theta, columns]``, ``[3, column]``, with theta
as pairs ``[row, value]``, and ``columns`` that are given up at 1 as j + 1, at 0 as -(j + 1). Positions count from 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsmodels.certificates.verify import BRANCH, CLOSED, EMPTY, GIVEN_UP, Checked, Claim, Entry, check
from fsmodels.datasets.dataset import Dataset, Scale
from fsmodels.errors import DataError
from fsmodels.words import listed

__all__ = ["FORMAT", "CertificateFile", "verify", "write"]

Array = np.ndarray[Any, np.dtype[Any]]
FORMAT, VERSION = "fsmodels-certificate", 1
DIGITS = 7  # of a multiplier: its rounding costs the bound next to nothing, as it is repaired before it is used
SAME = 1e-9  # relative: columns of the same data, scaled in one step or in several
LOSSES = ("hinge", "squared-hinge")


@dataclass(frozen=True)
class CertificateFile:
    """What is proven about one selection, as the content of a file; ``intact``: whether it is as it was written."""

    content: dict[str, Any]
    intact: bool = True

    def save(self, path: str | Path) -> None:
        """Write the file, which ``fsmodels verify FILE DATA`` checks; its last line is a checksum of what is above."""
        text = json.dumps(self.content, allow_nan=False, separators=(",", ":"))[:-1]
        Path(path).write_text(f'{text},\n"checksum":"{_checksum(text)}"}}\n', encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> CertificateFile:
        """Read a file. Raises DataError: none there, or no certificate."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            content = json.loads(text)
        except OSError as error:
            raise DataError(f'Certificate "{path}" cannot be read ({error.strerror}): give its path.') from None
        except ValueError as error:
            raise DataError(f'Certificate "{path}" is no JSON ({error}): was it cut short or edited?') from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f'"{path}" is no certificate: give what found.certificate.save(path) has written.')
        if content.get("version") != VERSION:
            raise DataError(
                f'Certificate "{path}" has version {content.get("version")}; this package checks version {VERSION}.'
            )
        summed = content.pop("checksum", "")
        return cls(content, intact=_checksum(text[: text.rfind(",")]) == summed)

    @property
    def objective(self) -> float:
        """Stated objective of the incumbent."""
        return float(self.content["objective"])

    @property
    def bound(self) -> float:
        """Stated bound."""
        return float(self.content["bound"])

    def __repr__(self) -> str:
        c = self.content
        what, numbers = (
            f"{c['model']} on {c['data']['name']}",
            f"objective {self.objective:.6g}, bound {self.bound:.6g}",
        )
        return f"CertificateFile({what}: {numbers}, {len(c['tree'])} entries)"


def write(
    data: Dataset,
    *,
    model: str,
    problem: Mapping[str, Any],
    incumbent: Mapping[str, Any],
    objective: float,
    bound: float,
    gap: float,
    tree: list[Entry],
    alphas: list[Array],
) -> CertificateFile:
    """Return the certificate of a tree whose entries name multipliers among ``alphas``.

    ``problem``: ``price``, ``C``, ``loss``, ``ridge``, ``least``, ``most``, ``intercept`` and ``rows``, as in the file.
    ``incumbent``: ``selected`` names, ``weights`` by name, ``bias``, on the data as scaled.
    """
    C = np.broadcast_to(np.asarray(problem["C"], dtype=float), data.y.shape)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": model,
        "data": described(data),
        "problem": dict(problem),
        "incumbent": dict(incumbent),
        "objective": objective,
        "bound": bound,
        "gap": gap,
        "multipliers": [_packed(alpha, C) for alpha in alphas],
        "tree": [_listed(entry) for entry in tree],
    }
    return CertificateFile(content)


def _checksum(text: str) -> str:
    """Return the hash that finds what was changed by chance; the check finds the rest."""
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(entry: Entry) -> list[Any]:
    if entry.kind == BRANCH:
        return [entry.kind, *entry.columns]
    if entry.kind == EMPTY:
        return [entry.kind]
    theta = np.zeros(0) if entry.theta is None else entry.theta
    told = [entry.kind, entry.multipliers, [[int(k), float(theta[k])] for k in np.flatnonzero(theta)]]
    return [*told, list(entry.columns)] if entry.kind == GIVEN_UP else told


def _entry(told: list[Any], alphas: int, rows: int, columns: int) -> Entry:
    """Read an entry. Raises ValueError, IndexError, TypeError: it is none, or speaks of what is not there."""
    kind = told[0]
    if kind == EMPTY and len(told) == 1:
        return Entry(EMPTY)
    if kind == BRANCH and len(told) == 2:
        return Entry(BRANCH, columns=(_position(told[1], columns),))
    if kind not in (CLOSED, GIVEN_UP) or len(told) != 2 + kind:
        raise ValueError(f"the tree has an entry {str(told)[:60]}")
    theta = np.zeros(rows)
    for row, value in told[2]:
        theta[_position(row, rows)] = value
    given = tuple(told[3]) if kind == GIVEN_UP else ()
    if not all(isinstance(j, int) and 1 <= abs(j) <= columns for j in given):
        raise ValueError("the tree gives up what is no feature")
    return Entry(kind, _position(told[1], alphas), theta, given)


def _position(given: Any, size: int) -> int:
    if not isinstance(given, int) or not 0 <= given < size:
        raise ValueError(f"position {given!r} is outside 0..{size - 1}")
    return given


def _packed(alpha: Array, C: Array) -> list[Any]:
    full = np.abs(alpha - C) <= 1e-12 * C  # a squared loss lets multipliers pass C
    between = np.flatnonzero((alpha > 0) & ~full)
    return [np.flatnonzero(full).tolist(), between.tolist(), [float(f"{alpha[i]:.{DIGITS}g}") for i in between]]


def described(data: Dataset) -> dict[str, Any]:
    """Return what tells these data from others, and how they were scaled."""
    X = np.ascontiguousarray(data.X.toarray() if data.is_sparse else data.X, dtype="<f8")
    hashed = hashlib.sha256(X.tobytes() + np.ascontiguousarray(data.y, dtype="<f8").tobytes())
    return {
        "name": data.name,
        "samples": data.n_samples,
        "features": list(data.features),
        "positive": str(data.positive_label),
        "positive_samples": int((data.y > 0).sum()),
        "scale": data.scale.method,
        "shift": data.scale.shift.tolist(),
        "factor": data.scale.factor.tolist(),
        "sha256": hashed.hexdigest(),
        "column_sums": _sums(data).tolist(),
    }


def _sums(data: Dataset) -> Array:
    """Return y'X and the sums of squares: they tell data apart where rounding keeps bits from being equal."""
    squares = data.X.multiply(data.X) if data.is_sparse else data.X**2
    return np.append(np.asarray(data.y @ data.X), np.asarray(squares.sum(axis=0)))


def verify(certificate: CertificateFile | str | Path, data: Dataset) -> Checked:
    """Check a certificate from the data alone, with numpy, and none of the code that found it.

    Parameters
    ----------
    certificate : CertificateFile or path
    data : Dataset
        The data it speaks of, in original units or scaled in any way; features are found by name.

    Returns
    -------
    Checked
        ``holds``, ``objective`` and ``bound`` as recomputed, ``parts`` that were closed, and ``why`` it does not hold.

    Raises
    ------
    DataError
        The file is no certificate, a part of it is missing, or the data lack features or are others. The data have
        weights, and the certificate is of others.

    Notes
    -----
    ``fsmodels.certificates.verify`` has the mathematics of the check.
    """
    if not isinstance(certificate, CertificateFile):
        certificate = CertificateFile.load(certificate)
    content = certificate.content
    try:
        scaled = _as_described(content["data"], data)
        claim = _claim(content, scaled)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"The certificate is damaged ({type(error).__name__}: {error}): ask for it again.") from None
    if data.sample_weight is not None:  # without weights the data say nothing of those that the file has
        _check_weights(claim.C, data.sample_weight)
    found = check(claim, scaled.X, scaled.y)
    if found.holds and not certificate.intact:
        return _failed(found, "The file is not as it was written: its checksum differs.")
    if found.holds and found.objective is not None:
        stated, size = certificate.objective, max(abs(found.objective), 1e-300)
        if abs(stated - found.objective) > SAME * size:
            return _failed(found, f"The stated objective is {stated:.9g}; the incumbent's is {found.objective:.9g}.")
        if found.bound is not None and certificate.bound > found.bound + max(1e-7, claim.gap) * size:
            return _failed(found, f"The stated bound is {certificate.bound:.9g}; {found.bound:.9g} is proven.")
    return found


def _check_weights(C: Array, weights: Array) -> None:
    """Refuse a certificate whose prices of slack are no multiple of the weights."""
    multiple = float(C @ weights) / float(weights @ weights)
    if (np.abs(C - multiple * weights) > SAME * multiple * weights).any():
        raise DataError(
            "The certificate is of other sample weights than the data have: give the data with those of then, or "
            "without any."
        )


def _failed(found: Checked, why: str) -> Checked:
    return Checked(False, found.objective, found.bound, found.parts, why)


def _as_described(told: Mapping[str, Any], data: Dataset) -> Dataset:
    """Return the data under the certificate's scaling. Raises DataError where they are others."""
    names = tuple(told["features"])
    if missing := [name for name in names if name not in set(data.features)]:
        raise DataError(f'Data "{data.name}" lack features of the certificate ({listed(missing)}).')
    if data.features != names:
        data = data.select_features(names)
    step = Scale(told["scale"], np.array(told["shift"], dtype=float), np.array(told["factor"], dtype=float))
    step = step.after(data.scale)
    scaled = Dataset(step.apply(data.X, data.features), data.y, data.features, data.name)
    now = described(scaled)
    if now["sha256"] == told["sha256"]:
        return scaled
    counts = f"{now['samples']} samples, {now['positive_samples']} of them of class +1"
    if (now["samples"], now["positive_samples"]) != (told["samples"], told["positive_samples"]):
        raise DataError(
            f'These are other data: "{data.name}" has {counts}; the certificate speaks of {told["samples"]}, '
            f"{told['positive_samples']} of class +1 ({told['positive']})."
        )
    theirs, ours = np.array(told["column_sums"], dtype=float), np.array(now["column_sums"])
    size = np.sqrt(data.n_samples * np.maximum(ours[len(names) :], 1e-300))
    away = np.abs(theirs - ours) > SAME * np.append(size, np.maximum(ours[len(names) :], 1e-300))
    if theirs.shape != ours.shape or away.any():
        which = np.unique(np.flatnonzero(away) % len(names))
        raise DataError(
            f'These are other data: in "{data.name}" the columns {listed(names[j] for j in which)} differ from those '
            "that the certificate speaks of."
        )
    return scaled


def _claim(content: Mapping[str, Any], data: Dataset) -> Claim:
    """Return the certificate's content as arrays over the data."""
    problem, incumbent = content["problem"], content["incumbent"]
    place = {name: j for j, name in enumerate(data.features)}
    n, samples = data.n_features, data.n_samples
    known = {"price", "C", "loss", "ridge", "least", "most", "intercept", "rows"}
    if unknown := set(problem) - known:
        raise DataError(f"The certificate's problem has parts that this check does not know: {listed(unknown)}.")
    if problem["loss"] not in LOSSES:
        raise DataError(f"The certificate's loss {problem['loss']!r} is not known: {listed(LOSSES)} are.")
    rows = problem["rows"]
    matrix = np.zeros((len(rows), n))
    for k, row in enumerate(rows):
        for name, value in row["coefficients"].items():
            matrix[k, place[name]] = value
    lower = np.array([-np.inf if row["lower"] is None else row["lower"] for row in rows], dtype=float)
    upper = np.array([np.inf if row["upper"] is None else row["upper"] for row in rows], dtype=float)
    chosen, w = np.zeros(n), np.zeros(n)
    chosen[[place[name] for name in incumbent["selected"]]] = 1.0
    for name, value in incumbent["weights"].items():
        w[place[name]] = value

    def each(what: str, size: int, default: float) -> Array:
        value = problem.get(what)
        if isinstance(value, list):
            value = [default if x is None else x for x in value]
        array = np.array(default if value is None else value, dtype=float)
        return np.broadcast_to(array, (size,)).copy()

    C = each("C", samples, 1.0)
    if not (np.isfinite(C) & (C >= 0)).all():
        raise ValueError("C holds what are no prices")
    alphas = []
    for full, between, values in content["multipliers"]:
        alpha = np.zeros(samples)
        alpha[_positions(full, samples)] = C[_positions(full, samples)]
        alpha[_positions(between, samples)] = values
        alphas.append(alpha)
    tree = [_entry(told, len(alphas), len(rows), n) for told in content["tree"]]
    intercept = problem.get("intercept")
    return Claim(
        price=each("price", n, 0.0), C=C, loss=problem["loss"], ridge=each("ridge", n, 1.0),
        least=each("least", n, -np.inf), most=each("most", n, np.inf),
        intercept=None if intercept is None else float(intercept), matrix=matrix, lower=lower, upper=upper,
        chosen=chosen, w=w, b=float(incumbent["bias"]), gap=float(content["gap"]),
        alphas=np.array(alphas).reshape(-1, samples), tree=tree,
    )  # fmt: skip


def _positions(given: Any, size: int) -> Array:
    positions = np.array(given, dtype=np.intp).reshape(-1)
    if positions.size and not (positions.min() >= 0 and positions.max() < size):
        raise ValueError(f"a position is outside 0..{size - 1}")
    return positions
