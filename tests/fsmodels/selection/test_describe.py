"""What ``fs.describe`` says of each model: its own problem, every parameter, true solvers, pages that are there."""

import dataclasses
import html
import importlib
import inspect
import re

import pytest

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.describe import formulas, plain
from fsmodels.selection.select import select
from solvers import DRIVERS, takers


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_told_in_full(name):
    found = fs.describe(name)
    assert found.equations
    assert not [
        line for line in found.equations if re.search(r"[\\{}&]", re.sub(r"\{(d :|0, 1|e'alpha).*?\}", "", line))
    ]
    assert [told.name for told in found.parameters] == list(MODELS[name].parameters)
    assert not [told.name for told in found.parameters if len(told.text) < 10]
    assert found.certificate
    assert found.source
    public = found.page.removeprefix("fsmodels.models.").removeprefix("fsmodels.")
    assert getattr(fs, public) is importlib.import_module(found.page)
    shown = repr(found)
    for word in (name, found.title, "Parameters", "Solved by", "Certificate", f"help(fs.{public})"):
        assert word in shown


def test_models_of_one_page_have_problems_of_their_own():
    told = {name: tuple(fs.describe(name).equations) for name in MODELS}
    alike = {("fsp-m", "fsp-lambda"), ("full-fs", "ao-simple")}  # one display says both; two methods of one problem
    for a in MODELS:
        for b in MODELS:
            assert a == b or told[a] != told[b] or {(a, b), (b, a)} & alike


def test_the_problem_is_that_of_the_page_word_for_word():
    assert fs.describe("fsv").equations[0] == "FSV:  min (1 - lambda) E + lambda sum_j (1 - e^(-alpha v_j))   (11)"
    assert "min over d in D:  min over w, xi >= 0:  1/2 sum_j w_j^2 / d_j" in fs.describe("fsmulti").equations[0]
    assert fs.describe("rfe").equations[0].startswith("rfe: recursive feature elimination")
    assert r"\min_{w, b, \xi}" in fs.describe("svm").latex


def test_defaults_are_those_of_the_builders_and_needs_are_named():
    told = {name: {p.name: p for p in fs.describe(name).parameters} for name in ("fsp-m", "fsmulti", "full-fs")}
    assert told["fsp-m"]["max_features"].default == "needed"
    assert told["fsp-m"]["C"].default == "1.0"
    assert told["fsp-m"]["form"].kind.startswith('{"perspective"')
    assert told["fsmulti"]["budget"].default == "this or max_features"
    assert told["fsmulti"]["max_features"].default == "this or budget"
    assert told["fsmulti"]["offset"].flag == "--offset"
    assert told["full-fs"]["offset"].flag == ""  # the switch is not for a number


@pytest.mark.parametrize(
    ("name", "default", "driver", "whole"),
    [
        ("fsp-m", "branch-and-cut", "benders", "scip"),
        ("fsmulti", "two-layer", "two-layer", "clarabel"),
        ("fsb", "alternating", "alternating", "scip"),
        ("fss", "sla", "multi-start", "scip"),
        ("gmeb", "clarabel", "cutting-plane", "clarabel"),
    ],
)
def test_solvers_are_those_that_take_it(name, default, driver, whole):
    found = fs.describe(name).solvers
    assert found.default == default
    assert driver in found.drivers
    assert whole in found.whole if whole else not found.whole


def test_a_convex_solver_is_not_named_for_a_problem_that_is_not_convex():
    found = fs.describe("fsb").solvers
    assert "clarabel" not in found.whole
    assert "pounce" in found.local


def test_who_takes_a_model_of_ones_own():
    import pyomo.environ as pyo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(domain=pyo.Binary)
    m.y = pyo.Var(bounds=(0, 3))
    m.row = pyo.Constraint(expr=m.y <= 2 * m.x)
    m.cost = pyo.Objective(expr=m.x - m.y)
    found = takers(m)
    assert found.default == "highs"
    assert "benders" in found.drivers
    assert set(found.local) == set()


def test_baselines_run_no_solver():
    assert fs.describe("relief").solvers is None
    assert "runs no solver" in repr(fs.describe("relief"))


def test_all_models_have_a_line_and_the_command_says_the_same(capsys):
    everything = fs.describe()
    assert list(everything) == list(MODELS)
    for name, spec in MODELS.items():
        assert re.search(rf"^{re.escape(name)} +{re.escape(spec.title)}$", repr(everything), re.MULTILINE)
        assert f"<code>{name}</code>" in everything._repr_html_()
    assert everything["svm"] == fs.describe("svm")
    assert main(["describe"]) == 0
    assert capsys.readouterr().out == repr(everything) + "\n"
    assert main(["describe", "gmeb"]) == 0
    assert capsys.readouterr().out == repr(fs.describe("gmeb")) + "\n"
    assert main(["describe", "gmbe"]) == 2
    assert 'Did you mean "gmeb"?' in capsys.readouterr().err


@pytest.mark.parametrize("name", ["fsp-m", "obd", "ao-efs"])
def test_jupyter_shows_the_same_as_mathematics_and_a_table(name):
    found = fs.describe(name)
    shown = found._repr_html_()
    if found.latex:
        assert html.escape(found.latex) in shown
    for told in found.parameters:
        assert f"<code>{told.name}</code>" in shown
    assert shown.count("<tr>") == len(found.parameters) + 1
    assert shown.count("<table") == shown.count("</table>") == 1


def test_rows_of_a_display_end_where_the_next_problem_begins():
    page = r"""
.. math::
    \min_x\ & x && (1) \\
    \text{s.t.}\ & x \ge 0 \\
    \max_y\ & \tfrac{1}{2} \sqrt{y} && (2)
"""
    assert [plain(row) for row in formulas(page, ("(1)",))] == [
        "min over x:  x   (1)",
        "s.t.  x >= 0",
    ]
    assert [plain(row) for row in formulas(page, ("(2)",))] == ["max over y:  (1)/(2) sqrt(y)   (2)"]


# ------------------------------------------------------------------------------------------------- help(fs.select)

KERNELS = {"full-fs", "ao-simple", "ao-margin", "ao-efs", "gmkl"}


def told_of_options():
    text = " ".join(inspect.getdoc(select).split("**options")[1].split("\nReturns\n")[0].split())
    return text.split("Options of the solver:")


def names_in(text):
    names = set()
    for word in re.split(r"[,;:]", text):
        names |= KERNELS if word.strip().startswith("kernels") else {word.strip()} & set(MODELS)
    return names - ({"gmkl"} if "but gmkl" in text else set())


def test_help_of_select_names_every_parameter_with_its_models():
    parameters, _ = told_of_options()
    said = {}
    for words, models in re.findall(r"((?:``\w+``(?:, )?)+) \(([^)]*)\)", parameters):
        for word in re.findall(r"``(\w+)``", words):
            said.setdefault(word, set()).update(names_in(models))
    own = {"max_features", "C", "penalty", "budget"}  # keywords of their own
    true = {}
    for name, spec in MODELS.items():
        for parameter in spec.parameters:
            if parameter not in own:
                true.setdefault(parameter, set()).add(name)
    assert own <= set(inspect.signature(select).parameters)
    with_sigma, said_without = true.pop("sigma"), re.search(r"``sigma`` \(all but ([^)]*)\)", parameters).group(1)
    assert with_sigma == set(MODELS) - names_in(said_without) - {"information-gain", "mutual-information", "relief"} - {
        "rfe"
    }
    said.pop("sigma")
    assert said == true


def test_help_of_select_names_every_option_of_every_driver():
    _, options = told_of_options()
    common = set(re.findall(r"``(\w+)``", options.split("of drivers:")[0]))
    given = set(inspect.signature(select).parameters)
    said = {name: set() for name in DRIVERS}
    for part in re.split(r"[;-] (?=[a-z])", options.split("of drivers:")[1]):
        drivers, _, words = part.partition(": ")
        for name in drivers.split(","):
            if name.strip(" -") in said:
                said[name.strip(" -")] |= set(re.findall(r"``(\w+)``", words))
    for name, driver in DRIVERS.items():
        true = {field.name for field in dataclasses.fields(driver.options_type)} - common - given
        assert said[name] - {"method"} == true, name  # of blocks with an oracle


def test_a_description_says_whether_samples_can_be_weighed():
    assert "honoured" in fs.describe("fsp-m").weights
    assert "Weights of samples\n    refused" in repr(fs.describe("relief"))
