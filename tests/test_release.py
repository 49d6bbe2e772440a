"""Facts of a release are consistent: version, changelog, citation, recipe, sdist."""

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from fsmodels.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "recipe" / "recipe.yaml"
pytestmark = pytest.mark.skipif(not RECIPE.is_file(), reason="tests run without the source tree")
CONDA = {"matplotlib": "matplotlib-base"}  # names that conda-forge has instead of PyPI's


def setup():
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


def test_the_version_is_in_one_place():
    assert setup()["metadata"]["version"] == "attr: fsmodels.version.__version__"
    for file in (ROOT / "setup.cfg", ROOT / "pyproject.toml"):
        assert f'"{__version__}"' not in file.read_text("utf-8")


def test_the_changelog_has_the_version_under_a_head_for_what_is_next():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert heads[0] == ("Unreleased", "")
    assert heads[1] == (__version__, re.search(r'^date-released: "(.*)"', citation(), re.MULTILINE).group(1))


def citation():
    return (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_recipe_asks_for_what_setup_asks_for():
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load(RECIPE.read_text("utf-8"))
    assert told["context"]["version"] == __version__
    options = setup()["options"]
    wanted = [re.match(r"([\w-]+)(.*)", line).groups() for line in options["install_requires"].split("\n") if line]
    asked = {f"{CONDA.get(name, name)} {bound}" for name, bound in wanted} | {f"python {options['python_requires']}"}
    assert set(told["requirements"]["run"]) == asked
    (script,) = setup()["options.entry_points"]["console_scripts"].strip().splitlines()
    assert told["build"]["python"]["entry_points"] == [script]


def test_the_sdist_takes_what_its_tests_and_pages_need():
    told = (ROOT / "MANIFEST.in").read_text("utf-8")
    taken = set(re.findall(r"^graft (\S+)$", told, re.MULTILINE)) | set(re.findall(r"[\w.]+\.\w+|LICENSE", told))
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    tops = {name.split("/")[0] for name in listed.stdout.splitlines()}
    assert tops - taken <= {".ci", ".git-blame-ignore-revs", ".gitignore", ".pre-commit-config.yaml", "fsmodels"} | {
        "README.md", "pyproject.toml", "setup.cfg", "setup.py",
    }  # fmt: skip


def test_typing_of_names_that_are_imported_late_is_installed():
    data = setup()["options.package_data"]
    for package in ("fsmodels", "solvers"):
        assert {part.strip() for part in data[package].split(",")} >= {"py.typed", "*.pyi"}
