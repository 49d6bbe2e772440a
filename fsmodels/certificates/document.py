"""The file of a certificate: JSON with data, model, incumbent, and the tree with its multipliers.

``certificates.form`` has the schema. ``problem``: prices by feature and C by sample, one number if all are equal; rows
on sigma. C is the cost of a unit of slack of each sample, including sample weights; 0 for an excluded sample. ``bound``
is the bound that the file proves with multipliers rounded to ``DIGITS``.
``multipliers``: a list of ``[at_C, positions, values]``; all other multipliers are 0. ``tree``: entries as in
``certificates.verify``, ``[0]``, ``[1, k, theta]``, ``[2, k, theta, columns]``, ``[3, column]``, with theta as pairs
``[row, value]``, and ``columns`` excluded at 1 as j + 1, at 0 as -(j + 1). Positions count from 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fsmodels.certificates.form import FORMAT, VERSION, check_form, no_number, unique
from fsmodels.certificates.verify import BRANCH, EMPTY, EPSILON, GIVEN_UP, Checked, Claim, Entry, check
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.files import json_text, write_file
from fsmodels.datasets.scaling import Scale
from fsmodels.errors import DataError, ModelError
from fsmodels.text import SCALINGS, listed, short

Array = np.ndarray[Any, np.dtype[Any]]
DIGITS = 7  # of a multiplier: the check makes rounded multipliers feasible, which changes the bound very little
LOSSES = ("hinge", "squared-hinge")
MODELS = ("fsp-m", "fsp-lambda")  # the first without prices
SHOWN = 6  # terms of a row in a report


@dataclass(frozen=True)
class CertificateFile:
    """Content of the file of a certificate; ``intact``: False if it was changed after it was written."""

    content: dict[str, Any]
    intact: bool = True

    @property
    def text(self) -> str:
        """The text of the file, JSON; its last line is a checksum of the lines above it."""
        text = json.dumps(self.content, allow_nan=False, separators=(",", ":"))[:-1]
        return f'{text},\n"checksum":"{_checksum(text)}"}}\n'

    def save(self, path: str | Path) -> None:
        """Write the file for ``fsmodels verify FILE DATA``."""
        write_file(path, self.text)

    @classmethod
    def load(cls, path: str | Path) -> CertificateFile:
        """Read a file. Raises DataError: no such file, no certificate, or one of another form."""
        try:
            text = json_text(path)
            content = json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
        except OSError as error:
            raise DataError(f'Certificate "{path}" cannot be read ({error.strerror}): give its path.') from None
        except TypeError:
            raise DataError(f"Certificate {short(repr(path))} is no path: give the path of the file.") from None
        except (ValueError, RecursionError) as error:
            raise DataError(f'Certificate "{path}" is not JSON ({error}): was it truncated or edited?') from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f'"{path}" is no certificate: give a file of found.certificate.save(path).')
        if content.get("version") != VERSION:
            raise DataError(
                f'Certificate "{path}" has version {short(str(content.get("version")))}; this package checks version '
                f"{VERSION}: write it again from the data."
            )
        summed = content.pop("checksum", "")
        check_form(content)
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


def write(data: Dataset, stated: Mapping[str, Any], tree: list[Entry], alphas: list[Array]) -> CertificateFile:
    """Return the certificate of a tree whose entries refer to the multipliers ``alphas``.

    ``stated``: the parts ``model``, ``problem``, ``incumbent``, ``objective`` and ``gap`` of the file, on the scaled
    data. The bound of the file is the one that the check proves from the rounded multipliers. Raises ModelError: the
    check does not confirm the certificate.
    """
    C = np.broadcast_to(np.asarray(stated["problem"]["C"], dtype=float), data.y.shape)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "data": described(data),
        **stated,
        "bound": stated["objective"] - stated["gap"] * abs(stated["objective"]),
        "multipliers": [_packed(alpha, C) for alpha in alphas],
        "tree": [_listed(entry) for entry in tree],
    }
    found = check(_claim(content, data, np.zeros(data.n_features)), data.X, data.y)
    if not found.holds:
        raise ModelError(f"The certificate would not be confirmed: {found.why} Solve again with a smaller gap.")
    return CertificateFile(content | {"bound": found.bound})


def _checksum(text: str) -> str:
    """Return a hash that detects accidental changes; the check detects all others."""
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(entry: Entry) -> list[Any]:
    if entry.kind == BRANCH:
        return [entry.kind, *entry.columns]
    if entry.kind == EMPTY:
        return [entry.kind]
    theta = np.zeros(0) if entry.theta is None else entry.theta
    stored = [entry.kind, entry.multipliers, [[int(k), float(theta[k])] for k in np.flatnonzero(theta)]]
    return [*stored, list(entry.columns)] if entry.kind == GIVEN_UP else stored


def _entry(stored: list[Any], alphas: int, rows: int, columns: int) -> Entry:
    """Return a stored entry. Raises ValueError: a position is out of range."""
    kind = stored[0]
    if kind == EMPTY:
        return Entry(EMPTY)
    if kind == BRANCH:
        return Entry(BRANCH, columns=(_position(stored[1], columns),))
    theta = np.zeros(rows)
    for row, value in stored[2]:
        theta[_position(row, rows)] = value
    given = stored[3] if kind == GIVEN_UP else []
    for signed in given:
        _position(abs(signed) - 1, columns)
    return Entry(kind, _position(stored[1], alphas), theta, tuple(given))


def _position(given: int, size: int) -> int:
    if not 0 <= given < size:
        raise ValueError(f"position {given} is outside 0..{size - 1}")
    return given


def _packed(alpha: Array, C: Array) -> list[Any]:
    full = np.abs(alpha - C) <= 1e-12 * C  # a squared loss lets multipliers pass C
    between = np.flatnonzero((alpha > 0) & ~full)
    return [np.flatnonzero(full).tolist(), between.tolist(), [float(f"{alpha[i]:.{DIGITS}g}") for i in between]]


def described(data: Dataset) -> dict[str, Any]:
    """Return the identity of data and their scaling."""
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
    """Return y'X and the sums of squares, which identify data up to rounding."""
    squares = data.X.multiply(data.X) if data.is_sparse else data.X**2
    return np.append(np.asarray(data.y @ data.X), np.asarray(squares.sum(axis=0)))


def verify(certificate: CertificateFile | str | Path, data: Dataset) -> Checked:
    """Check a certificate from the data alone, with numpy and without the code that found the proof.

    Parameters
    ----------
    certificate : CertificateFile or path
    data : Dataset
        The data of the certificate, in original units or with any scaling; features are found by name.

    Returns
    -------
    Checked
        ``holds``, the recomputed ``objective`` and ``bound``, the number of closed ``parts``, ``why`` it does not hold,
        and ``problem``: the verified problem, as ``problem_of`` returns it.

    Raises
    ------
    DataError
        The file is no certificate or is malformed, its problem is not convex, or the data lack features, are others or
        have other weights.

    Notes
    -----
    ``fsmodels.certificates.verify`` describes the check. Its only tolerances are rounding errors.
    """
    if isinstance(certificate, CertificateFile):
        check_form(certificate.content)
    else:
        certificate = CertificateFile.load(certificate)
    content = certificate.content
    try:
        with np.errstate(all="ignore"):
            scaled, shifted = _as_described(content["data"], data)
            claim = _claim(content, scaled, shifted)
            problem = problem_of(content, claim, scaled, data)
            found = replace(check(claim, scaled.X, scaled.y), problem=problem)
    except (KeyError, IndexError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"The certificate is damaged ({type(error).__name__}: {short(repr(str(error)))}): write it again."
        ) from None
    if found.holds and not certificate.intact:
        return replace(found, holds=False, why="The file was changed after it was written: its checksum differs.")
    return found


def problem_of(content: Mapping[str, Any], claim: Claim, scaled: Dataset, data: Dataset) -> dict[str, Any]:
    """Return the verified problem: data, rows, C, scaling and weights, from the data and the arrays of the claim.

    ``sha256``: of the scaled values and labels. ``weights``: "none", "of the data" if they were compared with these,
    else "of the certificate". ``scale``: the constants are applied; the samples that they were fitted to do not matter.

    Raises DataError: the data have other weights.
    """
    stored, weights = content["data"], data.sample_weight
    if weights is not None:  # without weights the data cannot confirm those of the file
        multiple = float(claim.C @ weights) / float(weights @ weights)
        if (np.abs(claim.C - multiple * weights) > EPSILON * (weights.size + 8) * multiple * weights).any():
            raise DataError(
                "The certificate has other sample weights than the data: give the data with the weights of the "
                "certificate, or without weights."
            )
    least, most = float(claim.C.min()), float(claim.C.max())
    rows = [
        _row_text({scaled.features[j]: float(a[j]) for j in np.flatnonzero(a)}, float(low), float(high))
        for a, low, high in zip(claim.matrix, claim.lower, claim.upper, strict=True)
    ]
    return {
        "model": content["model"], "data": data.name, "sha256": described(scaled)["sha256"],
        "samples": data.n_samples, "features": scaled.n_features, "positive": str(data.positive_label),
        "scale": f"constants of the certificate, which names them {stored['scale']}",
        "C": least if least == most else [least, most],
        "weights": "of the data" if weights is not None else "none" if least == most else "of the certificate",
        "loss": claim.loss, "intercept": claim.intercept, "penalty": sorted({*claim.price.tolist()}), "rows": rows,
        "gap": claim.gap,
    }  # fmt: skip


def _row_text(terms: dict[str, float], low: float, high: float) -> str:
    """Return a row as text, with at most ``SHOWN`` terms, such as "age + 2 sex <= 4" or "1 <= age + sex <= 2"."""
    body = ""
    for name, c in [*terms.items()][:SHOWN]:
        sign = (" - " if c < 0 else " + ") if body else ("-" if c < 0 else "")
        body += f"{sign}{'' if abs(c) == 1 else f'{abs(c):.12g} '}{name}"
    body = (body or "0") + (f" + ... ({len(terms)} terms)" if len(terms) > SHOWN else "")
    if low == high:
        return f"{body} == {low:.12g}"
    least = f"{low:.12g} <= " if np.isfinite(low) and np.isfinite(high) else ""
    end = f" <= {high:.12g}" if np.isfinite(high) else f" >= {low:.12g}"
    return f"{least}{body}{end}"


def _as_described(stored: Mapping[str, Any], data: Dataset) -> tuple[Dataset, Array]:
    """Return the data with the scaling of the certificate, and the differences of its shifts in scaled units.

    The differences are 0 if the scaled data are equal to the last bit. Raises DataError: the data are others.
    """
    names = tuple(stored["features"])
    if missing := [name for name in names if name not in set(data.features)]:
        shown = listed(short(repr(name)) for name in missing)
        raise DataError(f'Data "{data.name}" lack features of the certificate ({shown}).')
    if len(set(names)) < len(names) or not names:
        raise ValueError("no features, or one twice")
    if data.features != names:
        data = data.select_features(names)
    shift, factor, theirs = (np.array(stored[key], dtype=float) for key in ("shift", "factor", "column_sums"))
    if not (shift.size == factor.size == len(names) and theirs.size == 2 * len(names) and (factor > 0).all()):
        raise ValueError(f"scaling constants above 0 and column sums are due for {len(names)} features")
    step = Scale(stored["scale"], shift, factor)
    scaled = Dataset(step.after(data.scale).apply(data.X, data.features), data.y, data.features, data.name)
    now = described(scaled)
    counts = f"{now['samples']} samples, {now['positive_samples']} of them of class +1"
    if (now["samples"], now["positive_samples"]) != (stored["samples"], stored["positive_samples"]):
        raise DataError(
            f'These are other data: "{data.name}" has {counts}; the certificate is of {stored["samples"]}, '
            f"{stored['positive_samples']} of class +1 ({short(repr(stored['positive']))})."
        )
    same = now["sha256"] == stored["sha256"]
    shifted = np.zeros(len(names)) if same else np.abs(shift - data.scale.shift) * factor
    size = abs(scaled.X) + shifted
    sizes = np.append(np.asarray(size.sum(axis=0)), 2.0 * np.asarray((size * size).sum(axis=0)))
    away = np.abs(theirs - now["column_sums"]) > EPSILON * (data.n_samples + 20) * sizes
    if away.any():
        which = np.unique(np.flatnonzero(away) % len(names))
        raise DataError(
            f'These are other data: in "{data.name}" the columns {listed(names[j] for j in which)} differ from those '
            "of the certificate."
        )
    return scaled, shifted


def _claim(content: Mapping[str, Any], data: Dataset, shifted: Array) -> Claim:
    """Return the content as arrays over the data. Raises DataError: its problem cannot be certified."""
    problem, incumbent, gap, scale = content["problem"], content["incumbent"], content["gap"], content["data"]["scale"]
    place = {name: j for j, name in enumerate(data.features)}
    n, samples, rows = data.n_features, data.n_samples, problem["rows"]
    price = np.broadcast_to(np.array(problem["price"], dtype=float), (n,))
    C = np.broadcast_to(np.array(problem["C"], dtype=float), (samples,))
    for holds, why in (
        (set(scale.split(", ")) <= set(SCALINGS), f"scaling {short(repr(scale))} is not known"),
        (content["model"] in MODELS, f"model {short(repr(content['model']))} is none of {listed(MODELS)}"),
        (problem["loss"] in LOSSES, f"loss {short(repr(problem['loss']))} is none of {listed(LOSSES)}"),
        ((C >= 0).all(), "C below 0 is not convex"),
        ((price >= 0).all(), "a price of a feature is below 0"),
        (content["model"] != MODELS[0] or not price.any(), f"{MODELS[0]} has no prices of features"),
        (0 <= gap < 1, f"gap {gap:.6g} is not in [0, 1)"),
    ):
        if not holds:
            raise DataError(f"The certificate is not valid: {why}. Write it again from the data.")
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
    alphas = np.zeros((len(content["multipliers"]), samples))
    for alpha, (full, between, values) in zip(alphas, content["multipliers"], strict=True):
        at_C, inside = _positions(full, samples), _positions(between, samples)
        if len(values) != inside.size:
            raise ValueError(f"{len(values)} values of multipliers at {inside.size} positions")
        alpha[at_C] = C[at_C]
        alpha[inside] = values
    tree = [_entry(stored, len(alphas), len(rows), n) for stored in content["tree"]]
    intercept = problem.get("intercept")
    return Claim(
        price=price, C=C, loss=problem["loss"], intercept=None if intercept is None else float(intercept),
        matrix=matrix, lower=lower, upper=upper, chosen=chosen, w=w, b=float(incumbent["bias"]),
        objective=float(content["objective"]), bound=float(content["bound"]), gap=float(gap), alphas=alphas, tree=tree,
        shifted=shifted,
    )  # fmt: skip


def _positions(given: list[int], size: int) -> Array:
    return np.array([_position(position, size) for position in given], dtype=np.intp)
