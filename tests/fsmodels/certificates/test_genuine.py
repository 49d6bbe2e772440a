"""Genuine certificates of many models, data, rows, prices, weights and scalings are accepted, also from a file."""

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import Error
from tests.helpers.enumeration import instance
from tests.helpers.seeds import seeds

SETS = ["bupa", "cleveland", "wdbc"]


def part_of(name, rng):
    """Return some samples and features of a real data set, in units of the user's."""
    data = fs.load_dataset(name)
    rows = np.sort(rng.permutation(data.n_samples)[: int(rng.integers(30, 90))])
    names = rng.permutation(data.features)[: int(rng.integers(3, 7))].tolist()
    data = data.take(rows).select_features(names)
    kind = rng.integers(3)
    if kind == 0:  # badly scaled columns, far from 0
        X = data.X * 10.0 ** rng.integers(-6, 7, size=len(names)) + 10.0 ** rng.integers(-3, 8, size=len(names))
        data = fs.Dataset.from_arrays(X, data.y, names)
    return data


def case(seed):
    """Return data and what ``select`` is asked, at random."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        data, C, M, rows = instance(seed)
        scale = "none"
    else:
        data, C, M = part_of(SETS[seed // 2 % 3], rng), float(10 ** rng.uniform(-2, 2)), int(rng.integers(1, 4))
        rows = {"excludes": [tuple(data.features[:2])]} if seed % 3 else {}
        scale = ["standard", "minmax", "unit-ball"][seed // 2 % 3]
    asked = {"max_features": M} if seed % 5 else {"model": "fsp-lambda", "penalty": float(10 ** rng.uniform(-2, 1))}
    asked["loss"] = "squared-hinge" if seed % 7 == 3 else "hinge"
    if seed % 11 == 4:
        asked["intercept"] = False
    if seed % 6 == 1:
        data = data.weighted(rng.integers(1, 5, size=data.n_samples) * 0.3)
    elif seed % 6 == 4:
        data = data.weighted(class_weight={data.positive_label: 2.5})
    gap = [1e-4, 1e-2, 1e-6][seed % 3]
    return data, dict(asked, C=C, scale=scale, gap=gap, **rows)


@pytest.mark.parametrize("seed", seeds(range(12), 100, 500))
@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_a_genuine_certificate_is_accepted_on_data_of_any_scaling(seed, tmp_path):
    data, asked = case(seed)
    try:
        found = fs.select(data, **asked)
    except Error:  # rows that no selection satisfies
        return
    path = tmp_path / "c.json"
    found.certificate.save(path)
    for given in (found.data, data, data.unscaled().scaled("minmax")):
        checked = fs.verify(path, given)
        assert checked.holds, (seed, checked.why)
        assert checked.objective == pytest.approx(found.objective, rel=1e-9)
        assert checked.bound <= found.objective
