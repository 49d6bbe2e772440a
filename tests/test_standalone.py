"""``solvers`` is independent: neither the package nor its tests import ``fsmodels``."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "fsmodels":
            raise ImportError(f"{name} is not to be imported here")

sys.meta_path.insert(0, Blocked())
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def run(*arguments):
    """Run pytest where ``fsmodels`` cannot be imported."""
    command = [sys.executable, "-c", BLOCKED, "-p", "no:cacheprovider", "-n0", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)


def imported(file):
    """Return the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_no_test_of_solvers_imports_fsmodels_nor_a_helper_that_does():
    helpers = {file.stem: set(imported(file)) for file in (TESTS / "helpers").glob("*.py")}
    for file in (TESTS / "solvers").rglob("*.py"):
        found = set(imported(file))
        reached: set[str] = set()
        while found - reached:
            reached |= found
            found = {name for module in reached & set(helpers) for name in helpers[module]}
        assert not [name for name in reached if name.partition(".")[0] == "fsmodels"], file


@pytest.mark.slow
def test_what_blocks_it_blocks_it():
    result = run("--collect-only", "-q", "tests/fsmodels/test_public_names.py")
    assert result.returncode != 0
    assert "is not to be imported here" in result.stdout + result.stderr


@pytest.mark.slow
def test_the_tests_of_solvers_run_without_fsmodels():
    result = run("-x", "-q", "tests/solvers")
    assert result.returncode == 0, result.stdout[-3000:]
