"""Data that do not fit into memory are refused before the memory is taken."""

import csv
import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels.certificates.document import CertificateFile
from fsmodels.datasets import columns, files, tables
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import uninformative
from fsmodels.datasets.dialect import ARRAYS
from fsmodels.errors import DataError

TABLE = b"a,b,target\n" + b"1.25,2.5,0\n3.75,4.5,1\n" * 5000


@pytest.fixture
def little_memory(monkeypatch):
    """Let 50,000 bytes be available."""
    for module in (files, tables):
        monkeypatch.setattr(module, "available_memory", lambda: 50_000.0)
    monkeypatch.setattr(files, "CHUNK", 1000)


def test_a_compressed_table_is_unpacked_up_to_the_limit(tmp_path, little_memory):
    path = tmp_path / "large.csv.gz"
    path.write_bytes(gzip.compress(TABLE))
    with pytest.raises(DataError, match=r"large\.csv\.gz.* needs at least 5\.2e-05 GB .*, and 5e-05 GB are available"):
        Dataset.from_csv(path)


def test_a_plain_table_is_refused_by_its_size(tmp_path, little_memory):
    path = tmp_path / "large.csv"
    path.write_bytes(TABLE)
    with pytest.raises(DataError, match=r"large\.csv.* needs .* GB are available"):
        Dataset.from_csv(path)


def test_the_cells_of_a_table_need_more_memory_than_its_bytes(tmp_path, little_memory):
    path = tmp_path / "cells.csv"
    path.write_bytes(TABLE[:12_000])
    with pytest.raises(DataError, match=r"cells\.csv.* needs .* GB are available"):
        Dataset.from_csv(path)


def test_a_workbook_that_expands_is_refused(tmp_path, little_memory):
    path = tmp_path / "large.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 100_000)
    with pytest.raises(DataError, match=r"large\.xlsx.* needs at least 0.0001 GB"):
        Dataset.from_csv(path)


def test_a_parquet_file_is_refused_by_its_cells_and_columns(tmp_path, little_memory):
    pytest.importorskip("pyarrow")
    long, wide = tmp_path / "long.parquet", tmp_path / "wide.parquet"
    pd.DataFrame({"a": np.zeros(10_000), "target": 1}).to_parquet(long)  # 3 kB: equal values take no room
    pd.DataFrame(np.zeros((2, 12)), columns=list("abcdefghijkl")).to_parquet(wide)
    with pytest.raises(DataError, match=r"long\.parquet.* needs at least 0\.00201 GB of memory"):
        Dataset.from_csv(long)
    with pytest.raises(DataError, match=r"wide\.parquet.* needs at least 6\.24e-05 GB of memory"):
        Dataset.from_csv(wide)


JSON = json.dumps([[]] * 1000)  # 4 kB, of which Python makes 72 kB


@pytest.mark.parametrize("read", [fs.load_selection, CertificateFile.load])
def test_a_json_file_is_refused_before_it_is_read(read, tmp_path, little_memory):
    path = tmp_path / "large.json"
    path.write_text(JSON)
    with pytest.raises(DataError, match=r"large\.json.* needs at least 0\.0001 GB of memory"):
        read(path)


@pytest.mark.parametrize("text", [b"1 1:2\n-1 1:3\n" * 5000, b"1 " + b" " * 60_000 + b"\n", b"1 1:1\n-1 49999999:2\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_sparse_file_is_refused(text, packed, tmp_path, little_memory):
    path = tmp_path / f"large.svm{'.gz' * packed}"
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(DataError, match=r"large\.svm.* needs .* GB are available"):
        fs.Dataset.from_svmlight(path)


def test_available_memory_is_known_on_linux():
    assert files.available_memory() > 1e6


def test_constant_columns_are_named_with_their_values():
    X = sparse.csr_array([[0.0, 2.0, 1.0], [0.0, 2.0, 0.0]])
    expected = 'Constant, so without information: "a" (0 in every row), "b" (2 in every row).'
    assert uninformative(X, ["a", "b", "c"]) == uninformative(X.toarray(), ["a", "b", "c"]) == [expected]
    (found,) = uninformative(np.arange(50.0).reshape(2, 25) * 0, [f"x{j}" for j in range(25)])
    assert found.endswith('"x19" (0 in every row), ... (25 in all).')


CELLS = ["1", " 2.5 ", "1e-3", "1_0", "inf", "nan", "", "true", "x", "\u0663", 3, 2.5, 10**400, True, None, b"1"]


@pytest.mark.parametrize("cell", CELLS, ids=repr)
def test_cells_that_are_converted_at_once_are_read_as_those_of_one_column(cell):
    table = pd.DataFrame({"a": ["1.5", cell], "b": [0.5, "2"]}, dtype=object)
    found = columns._all_numbers(table.to_numpy())
    if found is not None:
        single = [columns._column(table[name]) for name in table]
        assert not any(is_text.any() for _, is_text in single)
        np.testing.assert_array_equal(found, np.column_stack([values for values, _ in single]))
    assert (found is None) == (type(cell) not in (str, int, float) or cell in ("1_0", "", "true", "x", 10**400))


def test_numbers_of_a_wide_table_are_converted_at_once(monkeypatch):
    monkeypatch.delattr(columns, "_column")
    table = pd.DataFrame(np.full((2, 50), "1.5"), dtype=object)
    np.testing.assert_array_equal(columns.numeric_matrix(table, ARRAYS), np.full((2, 50), 1.5))


def test_threads_that_read_tables_leave_the_limit_on_cells_to_the_last_of_them():
    before = csv.field_size_limit()
    first, second = tables._long_cells(), tables._long_cells()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert csv.field_size_limit() == tables.LONGEST_CELL
    second.__exit__(None, None, None)
    assert csv.field_size_limit() == before
