"""Five tables as people have them: the options that the first message proposes are enough."""

import datetime
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from commands import run


def churn(rng):
    """Customers with an identifier, free text, dates, categories and blanks as spaces."""
    n = 120
    tenure, contract = rng.integers(1, 72, n), rng.choice(["Month-to-month", "One year", "Two year"], n)
    charge = rng.uniform(20, 100, n).round(2)
    leaves = 0.02 * charge + 1.5 * (contract == "Month-to-month") - 0.05 * tenure + rng.normal(size=n) > 0.5
    return pd.DataFrame(
        {
            "customerID": [f"{rng.integers(1000, 9999)}-{k:04}" for k in range(n)],
            "gender": rng.choice(["Female", "Male"], n),
            "SeniorCitizen": rng.integers(0, 2, n),
            "tenure": tenure,
            "Contract": contract,
            "SignupDate": pd.date_range("2019-01-01", periods=n).strftime("%Y-%m-%d"),
            "Comment": [f'called {k} times, said "no"' if k % 3 else "" for k in range(n)],
            "TotalCharges": [" " if k % 40 == 7 else f"{x:.2f}" for k, x in enumerate(tenure * charge)],
            "Churn": np.where(leaves, "Yes", "No"),
        }
    )


def clinic(rng):
    """Patients with semicolons, decimal commas, umlauts in cp1252, German dates and a patient number."""
    n = 80
    age, crp = rng.integers(30, 85, n), rng.gamma(2, 5, n).round(2)
    return pd.DataFrame(
        {
            "Patienten-Nr": rng.permutation(n) + 5001,
            "Geburtsdatum": [f"{k % 28 + 1:02}.{k % 12 + 1:02}.{1940 + k % 50}" for k in range(n)],
            "Geschlecht": rng.choice(["männlich", "weiblich"], n),
            "Größe (cm)": rng.normal(170, 10, n).round(1),
            "Alter": age,
            "CRP": crp,
            "Hämoglobin": ["k.A." if k % 20 == 3 else f"{12 + k / 20:.2f}".replace(".", ",") for k in range(n)],
            "Station": ["" if k == 30 else place for k, place in enumerate(rng.choice(["Süd", "Nord", "Ost"], n))],
            "Diagnose": np.where(crp + 0.1 * age + rng.normal(0, 3, n) > 16, "krank", "gesund"),
        }
    )  # fmt: skip


def genes(rng):
    """80 samples of 2000 genes, with names of the samples and a blank in a late column."""
    X = rng.normal(size=(80, 2000)).round(3)
    frame = pd.DataFrame(X, columns=[f"gene_{j}" for j in range(2000)])
    frame.loc[5, "gene_1900"] = np.nan
    frame.insert(0, "sample", [f"S{k:03}" for k in range(80)])
    return frame.assign(tissue=np.where(X[:, 3] - X[:, 10] + 0.3 * rng.normal(size=80) > 0, "tumor", "normal"))


def two_header_rows(rng, path):
    """A sheet with groups of columns above their names."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Patient", None, None, "Laboratory", None, None, "Outcome"])
    book.active.append(["id", "sex", "age", "glucose", "bmi", "visit", "diabetes"])
    for k in range(60):
        glucose, bmi, visit = rng.normal(100, 20), rng.normal(26, 4), datetime.datetime(2024, 1, 1 + k % 28)
        ill = "yes" if glucose + 2 * bmi + 10 * rng.normal() > 152 else "no"
        sex, age = str(rng.choice(["f", "m"])), int(rng.integers(20, 80))
        book.active.append([k + 1, sex, age, None if k % 17 == 0 else round(glucose, 1), round(bmi, 1), visit, ill])
    book.save(path)


def with_index(rng):
    """A DataFrame whose index is written too, with truth values and labels 0 and 1."""
    a, b, n = rng.normal(size=60).round(3), rng.normal(size=60).round(3), 60
    frame = pd.DataFrame({"a": a, "b": b, "flag": rng.random(n) > 0.5, "city": rng.choice(["Rome", "Oslo", "Lima"], n)})
    return frame.assign(y=(a - b + 0.3 * rng.normal(size=n) > 0).astype(int))


TABLES = {
    "churn.csv": lambda rng, path: churn(rng).to_csv(path, index=False),
    "klinik.csv": lambda rng, path: clinic(rng).to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252"),
    "genes.csv": lambda rng, path: genes(rng).to_csv(path, index=False),
    "two_rows.xlsx": two_header_rows,
    "index.csv": lambda rng, path: with_index(rng).to_csv(path),
}
PROPOSED = {
    "churn.csv": "--target Churn --drop customerID --drop SignupDate --drop Comment --one-hot gender "
    "--one-hot Contract",
    "klinik.csv": "--target Diagnose --drop Patienten-Nr --drop Geburtsdatum --one-hot Geschlecht --one-hot Station",
    "genes.csv": "--target tissue --drop sample",
    "two_rows.xlsx": "--target diabetes --drop id --drop visit --one-hot sex",
    "index.csv": "--target y --one-hot city",
}


@pytest.mark.parametrize("name", TABLES)
def test_the_options_of_the_first_message_are_enough(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLES[name](np.random.default_rng(5), name)
    code, _, err = run(capsys, "select", name)
    assert code == 2
    options = re.search(r"for the first give (.*?) \(Python: ", err)[1]
    assert options == PROPOSED[name] + ("" if name == "index.csv" else " --impute median")
    code, out, err = run(capsys, "select", name, *shlex.split(options), "--quiet", "--time-limit", "10")
    assert code == 0, err
    assert "features, objective" in out
    notes = err.splitlines()
    assert len({*notes}) == len(notes)
