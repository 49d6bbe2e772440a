"""The examples on the pages of docs/ are executed."""

import contextlib
import doctest
import importlib.util
import inspect
import io
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.cli.commands import parse
from fsmodels.selection.catalogue import MODELS
from solvers import available
from solvers.html import mathematics

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {page.name: page.read_text("utf-8") for page in sorted(DOCS.glob("*.md"))}
pytestmark = pytest.mark.skipif(not PAGES, reason="tests run without the source tree")


def blocks(text, kind=""):
    found = re.findall(r"^```([\w{}-]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [body for label, body in found if label == kind]


def commands(text):
    """The words of each command ``fsmodels ...`` of a page; continued lines are one, comments are left out."""
    for line in "\n".join(blocks(text, "bash")).replace("\\\n", " ").splitlines():
        command = line.split("&&")[-1].split("#")[0].strip().removeprefix("$ ")
        if command.startswith("fsmodels "):
            yield shlex.split(command)[1:]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if any(commands(text))])
def test_every_command_has_options_that_exist(page):
    for words in commands(PAGES[page]):
        if "--help" not in words:
            parse(words)


def test_pages_have_commands():
    assert sum(len(list(commands(text))) for text in PAGES.values()) > 8


def test_every_model_and_every_solver_is_in_a_table():
    for page, names in {"models.md": MODELS, "solvers.md": available()["name"]}.items():
        for name in names:
            assert re.search(rf"^\|.*`{re.escape(name)}`", PAGES[page], re.MULTILINE), name


@pytest.mark.parametrize("page", sorted((DOCS / "formulations").glob("*.md")), ids=lambda page: page.stem)
def test_the_lines_of_python_of_a_formulation_run(page):
    names = {}
    for code in blocks(page.read_text("utf-8"), "python"):
        exec(code, names)
    assert names["result" if "result" in names else "found"].status.value in ("optimal", "stationary", "feasible")
    if "model" in names:
        table = re.findall(r"^\| \$.* \| (`.*) \|$", page.read_text("utf-8"), re.MULTILINE)
        shown = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
        assert shown >= {v.local_name for v in names["model"].component_objects(pyo.Var)}


def test_every_helper_of_side_constraints_is_in_its_table():
    shown = re.findall(r"^\| (`.*?) \|", PAGES["edit-a-model.md"], re.MULTILINE)
    named = {name for cell in shown for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(fs.side_constraints.__all__) | {"signs", "fair", "at_most_of_group", "hierarchy"}


def test_the_edited_model_is_solved_as_the_page_says():
    (code,) = blocks(PAGES["edit-a-model.md"], "python")
    names, shown = {}, io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(code, names)
    result, model = names["result"], names["model"]
    assert result.status.value == "optimal"
    assert "optimal" in shown.getvalue()
    assert len(result.selected) == 3
    assert not {"age", "chol"} <= set(result.selected)
    assert model.w["ca"].value <= 0.5 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if blocks(text, "pycon")])
def test_sessions_of_python_say_what_happens(page):
    said = []
    session = doctest.DocTestParser().get_doctest("\n".join(blocks(PAGES[page], "pycon")), {"fs": fs}, page, page, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = doctest.DocTestRunner(verbose=False, optionflags=flags).run(session, out=said.append)
    assert not ran.failed, "".join(said)


# ------------------------------------------------------------------------------------------------------- the tutorial


@pytest.mark.slow
def test_the_tutorial_runs_from_its_first_command_to_its_last(tmp_path, monkeypatch, capfd):
    """In a folder that has data/, as its reader does; what it shows of outputs is there."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCS.parent / "data", "data")
    text = PAGES["tutorial.md"]
    for line in "\n".join(blocks(text, "bash")).splitlines():
        if line.startswith("fsmodels "):
            assert main(shlex.split(line)[1:]) == 0, line
        else:
            subprocess.run(line, shell=True, check=True)
    names = {}
    for code in blocks(text, "python"):
        exec(code, names)
    said, _ = capfd.readouterr()
    squeezed = {" ".join(line.split()) for line in said.splitlines()}
    shown = [line for block in blocks(text, "text") for line in block.splitlines()]
    for line in shown:
        if line.startswith(("Solved", "Chosen", "fsp-m", "budget=(costs", "cp, ca", "thal", "(bias)")):
            assert any(" ".join(line.split()) in other for other in squeezed), line
    assert Path("report.html").stat().st_size > 10_000
    assert round(names["result"].objective, 3) == 135.038


@pytest.mark.slow
@pytest.mark.parametrize("page", ["own-driver.md", "clusters.md"])
def test_python_of_pages_runs(page, capsys):
    for code in blocks(PAGES[page], "python"):
        exec(code, {})
    assert capsys.readouterr().out.strip()


# ----------------------------------------------------------------------------------------------------------- the site


def test_every_page_is_in_the_contents():
    contents = PAGES["index.md"] + PAGES["gallery.md"] + PAGES["benchmarks.md"]
    listed = {
        re.sub(r"^.*<(.*)>$", r"\1", line).removesuffix("?")
        for block in blocks(contents, "{toctree}")
        for line in block.splitlines()
    }
    assert {name.removesuffix(".md") for name in PAGES} - {"index"} <= listed
    assert {f"formulations/{page.stem}" for page in (DOCS / "formulations").glob("*.md")} <= listed


def test_every_public_name_is_in_the_reference():
    names = extension("public_names")
    pages = [page.read_text("utf-8") for page in DOCS.rglob("*.md")]
    prefixes = [prefix for text in pages for prefix in names.marked(text)]
    assert len(prefixes) == len(set(prefixes))
    homes = names.homes()
    lost = {name for name, home in homes.items() if not any(f"{home}.".startswith(f"{p}.") for p in prefixes)}
    assert not lost, "their packages are on no page: add a mark to one of docs/reference"
    assert {"fsmodels.select", "solvers.solve"} <= set(homes)
    modules = {name for text in pages for name in re.findall(r"^\.\. automodule:: ([\w.]+)$", text, re.MULTILINE)}
    assert {getattr(fs, name).__name__ for name in fs.__all__ if inspect.ismodule(getattr(fs, name))} <= modules


def extension(name, folder="docs/_ext"):
    spec = importlib.util.spec_from_file_location(name, DOCS.parent / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mathematics_becomes_a_table_of_cells_that_browsers_show():
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx")
    told = extension("mathml").mathml(r"\min_x\ & \tfrac12 x^2 && (1) \\ \text{s.t.}\ & x \ge 1 && (2)", block=True)
    assert told.count("<mtr>") == 2
    assert told.count("<mtd") == 8
    assert "\\" not in told
    assert "<mfrac>" in told


def test_formulas_in_stored_outputs_are_converted():
    """The class of their elements is lost when a notebook becomes a page: all were shown as LaTeX."""
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx")
    shown = mathematics(r"w_j \le 2 \\ v < 1").replace(' class="math tex2jax_process mathjax_process"', "")
    context = {"body": f"<td>{shown}</td>"}
    extension("mathml").stored(None, "page", "template", context, None)
    assert context["body"].count("<math ") == 2
    assert "\\" not in context["body"]


def test_plain_mathematics_of_docstrings_is_escaped_and_lists_in_columns_keep_their_lines():
    escaped = extension("plain_docstrings").escaped
    assert escaped(["|w_j| of mu_, not ``a|b_``"]) == [r"\|w_j\| of mu\_, not ``a|b_``"]
    assert escaped(["``a``   one", "``bc``  two"]) == ["| ``a``   one", "| ``bc``  two"]
    assert escaped([".. math::", "    |x|_"]) == [".. math::", "    |x|_"]


def test_mathematics_of_a_formulation_is_written_as_latex():
    notation = extension("notation")
    for text, latex in {
        "1/2 w'w + C e'xi = e'alpha": r"\tfrac{1}{2} w^{\top}w + C e^{\top}\xi = e^{\top}\alpha",
        "|w_j| <= sqrt(2 C min(l+, l-))": r"\lvert w_{j}\rvert \le \sqrt{2 C \min (l_{+}, l_{-})}",
        "v_* = 1 - e^(-alpha v)": r"v_{*} = 1 - e^{-\alpha v}",
        "v+_j - w~_j^2 / (4C)": r"v_{j}^{+} - \tilde{w}_{j}^{2} / (4C)",
    }.items():
        assert notation.converted(f"so {text} at") == ["so ", latex, " at"]
    plain = "a k-fold split of A (see L-BFGS-B, e.g. 1e-8) in the paper's section 2"
    assert notation.converted(plain) == [plain]
    assert notation.is_formula("w_j^2 <= t_j")
    assert not notation.is_formula('loss = "f1"')


def test_notes_of_a_module_are_not_on_its_page():
    told = extension("plain_docstrings").without_notes(
        ["Symbols", "    w", "Class", "    LP", "", "May import ``solvers``."]
    )
    assert told == ["Class", "    LP", ""]


def test_what_a_page_would_fetch_is_found(tmp_path):
    docs = extension("docs", "scripts")
    page = tmp_path / "page.html"
    page.write_text('<a href="https://pyomo.org">x</a><img src="certificate.png"><script src="../x.js"></script>')
    assert not docs.fetched(tmp_path)
    for tag in (
        '<script src="https://cdn.org/m.js">',
        '<link rel="x" href="//fonts.org/f.css">',
        "<img src='http://a/b'>",
    ):
        page.write_text(tag)
        assert len(docs.fetched(tmp_path)) == 1


def test_formulas_and_long_titles_of_the_site_are_found(tmp_path):
    docs = extension("docs", "scripts")
    page = tmp_path / "page.html"
    tree = '<div class="sidebar-tree"><a class="current reference internal" href="#">{}</a></div></aside>'
    page.write_text(tree.format("Errors on new samples"))
    assert not docs.raw_formulas(tmp_path)
    assert not docs.long_titles(tmp_path)
    page.write_text(tree.format("The command line, and Python") + r"\(x\)")
    assert docs.raw_formulas(tmp_path) == ["page.html"]
    assert docs.long_titles(tmp_path) == ["The command line, and Python"]


def test_items_of_the_gallery_have_pictures():
    pytest.importorskip("PIL")
    page = extension("gallery").with_thumbnails(PAGES["gallery.md"], DOCS)
    assert page.count('<img alt="" src="data:image/png;base64,') == len(
        list((DOCS.parent / "notebooks").glob("*.ipynb"))
    )


def test_names_of_a_module_are_in_a_table():
    written = extension("public_names").written("% summary: fsmodels.models.fsp\n")
    assert ".. autosummary::" in written
    assert "~fsmodels.models.fsp.fsp_m" in written
    assert "pyomo" not in written
