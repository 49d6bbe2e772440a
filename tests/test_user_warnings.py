"""Warnings point at a line of the code of the user."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
import solvers
from solvers import user_warnings

HERE = Path(__file__).resolve()
PACKAGES = [Path(fs.__file__).parent, Path(solvers.__file__).parent]
X = np.array([[0.0, 5.0, 1000.0], [1.0, 5.0, 3000.0], [2.0, 5.0, 2000.0], [4.0, 5.0, 7000.0]])
Y = [0, 0, 1, 1]


def line_of(call):
    """Return file and line of the one warning of ours that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [w for w in caught if issubclass(w.category, fs.DataWarning)]
    assert ours
    return {(Path(w.filename).resolve(), w.lineno) for w in ours}


def varied():
    return fs.Dataset.from_arrays(X[:, [0, 2]], Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fs.Dataset.from_arrays(X, Y),
        lambda: fs.Dataset.from_frame(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}), target="y"),
        lambda: fs.load_dataset("ionosphere"),
        lambda: fs.fsp.fsp_m(varied(), max_features=1),
        lambda: fs.svm.l2_svm(varied()),
        lambda: fs.concave.fsv(varied(), penalty=0.1),
        lambda: fs.kernel.full_fs(varied(), C=1.0, penalty=1.0),
        lambda: fs.multivariate.fsmulti(varied(), budget=1),
        lambda: fs.gmeb.primal(constant, R_plus=1.0, R_minus=1.0),
        lambda: fs.select(constant, "gmeb", R_plus=1.0, R_minus=1.0),
    ],
)
def test_a_warning_points_at_the_users_line(call):
    assert line_of(call) == {(HERE, call.__code__.co_firstlineno)}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    constant = fs.Dataset.from_arrays(X, Y).scaled("none")


def test_a_warning_through_a_library_points_at_the_users_line():
    import joblib

    def call():
        joblib.Parallel(n_jobs=1)(joblib.delayed(fs.Dataset.from_arrays)(X, Y) for _ in range(1))

    ((file, line),) = line_of(call)
    assert file == HERE
    assert line == call.__code__.co_firstlineno + 1


def test_where_no_line_is_the_users_it_is_the_nearest_that_is_not_ours(monkeypatch):
    monkeypatch.setattr(user_warnings, "LIBRARIES", ("/", "<"))  # a worker of the tests is a string
    call = lambda: fs.Dataset.from_arrays(X, Y)  # noqa: E731
    assert line_of(call) == {(HERE, call.__code__.co_firstlineno)}


def test_a_console_has_a_line_too():
    code = "import fsmodels as fs\nfs.Dataset.from_arrays([[0.0, 5], [1.0, 5]], [0, 1])"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGES[0].parent, check=True
    )
    assert "<string>:2: DataWarning" in told.stderr


def test_every_warning_of_both_packages_is_given_by_this_mechanism():
    direct = []
    for package in PACKAGES:
        for file in package.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                    direct.append(f"{file.parent.name}/{file.name}:{node.lineno}")
    assert len(direct) == 1, "use solvers.user_warnings.warn, which finds the user's line"
    assert direct[0].startswith("solvers/user_warnings.py")
