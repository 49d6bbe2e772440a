"""Data in: what is read is what the file says, what is refused says why, and a scaling can be undone."""

import dataclasses
import gzip
import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import fsmodels as fs
from fsmodels.datasets import shipped
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.shipped import list_datasets, load_dataset
from fsmodels.datasets.tables import read_costs
from fsmodels.errors import DataError, DataWarning, Error, ParameterError
from fsmodels.text import SCALINGS, check_known_features
from refusals import refusal

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = {  # name: samples, features, positives
    "wdbc": (569, 30, 212),
    "wpbc": (194, 32, 46),
    "wpbc24": (155, 32, 28),
    "ionosphere": (351, 34, 225),
    "sonar": (208, 60, 111),
    "bupa": (345, 6, 145),
    "cleveland": (297, 13, 137),
    "german_numeric": (1000, 24, 300),
    "musk1": (476, 166, 207),
    "mfeat": (2000, 649, 200),
    "spambase": (4601, 57, 1813),
}


def csv(folder: Path, text: str | bytes, name: str = "data.csv", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Dataset.from_csv(path, **options)


def matrix(rows=(2, 12), columns=(1, 6)):
    """Data of any moderate size: scalings of 1e300 or 1e-300 overflow, and are refused as such."""
    shapes = st.tuples(st.integers(*rows), st.integers(*columns))
    values = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-6 else 0.0)
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


def quiet(X, y=None, **options) -> Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return Dataset.from_arrays(X, np.arange(X.shape[0]) % 2 if y is None else y, **options)


# --- shipped data ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_set_has_its_published_size(name):
    data = load_dataset(name)
    assert (data.n_samples, data.n_features, int((data.y > 0).sum())) == SHIPPED[name]
    assert (data.name, len(data), data.scale.method) == (name, data.n_samples, "none")
    assert (data.negative_label, data.positive_label) == (-1, 1)
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()


def test_the_list_says_what_the_files_hold():
    table = list_datasets()
    assert list(table.columns) == ["name", "samples", "features", "positives", "source", "licence"]
    assert {row.name: (row.samples, row.features, row.positives) for row in table.itertuples(index=False)} == SHIPPED
    assert table["licence"].str.contains("CC BY 4.0").all()
    assert (table["source"] != "").all()


def test_the_row_of_wpbc_says_that_rows_were_dropped():
    row = shipped.sources().set_index("name").loc["wpbc", "handling"]
    assert "4 of the source's 198 rows are dropped" in row


def test_the_page_of_sources_is_the_table_of_sources():
    spec = importlib.util.spec_from_file_location("package_data", ROOT / "scripts" / "package_data.py")
    if not (ROOT / "scripts" / "package_data.py").exists():
        pytest.skip("not a source tree")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rows = shipped.sources().astype(str).to_dict("records")
    page = (shipped.data_folder() / "SOURCES.md").read_text(encoding="utf-8")
    assert page == script.page(rows)


def test_the_values_of_wdbc_are_those_of_scikit_learn():
    from sklearn.datasets import load_breast_cancer

    data, bunch = load_dataset("wdbc"), load_breast_cancer()
    np.testing.assert_array_equal(data.X, bunch.data)
    np.testing.assert_array_equal(data.y, np.where(bunch.target == 0, 1, -1))  # there 0 is malignant


def test_a_constant_feature_of_ionosphere_is_a_warning_that_names_it():
    with pytest.warns(DataWarning, match=r'"V02" \(0 in every row\)'):
        load_dataset("ionosphere")


def test_an_unknown_name_gets_the_nearest_and_the_list():
    message = refusal(load_dataset, "wdcb")
    assert 'no data set "wdcb". Did you mean "wdbc"?' in message
    assert all(name in message for name in SHIPPED)
    assert "from_csv" in message


def test_bags_are_not_listed_and_their_name_leads_to_load_bags():
    message = refusal(load_dataset, "musk1_bags")
    assert 'fsmodels.instances.load_bags("musk1_bags")' in message
    assert "--bags bag_id" in message


def test_data_are_found_inside_an_installed_package_before_a_folder_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "fsmodels"
    beside = tmp_path / "site-packages" / "data"
    package.mkdir(parents=True)
    beside.mkdir()
    monkeypatch.setattr(shipped, "__file__", str(package / "datasets" / "shipped.py"))
    message = refusal(shipped.data_folder)
    assert str(package / "data") in message
    assert "pip install" in message
    (beside / "sources.csv").write_text("name,file\n")
    assert shipped.data_folder() == beside
    (package / "data").mkdir()
    (package / "data" / "sources.csv").write_text("name,file\n")
    assert shipped.data_folder() == package / "data"


# --- reading --------------------------------------------------------------------------------------------------------


@given(X=matrix(), labels=st.sampled_from([("no", "yes"), (-1, 1), (0, 2), (1.5, 10.0)]))
def test_what_is_written_is_what_is_read(X, labels, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "trip.csv"
    y = [labels[i % 2] for i in range(len(X))]
    pd.DataFrame(X).add_prefix("c").assign(target=y).to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = Dataset.from_csv(path)
    np.testing.assert_array_equal(data.X, X)
    assert (data.negative_label, data.positive_label) == labels
    assert data.y.tolist() == [-1.0 if i % 2 == 0 else 1.0 for i in range(len(X))]


def test_a_gzipped_file_reads_like_a_plain_one(tmp_path):
    text = "a,b,target\n1,0.1,0\n2,0.30000000000000004,1\n"
    plain = csv(tmp_path, text)
    packed = csv(tmp_path, gzip.compress(text.encode()), name="data.csv.gz")
    np.testing.assert_array_equal(plain.X, packed.X)
    assert plain.name == packed.name == "data"
    assert plain.X[1, 1] == 0.30000000000000004


def test_excel_marks_spaces_quotes_and_blank_lines_do_no_harm(tmp_path):
    data = csv(tmp_path, b'\xef\xbb\xbf"a, in mg" , b,target\r\n 1, 2 ,"yes, it is"\r\n\r\n 3,4.5, no \r\n')
    assert data.features == ("a, in mg", "b")
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert (data.negative_label, data.positive_label) == ("no", "yes, it is")


def test_true_and_false_are_one_and_zero(tmp_path):
    assert csv(tmp_path, "a,b,target\nTrue,1,0\nFalse,2,1\n").X[:, 0].tolist() == [1.0, 0.0]


def test_columns_can_be_left_out(tmp_path):
    text = "id,a,b,target\np1,1,2,0\np2,2,1,1\n"
    assert csv(tmp_path, text, drop="id").features == ("a", "b")
    assert csv(tmp_path, text, drop=["id", "b"]).features == ("a",)


def test_a_frame_an_array_and_a_sparse_matrix_give_the_same(tmp_path):
    X, y = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 3.0]]), ["b", "a", "b"]
    frame = pd.DataFrame(X, columns=["u", "v"], index=[7, 7, 9]).assign(kind=pd.Categorical(y, categories=["b", "a"]))
    dense = Dataset.from_arrays(X, y, features=["u", "v"])
    for data in (
        Dataset.from_frame(frame, target="kind"),
        Dataset.from_arrays(frame[["u", "v"]], frame["kind"]),
        Dataset.from_arrays(sparse.coo_matrix(X), y, features=["u", "v"]),
        Dataset.from_frame(
            pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=["u", "v"]).assign(kind=y), "kind"
        ),
    ):
        np.testing.assert_array_equal(data.to_dense().X, X)
        np.testing.assert_array_equal(data.y, dense.y)
        assert data.features == dense.features
    assert data.is_sparse
    assert data.X.format == "csr"


def test_data_do_not_change_behind_the_users_back():
    X = np.array([[1.0], [2.0]])
    data = Dataset.from_arrays(X, [0, 1])
    X[0, 0] = 9.0
    assert data.X[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


# --- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "negative", "positive"),
    [
        (["9", "10"], 9, 10),  # numbers sort as numbers
        (["a9", "a10"], "a10", "a9"),  # text sorts as text
        ([2.5, -1.0], -1, 2.5),
        ([True, False], False, True),
        (["M", "B"], "B", "M"),
        (["1", "?"], "1", "?"),
    ],
)
def test_the_larger_of_two_labels_is_positive(labels, negative, positive):
    data = Dataset.from_arrays([[1.0], [2.0]], labels)
    assert (data.negative_label, data.positive_label) == (negative, positive)
    assert data.y.tolist() == [1.0 if label in (positive, str(positive)) else -1.0 for label in labels]


@pytest.mark.parametrize("positive", ["1", "1.0", 1, 1.0, " 1 ", np.int64(1)])
def test_a_numeric_label_may_be_named_by_text(positive):
    data = Dataset.from_arrays([[1.0], [2.0], [4.0]], [1, 2, 1], positive=positive)
    assert data.y.tolist() == [1.0, -1.0, 1.0]
    assert (data.negative_label, data.positive_label) == (2, 1)


@pytest.mark.parametrize("positive", [True, "True", "true", "1", 1])
def test_a_boolean_label_may_be_named_by_text(positive):
    assert Dataset.from_arrays([[1.0], [2.0]], [False, True], positive=positive).y.tolist() == [-1.0, 1.0]


def test_one_label_against_the_rest():
    data = Dataset.from_arrays([[1.0], [2.0], [4.0]], ["cat", "dog", "fox"], positive="dog")
    assert data.y.tolist() == [-1.0, 1.0, -1.0]
    assert (data.negative_label, data.positive_label) == (("cat", "fox"), "dog")
    assert "-1: 2 (labels cat, fox)" in repr(data)


# --- refusals: the value, and what to do next -----------------------------------------------------------------------

CASES = {
    "no column of labels": (
        "a,b,ill\n1,5,no\n2,6,yes\n3,7,no\n",
        {},
        ["Columns with two values: ill (no / yes)", "--target ill"],
    ),
    "no column": ("a,taget\n1,0\n", {}, ['no column "target"', 'Did you mean "taget"?', "a, taget", "--target"]),
    "named target": ("a,b\n1,0\n", {"target": "z"}, ['no column "z"', "a, b", "--target"]),
    "text cell": ("price,target\n1,0\nn/a,1\n", {}, ['"price" has text in row 2, line 3 ("n/a")', "--drop price"]),
    "text column": (
        "city,c d,e,target\nIzmir,x,1,0\nBursa,y,2,1\n",
        {},
        [
            '"city"',
            "row 1, line 2",
            '"Izmir", 2 such cells',
            '--drop city --drop "c d"',
            'drop=["city", "c d"]',
            'So has "c d"',
        ],
    ),
    "underscore": ("a,target\n1_0,0\n2,1\n", {}, ['("1_0")']),
    "blank": (
        "a,b,target\n1,2,0\n\n3,,1\n,,0\n",
        {},
        ['"b" has no value', "row 2, line 4", "3 such cells in 2 rows", "--drop b"],
    ),
    "nan": ("a,target\nnan,0\n2,1\n", {}, ['"a" has no value', "row 1, line 2", "remove the row"]),
    "inf": ("a,target\n1,0\n-inf,1\n", {}, ["infinite value (-inf)", "row 2, line 3", "finite"]),
    "line in quotes": ('a,target\n1,"x\ny"\nz,u\n', {}, ["row 2, line 4"]),
    "no label": ("a,target\n1,0\n2,\n3,\n", {}, ['"target" has no label in row 2, line 3 (2 such rows)', "fill in"]),
    "one class": ("a,target\n1,7\n2,7\n", {}, ["the label 7 in all 2 rows", "two classes"]),
    "three classes": ("a,target\n1,u\n2,v\n3,w\n", {}, ["3 labels (u, v, w)", "--positive", "positive="]),
    "a measurement": ("a,target\n" + "".join(f"1,{i}\n" for i in range(30)), {}, ["30 labels", "--target"]),
    "positive": (
        "a,target\n1,ill\n2,well\n",
        {"positive": "il"},
        ['positive="il"', 'Did you mean "ill"?', "ill, well"],
    ),
    "duplicate": ("a,b,a,target\n1,2,3,0\n", {}, ['2 columns named "a" (columns 1, 3)', "line 1"]),
    "no name": (",a,target\n1,1,0\n", {}, ["Column 1", "no name", "index=False"]),
    "empty": ("", {}, ["empty", "header"]),
    "blank lines": ("\n\n", {}, ["empty"]),
    "header only": ("a,target\n", {}, ["a header and no rows", "one row per sample"]),
    "no features": ("target\n0\n1\n", {}, ["no features", '"target"']),
    "nothing left": ("a,target\n0,1\n1,0\n", {"drop": "a"}, ["no features"]),
    "drop unknown": ("ages,target\n0,1\n1,0\n", {"drop": "age"}, ['"age" to drop', 'Did you mean "ages"?']),
    "drop target": ("a,target\n0,1\n1,0\n", {"drop": "target"}, ["contains the labels", "--target"]),
    "long row": ("a,target\n1,0\n1,2,3\n", {}, ["Row 2 (line 3)", "3 cells", "header has 2", "extra"]),
    "all rows long": ("a,target\n1,0,\n1,2,\n", {}, ["Row 1 (line 2)", "3 cells"]),
    "short row": ("a,b,target\n1,0\n1,2,3\n", {}, ["Row 1 (line 2)", "2 cells", "add"]),
    "a title": ("Report\na,b,target\n1,2,0\n2,1,1\n", {}, ["Row 1 (line 2)", "delete the lines above"]),
    "two encodings": ("é,".encode() + "é,target\n1,2,0\n".encode("latin-1"), {}, ["UTF-8"]),
}


@pytest.mark.parametrize(("text", "options", "words"), CASES.values(), ids=CASES)
def test_a_file_is_refused_with_the_place_and_the_remedy(tmp_path, text, options, words):
    message = refusal(csv, tmp_path, text, **options)
    for word in words:
        assert word in message


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "patients.csv").write_text("a,target\n1,0\n")
    message = refusal(Dataset.from_csv, tmp_path / "patient.csv")
    assert "patient.csv" in message
    assert 'Did you mean "patients.csv"?' in message
    assert "folder" in refusal(Dataset.from_csv, tmp_path)
    cut = gzip.compress(b"a,target\n1,0\n")[:-9]
    assert "check that it is complete" in refusal(csv, tmp_path, cut, name="cut.csv.gz")
    assert isinstance(DataError("x"), Error)
    assert isinstance(DataError("x"), ValueError)


def test_frames_and_arrays_are_refused_with_the_place_and_the_remedy():
    arrays_, frame = Dataset.from_arrays, Dataset.from_frame
    assert "(3,) for 2 rows" in refusal(arrays_, [[1, 2], [3, 4]], [1, 2, 3])
    assert "1 names for 2 columns" in refusal(arrays_, [[1, 2], [3, 4]], [1, 2], features=["a"])
    assert "have the same name: a" in refusal(arrays_, [[1, 2], [3, 4]], [1, 2], features=["a", "a"])
    assert "reshape(-1, 1)" in refusal(arrays_, [1, 2], [1, 2])
    assert "same number of values" in refusal(arrays_, [[1, 2], [3]], [1, 2])
    assert "no rows" in refusal(arrays_, np.zeros((0, 2)), [])
    assert "no features" in refusal(arrays_, np.zeros((2, 0)), [0, 1])
    message = refusal(arrays_, [[1, 2], [3, np.nan]], [1, 2])
    assert '"x2" has no value' in message
    assert "row 2" in message
    assert "--drop" not in message
    message = refusal(arrays_, sparse.csr_array([[0.0, 0.0], [0.0, np.inf], [np.nan, 0.0]]), [1, 2, 2])
    assert '"x2" has an infinite value (inf) in row 2; 2 such cells in 2 rows' in message
    table = pd.DataFrame({"a": [1, 2], "day": pd.to_datetime(["2020-01-01", "2020-01-02"]), "target": [1, 0]})
    assert 'drop=["day"]' in refusal(frame, table)
    assert '"a" has no value' in refusal(
        frame, pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "target": [1, 0]})
    )
    assert "have the same name: 1" in refusal(frame, pd.DataFrame([[1, 2, 0]], columns=[1, "1", "target"]))
    assert "got list" in refusal(frame, [[1, 2]])
    assert "y holds" in refusal(Dataset, np.zeros((2, 1)), np.array([0.0, 1.0]), ("a",))
    assert "feature names" in refusal(Dataset, np.zeros((2, 1)), np.array([-1.0, 1.0]), ("a", "b"))


def test_constant_and_equal_columns_are_one_warning_that_names_them():
    X = np.array([[1.0, 5.0, 1.0, 0.0], [2.0, 5.0, 2.0, 0.0], [3.0, 5.0, 3.0, -0.0]])
    for form in (X, sparse.csr_array(X)):
        with pytest.warns(DataWarning) as caught:
            Dataset.from_arrays(form, [0, 1, 1], features=["a", "b", "c", "d"])
        assert len(caught) == 1
        assert '"b" (5 in every row), "d" (0 in every row)' in str(caught[0].message)
        assert '"a" = "c"' in str(caught[0].message)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Dataset.from_arrays(X[:, :1], [0, 1, 1]).scaled("standard").take([0, 1])


# --- scaling --------------------------------------------------------------------------------------------------------


@given(X=matrix(), method=st.sampled_from(SCALINGS), later=st.sampled_from(SCALINGS), seed=st.integers(0, 99))
def test_original_weights_give_the_same_decision_values(X, method, later, seed):
    data = quiet(X)
    scaled = data.scaled(method).scaled(later)
    w, b = np.random.default_rng(seed).normal(size=data.n_features), 0.5
    w_original, b_original = scaled.original_weights(w, b)
    size = np.abs(X * w_original).max(initial=1.0) + np.abs(scaled.scale.shift * w_original).max(initial=1.0)
    np.testing.assert_allclose(X @ w_original + b_original, scaled.X @ w + b, rtol=1e-9, atol=1e-9 * size)


@given(X=matrix(), method=st.sampled_from(SCALINGS), earlier=st.sampled_from(SCALINGS))
def test_constants_scale_other_data_as_they_scaled_their_own(X, method, earlier):
    data = quiet(X)
    scaled = data.scaled(earlier).scaled(method)
    again = scaled.apply_scale_to(data)
    size = (np.abs(scaled.scale.shift * scaled.scale.factor) + 1.0).max()
    np.testing.assert_allclose(again.X, scaled.X, rtol=1e-9, atol=1e-9 * size)
    np.testing.assert_array_equal(scaled.apply_scale_to(scaled).X, scaled.X)
    assert again.scale is scaled.scale
    back = data.apply_scale_to(scaled)
    np.testing.assert_allclose(back.X, X, rtol=1e-9, atol=1e-9 * (np.abs(X).max() + 1.0))


def test_each_scaling_does_what_it_says():
    data = load_dataset("wdbc")
    standard, minmax, ball = (data.scaled(method).X for method in ("standard", "minmax", "unit-ball"))
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), 1.0)
    np.testing.assert_allclose([minmax.min(axis=0), minmax.max(axis=0)], [[0.0] * 30, [1.0] * 30], atol=1e-12)
    assert np.linalg.norm(ball, axis=1).max() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(ball, data.X * (ball[0, 0] / data.X[0, 0]))  # one constant for all values
    np.testing.assert_array_equal(data.scaled("none").X, data.X)


@given(
    value=st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-100),
    method=st.sampled_from(SCALINGS),
)
def test_a_constant_column_does_not_become_nan(value, method):
    data = quiet(np.full((4, 2), value)).scaled(method)
    assert np.isfinite(data.X).all()
    assert (data.scale.factor != 0).all()


def test_sparse_data_stay_sparse_or_are_refused():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((20, 5)) * (rng.random((20, 5)) < 0.3))
    data = quiet(X)
    ball = data.scaled("unit-ball")
    assert ball.is_sparse
    np.testing.assert_allclose(ball.X.toarray(), quiet(X.toarray()).scaled("unit-ball").X)
    for method in ("standard", "minmax"):
        message = refusal(data.scaled, method)
        assert f'"{method}"' in message
        assert "none or unit-ball" in message
        assert "to_dense()" in message
    assert "shifts zeros" in refusal(data.to_dense().scaled("standard").apply_scale_to, data)
    assert "needs dense data" in refusal(data.require_dense, "gmeb")
    assert "to_dense()" in refusal(data.require_dense, "gmeb")
    assert data.to_dense().require_dense("gmeb").X.shape == (20, 5)
    for part in (*data.split(), data.select_features(["x2", "x1"]), data.take([0, 3])):
        assert part.is_sparse


def test_scalings_that_cannot_be_are_refused():
    data = Dataset.from_arrays([[1.0], [1e300]], [0, 1])
    message = refusal(data.scaled, "standart", error=ParameterError)
    assert "'standart'" in message
    assert "none, standard, unit-ball, minmax" in message
    assert '"x1"' in refusal(Dataset.from_arrays([[-1e308], [1.7e308]], [0, 1]).scaled, "minmax")
    assert "0: scale the training part" in refusal(data.take([]).scaled, "standard")
    assert "lack features (x2)" in refusal(quiet(np.eye(2)).apply_scale_to, data)
    assert "shape (2,)" in refusal(data.original_weights, [1.0, 2.0], 0.0)
    assert '"x9"' in refusal(data.original_weights, {"x9": 1.0}, 0.0)


def test_weights_and_scaling_go_by_name():
    data = load_dataset("bupa").scaled("standard")
    few = data.select_features(["drinks", "mcv"])
    assert few.features == ("drinks", "mcv")
    w, b = data.original_weights({"mcv": 2.0, "drinks": -1.0}, 0.25)
    w_few, b_few = few.original_weights([-1.0, 2.0], 0.25)
    np.testing.assert_allclose(w[[5, 0]], w_few)
    assert b == pytest.approx(b_few)
    other = load_dataset("bupa").select_features(list(reversed(data.features)))
    np.testing.assert_allclose(data.apply_scale_to(other).X, data.X, atol=1e-12)
    constants = few.scale.as_dict(few.features)
    assert constants["method"] == "standard"
    assert constants["shift"]["mcv"] == pytest.approx(load_dataset("bupa").X[:, 0].mean())
    assert set(constants["factor"]) == {"drinks", "mcv"}


# --- parts ----------------------------------------------------------------------------------------------------------


@given(positives=st.integers(10, 60), negatives=st.integers(10, 60), seed=st.integers(0, 99))
def test_a_split_is_a_partition_with_the_classes_in_proportion(positives, negatives, seed):
    y = np.repeat([1, -1], [positives, negatives])
    data = Dataset.from_arrays(np.arange(len(y), dtype=float)[:, None], y)
    parts = data.split(0.6, 0.2, 0.2, seed=seed)
    assert sorted(np.concatenate([part.X[:, 0] for part in parts])) == list(range(len(y)))
    for part, fraction in zip(parts, (0.6, 0.2, 0.2), strict=True):
        assert abs(len(part) - fraction * len(y)) <= 1
        assert abs((part.y > 0).sum() - fraction * positives) <= 1.5
        np.testing.assert_array_equal(part.y, y[part.X[:, 0].astype(int)])
    for one, other in zip(parts, data.split(0.6, 0.2, 0.2, seed=seed), strict=True):
        np.testing.assert_array_equal(one.X, other.X)


def test_parts_may_be_left_out():
    data = load_dataset("sonar")
    train, validation, test = data.split(train=0.7, validation=0, test=0.3)
    assert (len(train), len(validation), len(test)) == (146, 0, 62)
    assert validation.features == data.features
    assert (train.name, test.name) == ("sonar/train", "sonar/test")
    assert [len(part) for part in data.split(1, 0, 0)] == [208, 0, 0]
    assert not np.array_equal(data.split(seed=1).train.X, data.split(seed=2).train.X)
    assert train.scaled("standard").apply_scale_to(validation).X.shape == (0, 60)


def test_folds_hold_out_every_row_once():
    data = load_dataset("sonar")
    folds = data.folds(4, seed=3)
    assert sum(len(fold.held_out) for fold in folds) == len(data)
    for train, held_out in folds:
        assert len(train) + len(held_out) == len(data)
        assert abs((held_out.y > 0).mean() - (data.y > 0).mean()) < 0.02


def test_parts_that_cannot_be_are_refused():
    data = load_dataset("sonar")
    message = refusal(data.split, 0.5, 0.2, 0.2, error=ParameterError)
    assert "add up to 0.9" in message
    assert "train=0" in refusal(data.split, 0, 0.5, 0.5, error=ParameterError)
    message = refusal(data.folds, 200, error=ParameterError)
    assert "k=200" in message
    assert "2..97" in message
    tiny = Dataset.from_arrays([[1.0], [2.0], [3.0]], [0, 0, 1])
    assert "smaller class has 1 of 3" in refusal(tiny.split)
    assert "one class has 1" in refusal(tiny.folds, 2, error=ParameterError)
    assert "no row 3: rows are numbered 0..2" in refusal(tiny.take, [3])
    assert "3 booleans" in refusal(tiny.take, [True, False])
    assert "whole numbers" in refusal(tiny.take, [0.5])
    message = refusal(data.select_features, ["band01", "bend02"])
    assert 'Did you mean "band02"?' in message
    assert "each once" in refusal(data.select_features, ["band01", "band01"])
    assert "no name" in refusal(data.select_features, [])


def test_rows_by_position_or_mask():
    data = Dataset.from_arrays([[1.0], [2.0], [3.0]], [0, 0, 1])
    assert data.take([2, 0, -1]).X[:, 0].tolist() == [3.0, 1.0, 3.0]
    assert data.take(data.y > 0, name="ill").X.tolist() == [[3.0]]
    assert data.take(range(2)).y.tolist() == [-1.0, -1.0]


# --- shown ----------------------------------------------------------------------------------------------------------


def test_a_dataset_says_what_it_is():
    data = Dataset.from_arrays([[1.0], [2.0], [3.0]], ["<no>", "yes", "yes"], features=["target"], name="trial")
    assert repr(data) == ("Dataset('trial', 3 samples x 1 features, +1: 2 (label yes), -1: 1 (label <no>), scale none)")
    page = data.scaled("minmax")._repr_html_()
    assert "&lt;no&gt;" in page
    assert "<table" in page
    assert list(data.to_frame().columns) == ["target", "target (-1/+1)"]


# --- costs ----------------------------------------------------------------------------------------------------------


def test_costs_are_read_by_feature(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("feature,cost\nage,0\nscan, 250.5\n")
    assert read_costs(path) == {"age": 0.0, "scan": 250.5}
    check_known_features(["age"], ["age", "scan"], "costs.csv")
    message = refusal(check_known_features, read_costs(path), ["age", "scans"], "costs.csv")
    assert 'costs.csv: "scan" is not a feature' in message
    assert 'Did you mean "scans"?' in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,cost\na,1\n", ['"name,cost"', '"feature,cost"']),
        ("feature,cost\na,cheap\n", ['"cheap"', '"a"', "row 1, line 2", "finite number"]),
        ("feature,cost\na,\n", ['""', '"a"']),
        ("feature,cost\na,nan\n", ['"nan"']),
        ("feature,cost\na,-1\n", ['"-1"', "at least 0"]),
        ("feature,cost\na,1\na,2\n", ['second cost for "a"', "row 2, line 3"]),
        ("feature,cost\n,1\n", ["no feature name", "row 1, line 2"]),
        ("feature,cost\n", ["no rows"]),
    ],
)
def test_bad_costs_are_refused(tmp_path, text, words):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    message = refusal(read_costs, path)
    for word in words:
        assert word in message
    assert "no file" in refusal(read_costs, tmp_path / "none.csv")


def test_the_row_index_of_a_dataframe_is_left_out(tmp_path):
    file = tmp_path / "indexed.csv"
    pd.DataFrame({"a": [1.0, 2.0, 4.0], "target": [0, 1, 0]}).to_csv(file)
    with pytest.warns(fs.DataWarning, match="has no name and counts the rows"):
        data = fs.Dataset.from_csv(file)
    assert data.features == ("a",)


def test_one_message_proposes_the_target_and_treats_every_column(tmp_path):
    file = tmp_path / "churn.csv"
    rows = [
        f"C{k},2024-01-{k % 28 + 1:02},{'ab'[k % 2]},{k % 7},{'' if k == 3 else k},{['no', 'yes'][k % 3 % 2]}"
        for k in range(60)
    ]
    file.write_text("id,day,kind,x,y,churn\n" + "\n".join(rows))
    with pytest.raises(fs.DataError) as refused:
        fs.Dataset.from_csv(file)
    python = re.search(r"for the first give [^(]*\(Python: (.*?)\)\.", str(refused.value))[1]
    data = eval(f"fs.Dataset.from_csv(file, {python})", {"fs": fs, "file": file})
    assert data.features == ("kind=b", "x", "y")
    assert data.positive_label == "yes"


def test_blanks_that_are_imputed_need_no_other_option(tmp_path):
    file = tmp_path / "blanks.csv"
    file.write_text("id,x,target\nA1,,0\nB2,3,1\nC3,4,0\n")
    with pytest.raises(fs.DataError, match="--drop id") as refused:
        fs.Dataset.from_csv(file, impute="mean")
    assert "--impute" not in str(refused.value)
