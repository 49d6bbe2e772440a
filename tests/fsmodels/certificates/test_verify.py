"""The check of a certificate: it believes what the data confirm, and finds one number that was changed."""

import copy
from pathlib import Path

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.certificates import document
from fsmodels.certificates.verify import BRANCH, CLOSED, EMPTY, Entry
from fsmodels.models.fsp.oracle import SvmOracle

NONE = np.zeros(1)


def enumerated(data, C=1.0, most=2):
    """The certificate of a complete enumeration: a part for each support that the cardinality row allows."""
    oracle, n = SvmOracle(data.X, data.y, C), data.n_features
    tree, alphas, best = [], [], None

    def visit(sigma):
        nonlocal best
        if sum(sigma) > most:
            tree.append(Entry(EMPTY))
        elif len(sigma) < n and sum(sigma) < most:
            tree.append(Entry(BRANCH, columns=(len(sigma),)))
            visit([*sigma, 0.0])
            visit([*sigma, 1.0])
        else:
            point = np.array(sigma + [0.0] * (n - len(sigma)))
            answer = oracle.solve(point, 1e-9)
            best = (answer, point) if best is None or answer.value < best[0].value else best
            tree.append(Entry(CLOSED, len(alphas), NONE))
            alphas.append(answer.alpha)

    visit([])
    answer, sigma = best
    names = [name for name, one in zip(data.features, sigma, strict=True) if one]
    row = {"name": "cardinality", "coefficients": dict.fromkeys(data.features, 1.0), "lower": None, "upper": most}
    stated = {
        "model": "fsp-m",
        "problem": {"price": 0.0, "C": C, "loss": "hinge", "rows": [row]},
        "incumbent": {
            "selected": names,
            "weights": {k: answer.w[data.features.index(k)] for k in names},
            "bias": answer.b,
        },
        "objective": answer.value,
        "gap": 1e-4,
    }
    return document.write(data, stated, tree, alphas)


@pytest.fixture(scope="module")
def proof():
    data = fs.load_dataset("bupa").scaled("standard")
    return data, enumerated(data)


def changed(proof, change):
    content = copy.deepcopy(proof[1].content)
    change(content)
    return document.CertificateFile(content)


def test_a_true_certificate_holds_on_scaled_and_on_original_data(proof, tmp_path):
    data, certificate = proof
    certificate.save(tmp_path / "c.json")
    for given in (data, fs.load_dataset("bupa"), fs.load_dataset("bupa").scaled("minmax")):
        found = fs.verify(tmp_path / "c.json", given)
        assert found.holds, found.why
        assert found.objective == pytest.approx(275.8427364, rel=1e-8)
        assert found.gap < 1e-6


def test_every_entry_is_needed(proof):
    data, certificate = proof
    for k in range(len(certificate.content["tree"])):
        found = fs.verify(changed(proof, lambda c, k=k: c["tree"].pop(k)), data)
        assert not found.holds
        assert found.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.update(objective=0.999 * c["objective"]), "stated objective"),
        (lambda c: c.update(bound=1.01 * c["bound"]), "stated bound"),
        (lambda c: c["problem"].update(C=1.01), "is proven down to"),
        (lambda c: c["problem"]["rows"][0].update(upper=3), "is proven down to"),
        (lambda c: c["problem"]["rows"][0].update(upper=1), "violates row 1"),
        (lambda c: c["incumbent"].update(bias=c["incumbent"]["bias"] + 0.01), "stated objective"),
        (lambda c: c["incumbent"]["weights"].update(mcv=0.1), "does not select"),
        (lambda c: c["tree"].append([0]), "continues after"),
        (lambda c: next(e for e in c["tree"] if e[0] == 1).__setitem__(slice(None), [0]), "claimed to be empty"),
        (lambda c: [e.__setitem__(1, 0) for e in c["tree"] if e[0] == 1], "is proven down to"),
        (lambda c: [m[2].__setitem__(slice(None), [0.0] * len(m[2])) for m in c["multipliers"]], "is proven down to"),
    ],
)
def test_a_false_claim_is_found_even_with_its_checksum_made_anew(proof, change, why):
    found = fs.verify(changed(proof, change), proof[0])
    assert not found.holds
    assert why in found.why


def test_any_changed_digit_of_a_file_is_found(proof, tmp_path):
    file = tmp_path / "c.json"
    proof[1].save(file)
    text = file.read_text("utf-8")
    start = text.index('"multipliers"')
    places = [k for k, letter in enumerate(text) if letter in "123456789" and k > start][:400:20]
    for k in places:
        file.write_text(text[:k] + ("7" if text[k] != "7" else "3") + text[k + 1 :])
        try:
            found = fs.verify(file, proof[0]).holds
        except fs.DataError:  # a position that is nowhere
            found = False
        assert not found


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
        lambda c: c.pop("tree"),
        lambda c: c["tree"].__setitem__(0, [3, 10**6]),
        lambda c: c["tree"].__setitem__(0, [9]),
        lambda c: c["multipliers"][0][1].__setitem__(0, 10**300),
        lambda c: c["multipliers"][0][1].__setitem__(0, float("inf")),
        lambda c: c["tree"].__setitem__(-1, [1, -1, []]),
        lambda c: c["tree"].__setitem__(-1, [2, 0, [], [0]]),
        lambda c: c["problem"].update(loss="zero-one"),
        lambda c: c["problem"].update(curved=1),
    ):
        with pytest.raises(fs.DataError, match="certificate"):
            fs.verify(changed(proof, change), proof[0])


def test_the_check_imports_nothing_that_finds_proofs():
    import fsmodels.certificates.verify as check

    text = Path(check.__file__).read_text("utf-8")
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in imported if "fsmodels" in line or "solvers" in line or "scipy" in line]


def test_every_row_of_random_trees_is_right():
    """A tree that gives up and branches as it likes holds exactly when each part's bound, by enumeration, is enough."""
    rng = np.random.default_rng(1)
    data = fs.load_dataset("bupa").scaled("standard").select_features(["sgpt", "sgot", "gammagt", "drinks"])
    certificate = enumerated(data, most=2)
    assert fs.verify(certificate, data).holds
    for _ in range(60):
        content = copy.deepcopy(certificate.content)
        k = int(rng.integers(len(content["tree"])))
        kind = int(rng.integers(3))
        if kind == 0:
            content["tree"][k] = [1, int(rng.integers(len(content["multipliers"]))), [[0, float(rng.normal())]]]
        elif kind == 1:
            content["tree"][k] = [3, int(rng.integers(4))]
        else:
            content["tree"].insert(k, [2, 0, [], [int(rng.integers(1, 5)) * int(rng.choice([-1, 1]))]])
        found = fs.verify(document.CertificateFile(content), data)
        assert found.bound is None or found.bound <= 1.0001 * certificate.bound


def test_a_proof_without_a_row_is_checked():
    data = fs.load_dataset("bupa").scaled("standard").select_features(["sgpt", "sgot", "gammagt"])
    found = fs.select(data, "fsp-lambda", penalty=1.0)
    checked = fs.verify(found.certificate, data)
    assert checked.holds, checked.why
    assert checked.objective == pytest.approx(found.objective, rel=1e-6)
