"""The display of a model: LaTeX for rows of a builder, text for all others, and changes."""

import re

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements

from solvers import Facts, ModelError, import_hook, show
from solvers.html import escaped, mathematics, table
from solvers.model_page import symbol


def lines(model):
    return {line.name: line for line in show(model).equations}


@pytest.fixture
def facilities():
    m = pyo.ConcreteModel("facilities")
    m.sites, m.customers = pyo.Set(initialize=["a", "b", "c", "d"]), pyo.Set(initialize=range(5))
    m.open = pyo.Var(m.sites, domain=pyo.Binary)
    m.x = pyo.Var(m.sites, m.customers, bounds=(0, 1))
    m.C = pyo.Param(initialize=2.0, mutable=True)
    cost = {(i, k): 1.0 + ord(i) % 3 + k for i in m.sites for k in m.customers}
    m.whole = pyo.Constraint(m.customers, rule=lambda m, k: sum(m.x[i, k] for i in m.sites) == 1)
    m.only = pyo.Constraint(
        m.sites,
        m.customers,
        rule=lambda m, i, k: m.x[i, k] <= m.open[i],
        doc=r"only from there \(x_{ik} \le \mathrm{open}_i \quad \forall\, i, k\)",
    )
    m.few = pyo.Constraint(expr=m.open["a"] + m.open["b"] <= 1)
    shipped = pyo.quicksum(cost[key] * m.x[key] for key in m.x)
    m.cost = pyo.Objective(expr=m.C * pyo.quicksum(m.open.values()) + shipped)
    return m


def test_other_models_show_the_first_row_of_each_component(facilities):
    said = lines(facilities)
    assert said["whole"].text == "x[a,0] + x[b,0] + x[c,0] + x[d,0] == 1\nfor each of customers"
    assert (said["whole"].size, said["whole"].latex) == (5, "")
    assert said["only"].text == "x[a,0] <= open[a]\nfor each of sites*customers"
    assert (said["only"].doc, said["only"].latex) == ("only from there", "")
    assert said["few"].text == "open[a] + open[b] <= 1"
    assert said["cost"].text.startswith("min C*(open[a] + open[b] + open[c] + open[d]) + (2.0*x[a,0] +")
    assert " ... " in said["cost"].text
    assert len(said["cost"].text) < 120
    assert said["open"].latex == r"\mathrm{open} \in \{0, 1\}^{4}"
    assert said["x"].latex == r"0 \le x \le 1"
    assert said["C"].latex == "C = 2"
    assert {line.remark for line in said.values()} == {""}


def test_the_rows_of_a_builder_show_their_latex_until_they_change(facilities):
    Facts().attach(facilities)
    assert lines(facilities)["only"].latex == r"x_{ik} \le \mathrm{open}_i \quad \forall\, i, k"
    assert lines(facilities)["only"].text == ""
    facilities.only["a", 0].set_value(facilities.x["a", 0] <= 2 * facilities.open["a"])
    facilities.cost.set_value(facilities.x["a", 0])
    facilities.fewer = pyo.Constraint(facilities.sites, rule=lambda m, i: m.open[i] + m.x[i, 0] <= 1)
    facilities.slack = pyo.Var()
    for model in (facilities, facilities.clone()):
        said = lines(model)
        assert said["only"].latex == r"x_{ik} \le \mathrm{open}_i \quad \forall\, i, k"
        assert (said["only"].text, said["only"].remark) == ("x[a,0] <= 2*open[a]", "1 of 20 changed")
        assert (said["cost"].text, said["cost"].remark) == ("min x[a,0]", "changed")
        assert said["fewer"].text == "open[a] + x[a,0] <= 1\nfor each of sites"
        assert [said[name].remark for name in ("fewer", "slack", "few")] == ["added", "added", ""]
    for row in facilities.only.values():
        row.set_value(facilities.x["a", 0] <= 0)
    assert (lines(facilities)["only"].latex, lines(facilities)["only"].remark) == ("", "changed")


def test_sizes_and_what_is_switched_off_or_fixed_are_those_of_now(facilities):
    before = show(facilities)
    assert before.headline == "24 variables, 4 of them 0/1, 26 rows."
    facilities.only["a", 0].deactivate()
    facilities.few.deactivate()
    facilities.open["d"].fix(0)
    facilities.C.set_value(3.5)
    now = lines(facilities)
    assert (now["only"].size, now["only"].remark) == (19, "1 of 20 switched off")
    assert (now["few"].size, now["few"].remark, now["few"].active) == (0, "switched off", False)
    assert now["open"].remark == "1 of 4 fixed"
    assert now["C"].latex == "C = 3.5"
    assert "opacity" in show(facilities)._repr_html_()


def test_domains():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(bounds=(None, 3)), pyo.Var(domain=pyo.Integers, bounds=(-1, 5))
    m.v, m.w = pyo.Var(range(6)), pyo.Var(range(3), bounds=lambda m, i: (0, i))
    m.p = pyo.Param(range(3), initialize={0: 1.0, 1: 2.0, 2: 2e-7}, mutable=True)
    said = {name: line.latex for name, line in lines(m).items()}
    assert said["x"] == r"x \in \mathbb{R}"
    assert said["y"] == r"y \le 3"
    assert said["z"] == r"-1 \le z \le 5,\; z \in \mathbb{Z}"
    assert said["v"] == r"v \in \mathbb{R}^{6}"
    assert said["w"] == r"l \le w \le u"
    assert said["p"] == r"2 \cdot 10^{-7} \le p \le 2"


def test_blocks_disjunctions_pairs_and_sets_are_shown():
    m = pyo.ConcreteModel()
    m.x, m.y, m.v = pyo.Var(), pyo.Var(), pyo.Var(range(3))
    m.year = pyo.Block(["good", "bad"])
    for block in m.year.values():
        block.sold = pyo.Var(bounds=(0, 9))
        block.most = pyo.Constraint(expr=block.sold <= m.x)
    m.either = Disjunction(expr=[m.x <= 1, m.y >= 2])
    m.pair = Complementarity(expr=complements(m.x >= 0, m.y >= 0))
    m.one = pyo.SOSConstraint(var=m.v, sos=1)
    m.limits = pyo.Constraint(expr=(1, m.x + m.y, 4))
    said = lines(m)
    assert said["year[...].most"].text == "year[good].sold <= x"
    assert (said["year[...].most"].size, said["year[...].sold"].size) == (2, 2)
    assert said["either"].text == "[x <= 1] or [2 <= y]"
    assert said["pair"].text == "0 <= x _|_ 0 <= y"
    assert said["one"].text == "SOS1(v[0], v[1], v[2])"
    assert said["limits"].text == "1 <= x + y <= 4"


def test_nothing_of_a_name_is_a_command():
    assert symbol("threshold_P") == r"\mathrm{threshold\_P}"
    assert symbol("mu_plus") == r"\mu_{+}"
    assert re.fullmatch(r"\\mathrm\{[a-z\\_ ]*\}", symbol(r"a\b{c} $x%&#^~"))


def test_html_escapes_every_text():
    nasty = "<script>alert(1)</script> & $5 or $6"
    m = pyo.ConcreteModel(nasty)
    m.x = pyo.Var([nasty], doc=nasty)
    m.row = pyo.Constraint(expr=m.x[nasty] <= 1, doc=nasty)
    page = show(m)._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    outside = re.sub(r"\\\(\\displaystyle .*?\\\)", "", page)
    assert not re.search(r"\$(?!</span>)", outside)
    assert escaped("$") == "<span>$</span>"
    assert not re.search(r"\\[(\[]", escaped(r"\(x\) and \[y\]"))
    assert "<b>" not in table([("<b>", 1)], ("<b>",))
    assert "&lt;" in mathematics("a<b")


def test_a_model_is_required(facilities):
    with pytest.raises(ModelError, match="show needs a Pyomo model and got str"):
        show("model")
    assert repr(show(facilities)).splitlines()[0] == "facilities: 24 variables, 4 of them 0/1, 26 rows."
    assert "x[a,0] <= open[a]; for each of sites*customers; only from there" in repr(show(facilities))


def test_jupyter_shows_models_that_carry_facts_and_leaves_others(monkeypatch, facilities):
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.interactiveshell import InteractiveShell

    shell = type("Shell", (), {"display_formatter": DisplayFormatter()})()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    import_hook.enter()
    html = shell.display_formatter.formatters["text/html"]
    assert html(facilities) is None
    Facts().attach(facilities)
    assert html(facilities) == show(facilities)._repr_html_()
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    import_hook.enter()  # IPython imported, none running
    assert InteractiveShell is not None


def test_the_live_model_is_not_changed(facilities):
    before = [(c.name, str(getattr(c, "expr", ""))) for c in facilities.component_data_objects(pyo.Constraint)]
    show(facilities)._repr_html_()
    assert before == [(c.name, str(getattr(c, "expr", ""))) for c in facilities.component_data_objects(pyo.Constraint)]
