"""The examples of docstrings, run as they stand: what a reader would copy must say what it says here."""

import doctest
import importlib
from pathlib import Path

import pytest

import fsmodels
import solvers

MODULES = sorted(
    ".".join([package.__name__, *file.relative_to(root).with_suffix("").parts]).removesuffix(".__init__")
    for package in (fsmodels, solvers)
    for root in [Path(package.__file__).parent]
    for file in root.rglob("*.py")
    if ">>> " in file.read_text("utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_say_what_happens(module):
    held, failures, tried = importlib.import_module(module), [], 0
    for examples in doctest.DocTestFinder().find(held, module):
        tried += doctest.DocTestRunner(verbose=False).run(examples, out=failures.append).attempted
    assert not failures, "".join(failures)
    assert tried  # none is where nobody looks for it


def test_what_runs_them_sees_a_wrong_one():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    said = []
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=said.append).failed
    assert said
