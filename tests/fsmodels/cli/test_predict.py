"""``fsmodels predict`` on tables that differ from the training table: right labels, or a message that helps."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run


def customers(n=60):
    """A table with an identifier, dates, categories of two and three levels, and blanks."""
    rng = np.random.default_rng(11)
    tenure, contract = rng.integers(1, 70, n), rng.choice(["month", "year", "two years"], n)
    stays = 0.05 * tenure + 1.5 * (contract != "month") + rng.normal(size=n) > 2.5
    return pd.DataFrame(
        {
            "id": [f"C{k:03}" for k in range(n)],
            "since": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "tenure": [None if k == 7 else str(value) for k, value in enumerate(tenure)],
            "contract": contract,
            "paper": rng.choice(["no", "yes"], n),
            "charge": rng.normal(50, 9, n).round(2).astype(str),
            "total": rng.normal(900, 9, n).round(2).astype(str),
            "leaves": np.where(stays, "no", "yes"),
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a selection of the command line, and the same selection of Python with its training table."""
    folder = tmp_path_factory.mktemp("customers")
    customers().to_csv(folder / "train.csv", index=False)
    options = {"target": "leaves", "drop": ["id", "since", "total"], "one_hot": ["contract", "paper"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = fs.Dataset.from_csv(folder / "train.csv", **options, impute="median")
    found = fs.select(data, max_features=4, count="columns")
    assert data.columns_of(found.selected) == ["tenure", "contract", "paper", "charge"]
    found.save(folder / "m.json")
    return folder / "m.json", found


@pytest.fixture
def predicted(fitted, tmp_path, capsys):
    """A function that writes a table, and returns the scores of ``predict`` and its messages."""

    def call(table, *words, suffix=".csv", **writing):
        path = tmp_path / f"new{suffix}"
        table.to_csv(path, index=False, **writing) if suffix == ".csv" else table.to_excel(path, index=False)
        code, out, err = run(capsys, "predict", fitted[0], path, *words)
        return (pd.read_csv(io.StringIO(out))["score"].to_numpy() if code == 0 else code), err

    return call


def by_hand(found, table):
    """The scores in original units: blanks are medians and most frequent levels of the training table."""
    train, weights = customers(), found.weights_original
    scores = np.full(len(table), found.bias_original)
    for name in ("tenure", "charge"):
        numbers = pd.to_numeric(table[name]).fillna(pd.to_numeric(train[name]).median())
        scores += weights.get(name, 0.0) * numbers.to_numpy()
    for name in ("contract", "paper"):
        cells = table[name].fillna(train[name].mode()[0])
        scores += [weights.get(f"{name}={cell}", 0.0) for cell in cells]
    return scores


NEW = customers(9)
BLANK = NEW.assign(contract=[None, *NEW["contract"][1:]], charge=[*NEW["charge"][:-1], None], paper=[None] * 9)
SAME = {
    "the training table": (NEW, {}),
    "no labels": (NEW.drop(columns="leaves"), {}),
    "only the selected columns": (NEW[["charge", "paper", "contract", "tenure"]], {}),
    "another order": (NEW[NEW.columns[::-1]], {}),
    "extra columns": (NEW.assign(extra="x", more=1.5), {}),
    "blanks": (BLANK, {}),
    "one row": (NEW[:1], {}),
    "semicolons and decimal commas": (NEW.assign(charge=NEW["charge"].str.replace(".", ",")), {"sep": ";"}),
}  # fmt: skip


@pytest.mark.parametrize(("table", "writing"), SAME.values(), ids=SAME)
def test_scores_are_those_computed_by_hand(fitted, predicted, table, writing):
    scores, err = predicted(table, **writing)
    expected = by_hand(fitted[1], table.assign(charge=table["charge"].str.replace(",", ".")))
    assert scores == pytest.approx(expected, abs=1e-9), err


def test_a_workbook_has_the_scores_of_the_text(fitted, predicted):
    pytest.importorskip("openpyxl")
    table = NEW.assign(charge=NEW["charge"].astype(float))
    assert predicted(table, suffix=".xlsx")[0] == pytest.approx(by_hand(fitted[1], NEW), abs=1e-9)


def test_an_unknown_level_is_named_or_counts_as_no_level(fitted, predicted):
    table = NEW.assign(contract=["weekly", *NEW["contract"][1:]])
    code, err = predicted(table)
    assert code == 2
    assert '"contract" has "weekly" in row 1' in err
    assert "(month, two years, year)" in err
    assert "--unseen zeros" in err
    assert predicted(table, "--unseen", "zeros")[0] == pytest.approx(by_hand(fitted[1], table), abs=1e-9)


REFUSED = {
    "a missing column": (NEW.drop(columns="contract"), ["lacks columns (contract)", "Its columns are id, since"]),
    "a column in capitals": (NEW.rename(columns={"contract": "Contract"}), ['Did you mean "Contract"?']),
    "text": (NEW.assign(tenure=["n5", *NEW["tenure"][1:]]), ['has text in row 1 ("n5"): give numbers, or leave']),
    "infinity": (NEW.assign(tenure=["inf", *NEW["tenure"][1:]]), ["fill in finite numbers, or remove the row."]),
}  # fmt: skip


@pytest.mark.parametrize(("table", "words"), REFUSED.values(), ids=REFUSED)
def test_a_table_that_cannot_be_predicted_is_refused_with_a_remedy_that_helps(predicted, table, words):
    code, err = predicted(table)
    assert code == 2
    assert all(word in err for word in words), err
    assert "drop" not in err  # the selection needs the column
