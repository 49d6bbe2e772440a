"""The packages of fsmodels and solvers: imports, docstrings of folders, and pages that exist."""

import ast
import configparser
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import fsmodels
from fsmodels.cli import main
from fsmodels.version import __version__

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "draw_packages.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="tests run without the source tree")

if SCRIPT.is_file():
    spec = importlib.util.spec_from_file_location("draw_packages", SCRIPT)
    packages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(packages)
    KNOWN, ARROWS = packages.modules(), packages.arrows()
    LAYER = {name: layer for layer, names in enumerate(packages.LAYERS) for name in re.split(r" (?!\()", names)}
else:
    KNOWN, ARROWS, LAYER = {}, set(), {}

COMPILED = {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in (ROOT / "fsmodels").rglob("*.pyx")}
PACKAGES = sorted({file.parent.relative_to(ROOT) for file in KNOWN.values()})
WORDS = {".py", ".pyx", ".pxd", ".md", ".ipynb", ".sh", ".toml", ".cfg", ".cff", ".csv"}  # files that a person reads
ELSEWHERE = r"\b(?:[D]ESIGN|[L]AYOUT)\b.{20}|\b[A-Z]{4,},? section \d+"  # pages by a name in capitals
GENERATED = {"build", "dist", "__pycache__"}


def of(module):
    return packages.package_of(module, KNOWN)


def text_files():
    for file in sorted(ROOT.rglob("*")):
        path = file.relative_to(ROOT)
        hidden = any(part.startswith(".") or part in GENERATED or part.endswith(".egg-info") for part in path.parts)
        if file.suffix in WORDS and file.is_file() and not hidden:
            yield file


def without_output(file):
    """The text of a file; of a notebook, without the pictures in it."""
    return re.sub(r'"image/(?:png|svg\+xml)": (?:"[^"]*"|\[[^\]]*\])', "", file.read_text("utf-8"))


def test_every_room_has_a_floor():
    assert {of(module) for module in KNOWN} == set(LAYER)


def test_no_class_name_stands_for_two_things():
    found = {}
    for module, file in KNOWN.items():
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    assert len(found) > 100
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_arrows_lead_down():
    up = [f"{a} -> {b}" for a, b in sorted(ARROWS) if of(a) != of(b) and LAYER[of(a)] <= LAYER[of(b)]]
    assert not up, "give them another package, or move what they need down"


def test_arrows_of_a_package_that_is_not_there_are_found(tmp_path):
    """The reader sees type-only and local imports, and names of packages as well as of modules."""
    (tmp_path / "fsmodels" / "cli").mkdir(parents=True)
    (tmp_path / "solvers").mkdir()
    for path, text in {
        "solvers/__init__.py": "from fsmodels import cli",
        "solvers/errors.py": "",
        "fsmodels/__init__.py": "import solvers.errors",
        "fsmodels/cli/__init__.py": "if TYPE_CHECKING:\n    from solvers import errors\n",
        "fsmodels/cli/listing.py": "def f():\n    from fsmodels.cli import main",
    }.items():
        (tmp_path / path).write_text(text)
    assert packages.arrows(tmp_path) == {
        ("solvers", "fsmodels.cli"),
        ("fsmodels", "solvers.errors"),
        ("fsmodels.cli", "solvers.errors"),
        ("fsmodels.cli.listing", "fsmodels.cli"),
    }


def test_no_circle_between_files():
    """The type-only ones included, within a package too."""
    names = sorted(KNOWN)
    place = {name: k for k, name in enumerate(names)}
    tails, heads = [place[a] for a, _ in ARROWS], [place[b] for _, b in ARROWS]
    graph = sparse.coo_array(([1] * len(ARROWS), (tails, heads)), shape=(len(names), len(names)))
    count, label = connected_components(graph, connection="strong")
    circles = [[name for name, k in zip(names, label, strict=True) if k == c] for c in range(count)]
    assert not [circle for circle in circles if len(circle) > 1]


def test_fsmodels_takes_from_solvers_by_its_doors_only():
    open_to_it = packages.ENTRIES | {"solvers", "solvers (base)"}
    across = [(a, b) for a, b in sorted(ARROWS) if a.startswith("fsmodels") and b.startswith("solvers")]
    assert len(across) > 50
    assert not [f"{a} -> {b}" for a, b in across if of(b) not in open_to_it]


def test_every_import_of_ours_names_a_module_of_the_tree():
    """An editable install of another tree would satisfy it all the same."""
    lost = []
    for file in text_files():
        if file.suffix == ".py":
            for base, _ in packages.imports(file):
                if base.split(".")[0] in ("fsmodels", "solvers", "") and base not in {*KNOWN, *COMPILED}:
                    lost.append(f"{file.relative_to(ROOT)}: {base}")
    assert not lost


def test_setup_lists_every_folder():
    """Listed one by one, because ``find:`` cannot be combined with the data folder."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = setup["options"]["packages"].split()
    assert listed == sorted(listed)
    assert set(listed) == {".".join(path.parts) for path in PACKAGES} | {"fsmodels.data"}


@pytest.mark.parametrize("folder", PACKAGES, ids=str)
def test_every_folder_says_what_lives_there_and_what_it_may_import(folder):
    said = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text("utf-8")))
    assert said.split("\n\n")[0].strip().endswith((".", ":"))
    (may,) = re.findall(r"May import ([^.]*(?:``[^`]*``[^.]*)+)\.", said)
    for name in re.findall(r"``((?:fsmodels|solvers)[\w.]*)``", may):
        assert name in KNOWN, name


def leads_somewhere(name):
    """Tell whether a dotted name is a module of the tree, or what one of them holds."""
    module = name
    while module not in KNOWN:
        module = module.rpartition(".")[0]
    held = importlib.import_module(module)
    for part in name.removeprefix(module).strip(".").split("."):
        if part and not hasattr(held, part):
            return False
        held = getattr(held, part) if part else held
    return True


def test_names_of_ours_in_the_text_lead_somewhere():
    cited = {
        (str(file.relative_to(ROOT)), name)
        for file in text_files()
        for name in re.findall(r"`((?:fsmodels|solvers)(?:\.\w+)+)`", without_output(file))
        if not name.endswith((".py", ".md", ".data", ".ipynb"))
    }
    assert len(cited) > 40
    assert not [where for where in sorted(cited) if not leads_somewhere(where[1])]


def test_no_page_is_cited_that_is_not_in_the_tree():
    names = {file.name for file in ROOT.rglob("*")} | {"patients.sh", "patients.ipynb"}  # of fsmodels init
    lost = []
    for file in text_files():
        text = without_output(file)
        for cited in re.findall(r"[\w/-]+\.(?:md|rst|ipynb|png|svg|pdf|py|sh|cff)\b", text):
            if cited.rpartition("/")[2] not in names and "NAME" not in cited:
                lost.append(f"{file.relative_to(ROOT)}: {cited}")
        lost += [f"{file.relative_to(ROOT)}: {cited}" for cited in re.findall(ELSEWHERE, text)]
        if file.suffix == ".md":
            for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
                if not link.startswith("http") and not (file.parent / link).exists():
                    lost.append(f"{file.relative_to(ROOT)}: {link}")
    assert not lost


def test_readers_of_solutions_name_no_good_status():
    """They ask ``solvers.result`` for it, and may compare."""
    good = {"OPTIMAL", "STATIONARY", "FEASIBLE"}
    named, compared = [], 0
    for file in sorted((ROOT / "fsmodels").rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        asked = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in good and ast.unparse(node.value) == "SolutionStatus":
                compared += id(node) in asked
                named += [] if id(node) in asked else [f"{file.relative_to(ROOT)}:{node.lineno}"]
    assert compared > 0
    assert not named


def assigned(file):
    """The names that a file gives a value at its top level."""
    for node in ast.parse(file.read_text("utf-8")).body:
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name)) if target else ()


def test_what_counts_as_satisfied_or_proven_has_one_value():
    """A tolerance of something else has another name."""
    words = {"FEASIBLE", "HOPELESS", "ROUNDING", "TOLERANCE", "DEFAULT_GAP"}
    here = {name: file for name, file in KNOWN.items() if words & set(assigned(file))}
    assert set(here) == {"solvers.result"}
    assert words <= set(assigned(here["solvers.result"]))


def test_one_file_takes_ctrl_c_over():
    """The command line asks Python to treat SIGTERM as Ctrl-C; until it is imported, Ctrl-C ends ``fsmodels``."""
    calls = {"signal.signal(", "siginterrupt(", "set_wakeup_fd(", "setitimer(", "sigaction("}
    takers = {name for name, file in KNOWN.items() if any(call in file.read_text("utf-8") for call in calls)}
    assert takers == {"solvers.interrupt", "fsmodels.cli", "fsmodels"}
    told = (ROOT / "fsmodels" / "cli" / "__init__.py").read_text("utf-8")
    handlers = set(re.findall(r"signal\.signal\([\w.]+, ([^)]*)\)", told))
    assert handlers == {"signal.default_int_handler", "signal.SIG_IGN", "signal.SIG_IGN if for_good else handler"}


def test_the_picture_is_that_of_the_imports():
    assert packages.PICTURE.read_text("utf-8") == packages.picture(), "run python scripts/draw_packages.py"


def test_the_page_of_the_house_names_files_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`((?:fsmodels|solvers|scripts|tests)/[\w/]+\.\w+)`", text)
    assert len(named) > 25
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_the_run_enters_the_files_that_the_page_names(tmp_path):
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    (life,) = re.findall(r"## The steps of(.*?)\n## ", text, re.DOTALL)
    named = set(re.findall(r"`((?:fsmodels|solvers)/[\w/]+\.py)`", life))
    entered = set()

    def entering(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_code.co_filename)

    words = ["select", "wdbc", "--model", "fsp-m", "--max-features", "1", "--quiet", "--json", str(tmp_path / "w.json")]
    sys.setprofile(entering)
    try:
        assert main(words) == 0
    finally:
        sys.setprofile(None)
    installed = Path(fsmodels.__file__).parents[1]  # the packages need not be those of this tree
    assert not {name for name in named if str(installed / name) not in entered}


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r"^([\w-]+): *(.*)$", text, re.MULTILINE))
    assert {"cff-version", "message", "title", "authors"} <= set(fields)
    assert (fields["cff-version"], fields["version"], fields["license"]) == ("1.2.0", __version__, "BSD-3-Clause")
