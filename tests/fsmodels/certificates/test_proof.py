"""``found.certificate``: the proof of a selection is one that the independent check confirms."""

import pytest

import fsmodels as fs
from tests.helpers.enumeration import every_support, instance
from tests.helpers.seeds import seeds


@pytest.mark.parametrize("seed", seeds(range(15), 5000, 300))
def test_certificates_hold_and_do_not_overstate(seed):
    data, C, M, rows = instance(seed)
    given = {"max_features": M} if seed % 3 else {"model": "fsp-lambda", "penalty": 0.3}
    loss = "squared-hinge" if seed % 5 == 4 else "hinge"
    found = fs.select(data, C=C, loss=loss, **given, **rows)
    checked = fs.verify(found.certificate, data)
    assert checked.holds, checked.why
    assert checked.objective == pytest.approx(found.objective, rel=1e-9)
    if loss == "hinge":
        most = M if seed % 3 else data.n_features
        best = every_support(data, C, most, rows, price=0.0 if seed % 3 else 0.3)[0][0]
        assert checked.bound <= best * (1 + 1e-7)
        assert checked.bound >= best * (1 - 1.1e-4)


def test_a_certificate_of_real_data_is_saved_and_verified(tmp_path):
    data = fs.load_dataset("cleveland")
    found = fs.select(data, max_features=5, excludes=[("ca", "thal")])
    found.certificate.save(tmp_path / "c.json")
    checked = fs.verify(tmp_path / "c.json", data)
    assert checked.holds, checked.why
    assert "cleveland" in repr(found.certificate)
    assert found.certificate is found.certificate


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge"])
def test_a_selection_without_an_offset_says_so(loss):
    data = fs.load_dataset("bupa")
    certificate = fs.select(data, max_features=2, loss=loss, intercept=False).certificate
    assert certificate.content["problem"]["intercept"] == 0.0
    assert fs.verify(certificate, data).holds


def test_bounds_on_sigma_are_rows_too():
    data = fs.load_dataset("bupa").scaled("standard")
    found = fs.select(data, max_features=2)
    free = next(name for name in data.features if name not in found.selected)
    found.model.sigma[free].setub(0)
    assert fs.verify(found.certificate, data).holds
    assert [row["name"] for row in found.certificate.content["problem"]["rows"]][-1] == f"bounds of sigma[{free}]"


def test_a_selection_that_the_model_no_longer_allows_is_not_certified():
    found = fs.select(fs.load_dataset("bupa"), max_features=2)
    found.model.sigma[found.selected[0]].setub(0)
    with pytest.raises(fs.ModelError, match="have changed"):
        found.certificate  # noqa: B018


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda d: fs.select(d, "rfe", max_features=2), "exists for"),
        (lambda d: fs.select(d, max_features=2, time_limit=1e-6), "no selection|not proven"),
        (lambda d: fs.select(d, max_features=2, signs={"sgpt": "+"}), "edits on sigma"),
        (lambda d: fs.select(d, max_features=2, form="rmp"), None),
    ],
)
def test_what_cannot_be_certified_is_refused(make, words):
    found = make(fs.load_dataset("bupa"))
    if words is None:
        assert fs.verify(found.certificate, found.data).holds
        return
    with pytest.raises(fs.ModelError, match=words):
        found.certificate  # noqa: B018
