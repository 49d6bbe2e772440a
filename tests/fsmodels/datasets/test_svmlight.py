"""libsvm-format files: what scikit-learn reads is what the data hold, and what is refused names its line."""

import gzip
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import fsmodels as fs
from fsmodels import cli
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import uninformative
from fsmodels.errors import DataError, DataWarning, ParameterError
from refusals import refusal

GOOD = "+1 1:2 3:0.5\n-1 2:1\n"


def wrote(folder, text, name="data.svm"):
    path = folder / name
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def read(folder, text, name="data.svm", **options):
    return Dataset.from_svmlight(wrote(folder, text, name), **options)


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A folder with a sparse set of 80 x 30 as words.svm.gz, and the same as words.csv."""
    monkeypatch.chdir(tmp_path)
    X = sparse.random(80, 30, density=0.25, random_state=2, format="csr")
    y = np.where(X @ np.random.default_rng(1).normal(size=30) > 0, 1, -1)
    with gzip.open("words.svm.gz", "wb") as stream:
        dump_svmlight_file(X, y, stream, zero_based=False)
    Dataset.from_svmlight("words.svm.gz").to_frame().to_csv("words.csv", index=False)
    return tmp_path


def select(capsys, *arguments):
    code = cli.main(["select", *arguments, "--quiet"])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("name", ["data.svm", "data.svm.gz", "data.svmlight", "data.libsvm", "data.libsvm.gz", "data"])
def test_a_file_is_read_sparse_with_its_numbering_as_names(name, tmp_path):
    data = read(tmp_path, GOOD, name)
    assert data.is_sparse
    assert data.X.toarray().tolist() == [[2, 0, 0.5], [0, 1, 0]]
    assert (data.X.dtype, data.X.indices.dtype, data.X.indptr.dtype) == (np.float64, np.int32, np.int32)
    assert data.y.tolist() == [1, -1]
    assert (data.features, data.name) == (("x1", "x2", "x3"), "data")
    assert (data.positive_label, data.negative_label) == (1, -1)


def test_index_0_anywhere_means_that_the_file_counts_from_0(tmp_path):
    data = read(tmp_path, "1 1:2\n0 0:3 2:1\n")
    assert data.features == ("x0", "x1", "x2")
    assert data.X.toarray().tolist() == [[0, 2, 0], [3, 0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "# header\n\n  +1 1:2 # 9:9\n\t\n-1\t2:1#\n",
        "+1 qid:7 1:2\n-1 qid:3 2:1\n",
        "+1 1:2\r\n-1 2:1\r\n",
        "\ufeff+1 1:2\n-1 2:1",
        "+1 1:2 2:0\n-1 2:1\n",
        "+1e0 1:.2e1\n-1.0 2:1\n",
    ],
    ids=["comments", "qid", "windows", "byte-order mark", "explicit zero", "floats"],
)
def test_what_is_no_entry_changes_nothing(text, tmp_path):
    data = read(tmp_path, text)
    assert data.X.toarray().tolist() == [[2, 0], [0, 1]]
    assert data.X.nnz == 2
    assert data.y.tolist() == [1, -1]


@settings(max_examples=40)
@given(
    rows=st.lists(st.dictionaries(st.integers(0, 12), st.floats(-1e9, 1e9)), min_size=2, max_size=8),
    first=st.sampled_from([0, 1, 5]),
)
def test_the_matrix_is_that_of_scikit_learn(rows, first, tmp_path_factory):
    rows[0][0] = 1.5
    lines = [" ".join(f"{j + first}:{row[j]!r}" for j in sorted(row)) for row in rows]
    text = "".join(f"{k % 2} {line}\n" for k, line in enumerate(lines))
    path = wrote(tmp_path_factory.mktemp("svm"), text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = Dataset.from_svmlight(path)
    X, y = load_svmlight_file(str(path))
    assert data.X.shape == X.shape
    assert np.array_equal(data.X.toarray(), X.toarray())
    assert np.array_equal(data.y, 2 * y - 1)
    assert data.features[0] == f"x{min(first, 1)}"


@pytest.mark.parametrize(
    ("labels", "positive", "y"),
    [
        ("2 1", None, [1, -1]),
        ("0 1", None, [-1, 1]),
        ("10 9", None, [1, -1]),
        ("0.5 -0.5", None, [1, -1]),
        ("-1 1", -1, [1, -1]),
        ("-1 1", "-1", [1, -1]),
        ("1 2 3", "2.0", [-1, 1, -1]),
        ("1 2 3", 3, [-1, -1, 1]),
    ],
)
def test_labels_are_mapped_as_those_of_a_csv_file(labels, positive, y, tmp_path):
    words = labels.split()
    text = "".join(f"{label} {k + 1}:1\n" for k, label in enumerate(words))
    csv = wrote(tmp_path, "x1,target\n" + "".join(f"{k},{label}\n" for k, label in enumerate(words)), "data.csv")
    data, other = read(tmp_path, text, positive=positive), Dataset.from_csv(csv, positive=positive)
    assert data.y.tolist() == other.y.tolist() == y
    assert data.positive_label == other.positive_label
    assert data.negative_label == other.negative_label


def test_n_features_and_features_say_how_many_columns_there_are(tmp_path):
    with pytest.warns(DataWarning, match=r'"x4" \(0 in every row\), "x5" \(0 in every row\)\. '):
        data = read(tmp_path, GOOD, n_features=5)
    assert data.features == ("x1", "x2", "x3", "x4", "x5")
    assert data.X.shape == (2, 5)
    assert read(tmp_path, GOOD, features=["a", "b", "c"]).features == ("a", "b", "c")
    assert read(tmp_path, GOOD, features=["a", "b", "c"], n_features=3).features == ("a", "b", "c")
    with pytest.warns(DataWarning, match="Constant"):
        assert read(tmp_path, "1\n-1\n", n_features=np.int64(2)).X.nnz == 0


def test_training_and_test_files_meet_by_the_numbers_of_their_features(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        train = read(tmp_path, "1 0:1 1:2 2:5\n-1 1:1 2:4\n")
        test = read(tmp_path, "1 1:3\n-1 2:7\n", "test.svm")  # index 0 does not occur: taken to count from 1
    assert test.features == ("x1", "x2")
    with pytest.raises(DataError, match=r"lack features \(x0\)"):
        train.apply_scale_to(test)
    assert train.select_features(["x1", "x2"]).apply_scale_to(test).X.toarray().tolist() == [[3, 0], [0, 7]]


def test_a_remark_names_a_few_columns_and_counts_them(tmp_path):
    with pytest.warns(DataWarning) as caught:
        read(tmp_path, "1 1:2 2:2 3:1 40:1\n-1 3:1 4:5\n")
    message = str(caught[0].message)
    assert '"x3" (1 in every row), "x5" (0 in every row)' in message
    assert "... (36 in all)" in message
    assert 'Equal columns, of which one is enough: "x1" = "x2".' in message


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, -1.0, 2.0]), min_size=3, max_size=3), min_size=1, max_size=12))
def test_sparse_data_have_the_remarks_of_dense_data(columns):
    X = np.array(columns).T
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = sparse.csr_array(X)
    assert uninformative(rows, names) == uninformative(X, names)


@pytest.mark.parametrize(
    "line",
    [
        "1 1:2 1:3", "1 3:2 1:3", "1 1:abc", "1 1:", "1 1:2:3", "1 a:2", "1 1.5:2", "1 -1:2", "1 99999999999:2",
        "1 99999999999999999999:2", "1 7", "1 1:2 qid:3", "ill 1:2", "1,2 1:2", "1:2 2:3", "1 1:" + 600 * "z",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["data.svm", "data.svm.gz"])
def test_a_malformed_line_is_named_and_shown(name, line, tmp_path):
    message = refusal(read, tmp_path, f"# first\n+1 1:2 # 2:2\n\n{line} 9999:1\n-1 x\n", name=name)
    assert message.startswith(f'Line 4 of file "{tmp_path / name}" is malformed ("{line[:30]}')
    assert "LABEL INDEX:VALUE INDEX:VALUE ..." in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "\n+1 1:nan\n-1 2:1\n",
            'Column "x1" has no value (blank or NaN) in row 1: fill in finite numbers, remove the row',
        ),
        (
            "+1 1:1\n#\n-1 2:-inf 5:1e400\n",
            'Column "x2" has an infinite value (-inf) in row 2; 2 such cells in 1 row in all',
        ),
        (
            "+1 0:1\n-1 4:inf\n+1 4:nan\n",
            'Column "x4" has an infinite value (inf) in row 2; 2 such cells in 2 rows in all',
        ),
        ("+1 1:1\n\nnan 1:1\n-1 2:1\n", "The label of sample 2 of file * is nan: give a finite number"),
        ("inf 1:1\ninf 1:2\n1 1:1", "The label of sample 1 of file * is inf: give"),
        ("+1 1:1\n+1 2:1\n", "has the label 1 in all 2 rows, and a classifier needs samples of two classes"),
        ("1 1:1\n2 1:2\n3 1:3\n", "has 3 labels (1, 2, 3): name the one that becomes +1 with --positive"),
        ("".join(f"{k}.5 1:{k}\n" for k in range(30)), "has 30 labels ( * (30 in all)): name the one that becomes +1"),
        ("", "has no samples: each line is LABEL"),
        ("# nothing\n\n", "has no samples: each line is LABEL"),
        ("1\n-1\n", "has labels and no INDEX:VALUE entry, so no features: add entries, or * n_features"),
        ("1 2147483600:1\n-1 1:1\n", "has index 2147483600 and so 2147483600 features, above the 50000000 * renumber"),
        ("a,b,target\n1,2,1\n", "Line 1 * use Dataset.from_csv, and a name that ends in"),
        (b"BZh91AY&SY\n", "Line 1 * is malformed"),
        ("+1 1:1\r-1 2:1\r", "Line 1 * is malformed"),
    ],
)
def test_what_keeps_a_file_from_being_data_is_said(text, what, tmp_path):
    message = refusal(read, tmp_path, text)
    for part in what.split(" * "):
        assert part in message


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    for wrong in (0, -1, 2.5, "3", True, 10**9):
        message = refusal(read, tmp_path, GOOD, error=ParameterError, n_features=wrong)
        assert message.startswith(
            f"n_features={wrong!r} is not allowed: it is the number of columns. Give a whole number in 1..50000000"
        )
    text = "# one\n" + GOOD
    message = refusal(read, tmp_path, text, n_features=2)
    assert message.startswith("Sample 1 of file")
    assert message.endswith("has index 3, and n_features=2 allows 1..2: give 3 or more, or leave it out.")
    message = refusal(read, tmp_path, text + "1 0:1 5:1\n", features=["a", "b"])
    assert message.startswith("Sample 3 of file")
    assert message.endswith("has index 5, and features, with 2 names, allows 0..1: give 6 or more, or leave it out.")
    assert "2 names for n_features=3" in refusal(read, tmp_path, GOOD, features=["a", "b"], n_features=3)
    assert "have the same name" in refusal(read, tmp_path, GOOD, features=["a", "b", "a"])
    assert "0 names" in refusal(read, tmp_path, GOOD, features=[])
    message = refusal(read, tmp_path, GOOD, positive=7)
    assert 'positive="7" is not a label' in message
    assert "Its labels are -1, 1" in message


def test_a_file_that_cannot_be_opened_is_refused(tmp_path):
    wrote(tmp_path, GOOD, "train.svm.gz")
    with pytest.raises(
        DataError, match=r'no file ".*trian\.svm\.gz"\. Did you mean "train\.svm\.gz"\? libsvm-format files'
    ):
        Dataset.from_svmlight(tmp_path / "trian.svm.gz")
    with pytest.raises(DataError, match=r"There is no file .* Check the path\."):
        Dataset.from_svmlight(tmp_path / "none" / "a.svm")
    with pytest.raises(DataError, match="is a folder: give the path of a libsvm-format file"):
        Dataset.from_svmlight(tmp_path)
    (tmp_path / "packed.svm").write_bytes(gzip.compress(GOOD.encode()))
    assert Dataset.from_svmlight(tmp_path / "packed.svm").n_samples == 2
    whole = gzip.compress("".join(f"{k % 2} 1:{k} {k + 2}:{k * k}\n" for k in range(500)).encode())
    (tmp_path / "half.svm.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cannot be read .*complete"):
        Dataset.from_svmlight(tmp_path / "half.svm.gz")


def test_such_a_file_under_another_name_is_recognised(tmp_path):
    with pytest.raises(DataError, match=r"seems to be a libsvm-format file .*from_svmlight.*\.svm\.gz"):
        Dataset.from_csv(wrote(tmp_path, GOOD, "a9a"))


def test_importing_the_package_does_not_import_the_reader():
    code = "import sys, fsmodels; print('sklearn.datasets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("scale", ["none", "unit-ball"])
@pytest.mark.parametrize("model", ["svm", "one-norm-svm", "fsp-m --max-features 3", "fsp-lambda --penalty 0.3"])
def test_select_takes_a_file_by_its_extension(model, scale, words, capsys):
    found = {}
    for name in ("words.svm.gz", "words.csv"):
        options = ["--scale", scale, "--model", *model.split(), "--json", "out.json"]
        assert select(capsys, name, *options) == (0, "")
        found[name] = json.loads((words / "out.json").read_text("utf-8"))
    ours, theirs = found.values()
    assert ours["status"] == theirs["status"] == "optimal"
    assert ours["objective"] == pytest.approx(theirs["objective"], rel=1e-6)
    assert ours["selected"] == theirs["selected"]
    assert ours["data"]["path"] == "words.svm.gz"
    assert (ours["data"]["target"], ours["data"]["dropped"]) == (None, [])


def test_fsp_as_its_relaxed_master_takes_sparse_data(words):
    sparse_data, dense = Dataset.from_svmlight("words.svm.gz"), Dataset.from_csv("words.csv")
    ours, theirs = (fs.select(data, "fsp-m", max_features=3, form="rmp", scale="none") for data in (sparse_data, dense))
    assert ours.data.is_sparse
    assert ours.selected == theirs.selected
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.predict(sparse_data).tolist() == theirs.predict(dense).tolist()


@pytest.mark.parametrize("model", ["gmeb", "gmeb-dual", "gmeb-nonconvex", "mutual-information"])
def test_a_model_that_needs_dense_data_says_what_to_do(model, words, capsys):
    own = ["--max-features", "2"] if model == "mutual-information" else ["--R-plus", "1", "--R-minus", "1"]
    code, err = select(capsys, "words.svm.gz", "--scale", "none", "--model", model, *own)
    assert code == 2
    assert 'needs dense data, and "words" is sparse: use data.to_dense() (0.0192 MB)' in err
    assert "as a CSV file" in err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--scale", "standard"], "would shift the zeros of these sparse data * Option: --scale"),
        (["--scale", "minmax"], "would shift * use none or unit-ball * Option: --scale"),
        (["--target", "group"], "--target needs columns with names * the label is first in each line * Leave it out"),
        (["--drop", "x3", "--scale", "none"], "--drop needs columns with names * or give a table"),
        (["--positive", "7", "--scale", "none"], 'positive="7" is not a label * Its labels are -1, 1: give one'),
    ],
)
def test_options_that_do_not_suit_such_a_file_are_refused(options, what, words, capsys):
    code, err = select(capsys, "words.svm.gz", "--model", "svm", *options)
    assert code == 2
    for part in what.split(" * "):
        assert part in err


def test_select_says_which_files_there_are(words, capsys):
    code, err = select(capsys, "wrods.svm.gz", "--model", "svm")
    assert code == 2
    assert 'Did you mean "words.svm.gz"?' in err
    code, err = select(capsys, "words2", "--model", "svm")
    assert code == 2
    wrote(words, GOOD, "words2.libsvm")
    assert 'Did you mean the local file "words2.libsvm"?' in select(capsys, "words2", "--model", "svm")[1]


def test_positive_swaps_the_classes_on_the_command_line(words, capsys):
    options = ["--scale", "none", "--positive", "-1", "--model", "svm", "--json", "out.json"]
    assert select(capsys, "words.svm.gz", *options) == (0, "")
    swapped = json.loads((words / "out.json").read_text("utf-8"))
    straight = fs.select(Dataset.from_svmlight("words.svm.gz"), "svm")
    assert swapped["objective"] == pytest.approx(straight.objective, rel=1e-6)
    assert swapped["bias"] == pytest.approx(-straight.bias, abs=1e-3)
