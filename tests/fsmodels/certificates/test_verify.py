"""The check of a certificate: it believes what the data confirm, and finds one number that was changed."""

import copy
import itertools
from pathlib import Path

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.certificates import document
from fsmodels.certificates.verify import uncovered
from fsmodels.models.fsp.oracle import SvmOracle

NONE = np.zeros(1)


def enumerated(data, C=1.0, most=2):
    """The certificate of a complete enumeration: one leaf a support, and boxes that the cardinality row empties."""
    oracle, n = SvmOracle(data.X, data.y, C), data.n_features
    leaves, best = [], None
    for point in itertools.product((0.0, 1.0), repeat=n):
        sigma = np.array(point)
        if sigma.sum() <= most:
            answer = oracle.solve(sigma, 1e-9)
            best = (answer, sigma) if best is None or answer.value < best[0].value else best
            leaves.append(document.Closed(sigma, sigma, answer.alpha, NONE))
    leaves += emptied(n, most)
    answer, sigma = best
    names = [name for name, one in zip(data.features, sigma, strict=True) if one]
    row = {"name": "cardinality", "coefficients": dict.fromkeys(data.features, 1.0), "lower": None, "upper": most}
    return document.write(
        data,
        model="fsp-m",
        problem={"price": 0.0, "C": C, "loss": "hinge", "rows": [row]},
        incumbent={
            "selected": names,
            "weights": {k: answer.w[data.features.index(k)] for k in names},
            "bias": answer.b,
        },
        objective=answer.value,
        bound=answer.bound,
        gap=1e-4,
        leaves=leaves,
    )


def emptied(n, most):
    """Boxes with one selected feature too many."""
    found = []
    for point in itertools.product((0, 1), repeat=n):
        for k in range(1, n + 1):
            if sum(point[:k]) == most + 1 and point[k - 1] == 1 and not any(point[k:]):
                low, high = np.zeros(n), np.ones(n)
                low[:k] = high[:k] = point[:k]
                found.append(document.Closed(low, high, None, np.ones(1)))
    return found


@pytest.fixture(scope="module")
def proof():
    data = fs.load_dataset("bupa").scaled("standard")
    return data, enumerated(data)


def changed(proof, change):
    content = copy.deepcopy(proof[1].content)
    change(content)
    return document.CertificateFile(content | {"checksum": document.checksum(content)})


def test_a_true_certificate_holds_on_scaled_and_on_original_data(proof, tmp_path):
    data, certificate = proof
    certificate.save(tmp_path / "c.json")
    for given in (data, fs.load_dataset("bupa"), fs.load_dataset("bupa").scaled("minmax")):
        found = fs.verify(tmp_path / "c.json", given)
        assert found.holds, found.why
        assert found.objective == pytest.approx(275.8427364, rel=1e-8)
        assert found.gap < 1e-6


def test_every_leaf_is_needed(proof):
    data, certificate = proof
    for k in range(len(certificate.content["leaves"])):
        found = fs.verify(changed(proof, lambda c, k=k: c["leaves"].pop(k)), data)
        assert not found.holds
        assert "do not cover" in found.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.update(objective=0.999 * c["objective"]), "stated objective"),
        (lambda c: c.update(bound=1.01 * c["bound"]), "stated bound"),
        (lambda c: c["problem"].update(C=1.01), "proves"),
        (lambda c: c["problem"]["rows"][0].update(upper=3), "proves -inf"),
        (lambda c: c["problem"]["rows"][0].update(upper=1), "breaks row 1"),
        (lambda c: c["incumbent"].update(bias=c["incumbent"]["bias"] + 0.01), "stated objective"),
        (lambda c: c["incumbent"]["weights"].update(mcv=0.1), "does not select"),
        (lambda c: next(leaf for leaf in c["leaves"] if leaf[0] == [2, 3]).__setitem__(2, 0), "proves"),
        (lambda c: [m[2].__setitem__(slice(None), [0.0] * len(m[2])) for m in c["multipliers"]], "proves"),
    ],
)
def test_a_false_claim_is_found_even_with_its_checksum_made_anew(proof, change, why):
    found = fs.verify(changed(proof, change), proof[0])
    assert not found.holds
    assert why in found.why


def test_any_changed_number_is_found_by_the_checksum(proof):
    content = copy.deepcopy(proof[1].content)
    content["multipliers"][3][2][0] *= 1.0001
    found = fs.verify(document.CertificateFile(content), proof[0])
    assert not found.holds
    assert "checksum" in found.why


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda d: d.take(range(300)), "other data"),
        (lambda d: d.select_features(d.features[:5]), "lack features"),
        (lambda d: fs.Dataset.from_arrays(d.X + 1e-6 * np.eye(*d.X.shape), d.y, d.features), "other data"),
    ],
)
def test_other_data_are_found(proof, data, words):
    with pytest.raises(fs.DataError, match=words):
        fs.verify(proof[1], data(fs.load_dataset("bupa")))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "fsmodels-certificate", "version": 9}'])
def test_files_that_are_no_certificate_are_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(fs.DataError, match=r"certificate|Certificate"):
        fs.verify(tmp_path / "c.json", fs.load_dataset("bupa"))
    with pytest.raises(fs.DataError, match="cannot be read"):
        fs.verify(tmp_path / "none.json", fs.load_dataset("bupa"))


def test_parts_that_are_missing_or_out_of_range_are_told(proof):
    for change in (
        lambda c: c.pop("leaves"),
        lambda c: c["leaves"][0].__setitem__(2, 10**6),
        lambda c: c["leaves"][0].__setitem__(0, [-1]),
        lambda c: c["problem"].update(loss="zero-one"),
        lambda c: c["problem"].update(curved=1),
    ):
        with pytest.raises(fs.DataError, match="certificate"):
            fs.verify(changed(proof, change), proof[0])


def test_boxes_cover_or_one_that_is_open_is_named():
    assert uncovered([{}]) is None
    assert uncovered([{0: 0}, {0: 1, 1: 0}, {0: 1, 1: 1}]) is None
    assert uncovered([{0: 0}, {0: 1, 1: 0}]) == {0: 1, 1: 1}
    assert uncovered([]) == {}
    rng = np.random.default_rng(0)
    for _ in range(200):
        boxes = [
            {int(j): int(rng.integers(2)) for j in rng.choice(5, rng.integers(1, 4), replace=False)}
            for _ in range(int(rng.integers(1, 14)))
        ]
        points = list(itertools.product((0, 1), repeat=5))
        bare = [p for p in points if not any(all(p[j] == v for j, v in box.items()) for box in boxes)]
        found = uncovered(boxes)
        assert (found is None) == (not bare)
        if found is not None:
            assert any(all(p[j] == v for j, v in found.items()) for p in bare)


def test_the_check_imports_nothing_that_finds_proofs():
    import fsmodels.certificates.verify as check

    text = Path(check.__file__).read_text("utf-8")
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in imported if "fsmodels" in line or "solvers" in line or "scipy" in line]
