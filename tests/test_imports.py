"""Import times: packages and help do not import slow libraries, and all names are available."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import fsmodels
import solvers
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.rows import accepts_rows
from solvers.drivers.catalogue import DRIVERS
from solvers.lazy import DRIVER_NAMES, attach, read

HEAVY = {"pyomo", "pandas", "numpy", "scipy", "sklearn", "joblib", "matplotlib", "rich", "highspy", "clarabel"}
HEAVY |= {"pyscipopt", "pyomo_pounce", "skrebate", "IPython", "gurobipy", "threadpoolctl", "distributed", "pyarrow"}
RARE = {"sklearn", "joblib", "matplotlib", "rich", "clarabel", "pyscipopt", "skrebate", "IPython", "gurobipy"}
STUBS = {package: Path(package.__file__).with_suffix(".pyi") for package in (fsmodels, solvers)}


def loaded(code, *arguments):
    """Return the top-level modules that a program leaves in ``sys.modules``, and what it wrote."""
    told = f"import sys\n{code}\nprint('loaded', *sorted({{name.split('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.rpartition("loaded ")[2].split()), run.stdout + run.stderr


@pytest.mark.parametrize("package", ["fsmodels", "solvers", "fsmodels.cli"])
def test_a_package_comes_without_what_takes_seconds(package):
    assert not loaded(f"import {package}")[0] & HEAVY


def test_what_selects_comes_without_what_few_runs_need():
    assert not loaded("import fsmodels as fs\nfs.select, fs.path, fs.load_dataset('bupa'), fs.fsp, fs.solve")[0] & RARE


@pytest.mark.parametrize("model", [["one-norm-svm"], ["fsp-m", "--max-features", "2"]])
def test_a_linear_selection_imports_only_what_it_needs(model):
    code = "from fsmodels.cli import main\nassert main(['select', 'bupa', '--quiet', '--model', *sys.argv[1:]]) == 0\n"
    code += "assert not {'scipy.stats', 'scipy.optimize'} & set(sys.modules)"
    assert not loaded(code, *model)[0] & {
        "sklearn",
        "joblib",
        "matplotlib",
        "IPython",
        "pyscipopt",
        "pounce",
        "pyomo_pounce",
    }


def test_pyomo_uses_the_parts_of_scipy_that_are_imported_late():
    code = "import solvers, scipy.sparse, pyomo.environ\nfrom pyomo.common import dependencies as d\n"
    code += "assert d.scipy_available and d.scipy.stats.rankdata([2, 1]).tolist() == [2, 1]"
    loaded(code)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        ([], 2),
        (["select"], 2),
        (["select", "wdbc", "--model", "fsp-m", "-C", "x"], 2),
    ]
    + [([command, "--help"], 0) for command in ("list", "select", "path", "stability", "certify", "verify", "predict")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_help_and_words_that_are_wrong_are_answered_without_them(words, code):
    modules, said = loaded(f"from fsmodels.cli import main\nassert main(sys.argv[1:]) == {code}", *words)
    assert not modules & HEAVY
    assert "Usage: fsmodels" in said or "Help: fsmodels" in said or words == ["--version"]


def test_side_constraints_are_for_every_model_as_the_help_says():
    assert all(accepts_rows(spec) for spec in MODELS.values())


def test_names_of_drivers_are_those_of_the_catalogue():
    assert list(DRIVER_NAMES) == list(DRIVERS)


@pytest.mark.parametrize("order", ["import solvers, pyomo.environ as pyo", "import pyomo.environ as pyo, solvers"])
def test_the_drivers_are_registered_in_pyomo_for_any_order_of_imports(order):
    code = f"{order}\nfrom pyomo.contrib.solver.common.factory import SolverFactory\n"
    code += "assert 'solvers.plugin' not in sys.modules\n"
    code += "made = [f('fsmodels.benders') for f in (pyo.SolverFactory, SolverFactory)]\n"
    code += "assert [type(m).__name__ for m in made] == ['LegacyBenders', 'Benders'], made\n"
    code += "assert type(pyo.SolverFactory('fsmodels.sla')).__module__ == 'solvers.plugin'"
    loaded(code)


@pytest.mark.parametrize("package", STUBS, ids=lambda package: package.__name__)
def test_every_public_name_has_a_home_and_no_file_of_its_name(package):
    homes, public = read(STUBS[package])
    assert set(public) == set(homes)
    for name in public:
        assert getattr(package, name) is not None
        beside = [Path(package.__file__).with_name(name), Path(package.__file__).with_name(f"{name}.py")]
        assert homes[name][0] == package.__name__ or not any(path.exists() for path in beside), name


def test_a_room_can_be_imported_from_the_package_first():
    code = "from fsmodels import baselines, svm; from fsmodels import rankings; print(baselines.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.stdout.strip() == "fsmodels.baselines", run.stderr


def test_an_unknown_name_is_an_attribute_error_and_a_broken_module_its_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.pyi").write_text('from lazily.broken import it\n__all__ = ["it"]\n')
    (folder / "__init__.py").write_text("")
    (folder / "broken").with_suffix(".py").write_text("import nowhere_at_all")
    attribute, names, public = attach("lazily", str(folder / "__init__.py"))
    assert names() == public == ["it"]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        attribute("other")
    for name in ("it", "broken"):
        with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
            attribute(name)
    for module in ("lazily", "lazily.broken"):
        sys.modules.pop(module, None)
    importlib.invalidate_caches()


def test_commands_import_only_what_imports_nothing():
    """At its top and inside its functions."""
    file = Path(fsmodels.__file__).parent / "cli" / "commands.py"
    named = {node.module for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)}
    for module in sorted(name for name in named if name.startswith("fsmodels")):
        assert not loaded(f"import {module}")[0] & HEAVY, module
