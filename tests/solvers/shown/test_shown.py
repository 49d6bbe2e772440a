"""What a model shows: the equations are those of the live model, whatever it is and whatever was done to it."""

import re

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements

from solvers import Facts, ModelError, show
from solvers.html import escaped, mathematics, table
from solvers.shown.symbols import index


def lines(model):
    return {line.name: line for line in show(model).equations}


def latex(model, name):
    return lines(model)[name].latex


@pytest.fixture
def facilities():
    m = pyo.ConcreteModel("facilities")
    m.sites, m.customers = pyo.Set(initialize=["a", "b", "c", "d"]), pyo.Set(initialize=range(5))
    m.open = pyo.Var(m.sites, domain=pyo.Binary)
    m.x = pyo.Var(m.sites, m.customers, bounds=(0, 1))
    m.C = pyo.Param(initialize=2.0, mutable=True)
    cost = {(i, k): 1.0 + ord(i) % 3 + k for i in m.sites for k in m.customers}
    m.whole = pyo.Constraint(m.customers, rule=lambda m, k: sum(m.x[i, k] for i in m.sites) == 1)
    m.only = pyo.Constraint(m.sites, m.customers, rule=lambda m, i, k: m.x[i, k] <= m.open[i])
    m.few = pyo.Constraint(expr=m.open["a"] + m.open["b"] <= 1)
    shipped = pyo.quicksum(cost[key] * m.x[key] for key in m.x)
    m.cost = pyo.Objective(expr=m.C * pyo.quicksum(m.open.values()) + shipped)
    return m


def test_sums_families_and_data_are_told_apart(facilities):
    assert latex(facilities, "whole") == r"\sum_{k} x_{k,l} = 1\quad \forall\, l \in \mathrm{customers}"
    only = latex(facilities, "only")
    assert only.startswith(r"x_{k,l} \le \mathrm{open}_{k}\quad \forall\, k \in \mathrm{sites},\; l \in")
    assert latex(facilities, "few") == r"\mathrm{open}_{\mathrm{a}} + \mathrm{open}_{\mathrm{b}} \le 1"
    assert latex(facilities, "cost") == r"\min\; C \, \sum_{k} \mathrm{open}_{k} + \sum_{k,l} a_{kl} \, x_{k,l}"
    assert latex(facilities, "open") == r"\mathrm{open}_{k} \in \{0, 1\}"
    assert latex(facilities, "x") == r"0 \le x_{k,l} \le 1"
    assert latex(facilities, "C") == "C = 2"


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


def model_of(**rows):
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(bounds=(None, 3)), pyo.Var(domain=pyo.Integers, bounds=(-1, 5))
    m.v = pyo.Var(range(6))
    for name, rule in rows.items():
        m.add_component(name, pyo.Constraint(expr=rule(m)))
    return m


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda m: 2 * m.x - 0.5 * m.y >= -1, r"2 \, x - \tfrac{1}{2} \, y \ge -1"),
        (lambda m: m.x >= 3, r"x \ge 3"),
        (lambda m: pyo.inequality(1, m.x + m.y, 4), r"1 \le x + y \le 4"),
        (lambda m: m.x**2 + m.x * m.y <= m.z, r"x^{2} + x \, y \le z"),
        (lambda m: (m.x - m.y) ** 2 <= 4, r"\left(x - y\right)^{2} \le 4"),
        (lambda m: pyo.exp(-2 * m.x) <= m.y, r"\exp\left(-2 \, x\right) \le y"),
        (lambda m: m.y / (1 + m.x**2) == 0, r"y \, \frac{1}{1 + x^{2}} = 0"),
        (lambda m: pyo.sqrt(m.x) + m.y**0.5 >= 1, r"\sqrt{x} + \sqrt{y} \ge 1"),
        (lambda m: abs(m.x) <= 1e-7, r"\left|x\right| \le 1 \cdot 10^{-7}"),
        (lambda m: sum(m.v.values()) <= 1, r"\sum_{k} v_{k} \le 1"),
        (lambda m: sum(m.v[k] for k in range(4)) <= 1, r"\sum_{k} v_{k} \le 1"),
        (lambda m: sum(k * m.v[k] ** 2 for k in range(1, 6)) <= 1, r"\sum_{k} a_{k} \, v_{k}^{2} \le 1"),
        (lambda m: sum((-1) ** k * v for k, v in m.v.items()) == 0, r"\sum_{k} \pm v_{k} = 0"),
        (lambda m: (m.x + 1) * (m.y + 1) <= 2, r"\left(x + 1\right) \, \left(y + 1\right) \le 2"),
        (lambda m: sum(pyo.exp(v) for v in m.v.values()) <= 9, r"\sum_{k} \exp\left(v_{k}\right) \le 9"),
        (lambda m: m.x + m.x + 2 * m.x <= 4, r"4 \, x \le 4"),
    ],
)
def test_expressions(rule, said):
    assert latex(model_of(row=rule), "row").replace(r" \;(4\ \mathrm{of}\ 6)", "") == said


def test_domains():
    m = model_of()
    said = {name: line.latex for name, line in lines(m).items()}
    assert said["x"] == r"x \in \mathbb{R}"
    assert said["y"] == r"y \le 3"
    assert said["z"] == r"-1 \le z \le 5,\; z \in \mathbb{Z}"


def test_members_that_are_not_alike_stand_one_by_one():
    m = model_of()
    m.rows = pyo.ConstraintList()
    for expr in (m.x <= 1, m.x + m.y <= 2, m.y**2 <= 3, m.x >= 0):
        m.rows.add(expr)
    assert latex(m, "rows").split(r" \\ ")[0] == r"x \le 1"
    assert latex(m, "rows").endswith(r"(4\ \mathrm{in\ all})")


def test_numbers_inside_functions_become_letters_where_they_vary():
    m = pyo.ConcreteModel()
    m.n = pyo.Set(initialize=range(6))
    m.q, m.u = pyo.Var(), pyo.Var(m.n)

    def row(m, i):
        return pyo.quicksum(m.u[k] * pyo.exp(-0.1 * (i - k) ** 2 * m.q) for k in m.n if k != i) + m.u[i] <= 0.25 * i

    m.row = pyo.Constraint(m.n, rule=row)
    m.same = pyo.Constraint(expr=sum(pyo.exp(-0.25 * m.u[k]) for k in m.n) <= 4)
    said = latex(m, "row")
    assert said.startswith(r"\sum_{k' \;(5\ \mathrm{of}\ 6)} u_{k'} \, \exp\left(a_{kk'} \, q\right) + u_{k} \le c_{k}")
    assert said.endswith(r"\forall\, k \in \mathrm{n}")
    assert latex(m, "same") == r"\sum_{k} \exp\left(-\tfrac{1}{4} \, u_{k}\right) \le 4"


def test_one_member_that_is_different_stands_beside_the_others():
    m = pyo.ConcreteModel()
    m.v, m.w = pyo.Var(range(50)), pyo.Var()
    m.row = pyo.Constraint(range(50), rule=lambda m, i: m.v[i] + (m.w if i == 17 else 0) <= 1)
    m.even = pyo.Constraint(range(50), rule=lambda m, i: (m.v[i] >= 1) if i == 31 else (m.v[i] <= 1))
    all_but_one = r"v_{k} \le 1\quad \forall\, k\;(49\ \mathrm{of}\ 50)"
    assert latex(m, "row") == all_but_one + r" \\ v_{17} + w \le 1"
    assert latex(m, "even") == all_but_one + r" \\ v_{31} \ge 1"


def test_blocks_disjunctions_pairs_and_sets_are_shown():
    m = model_of()
    m.year = pyo.Block(["good", "bad"])
    for block in m.year.values():
        block.sold = pyo.Var(bounds=(0, 9))
        block.most = pyo.Constraint(expr=block.sold <= m.x)
    m.either = Disjunction(expr=[m.x <= 1, m.y >= 2])
    m.pair = Complementarity(expr=complements(m.x >= 0, m.y >= 0))
    m.one = pyo.SOSConstraint(var=m.v, sos=1)
    said = lines(m)
    assert said["year[...].most"].latex == r"\mathrm{sold}_{k} \le x\quad \forall\, k"
    assert (said["year[...].most"].size, said["year[...].sold"].size) == (2, 2)
    assert said["either"].latex == r"\left[x \le 1\right] \;\veebar\; \left[y \ge 2\right]"
    assert said["pair"].latex == r"x \ge 0 \;\perp\; y \ge 0"
    assert said["one"].latex.startswith(r"\mathrm{SOS1}\left(v_{0}, v_{1}")


def test_every_brace_is_closed_and_nothing_of_a_name_is_a_command():
    m = pyo.ConcreteModel()
    names = [r"a\b{c}", "50 % of $x$", "x_1^2 & #3 ~", "ä" * 60]
    m.w = pyo.Var(names)
    m.first = pyo.Constraint(expr=m.w[names[0]] + m.w[names[1]] <= m.w[names[2]])
    m.last = pyo.Constraint(expr=m.w[names[3]] <= 1)
    for line in show(m).equations:
        bare = re.sub(r"\\[{}]", "", line.latex)
        depth = [bare[:k].count("{") - bare[:k].count("}") for k in range(len(bare) + 1)]
        assert min(depth) == 0
        assert depth[-1] == 0
        assert not re.search(r"(?<!\\)[$%&#]", line.latex)
    assert len(index(names[3])) < 40


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


def test_a_model_is_asked_for(facilities):
    with pytest.raises(ModelError, match="show needs a Pyomo model and got str"):
        show("model")
    assert repr(show(facilities)).splitlines()[0] == "facilities: 24 variables, 4 of them 0/1, 26 rows."
    assert show(facilities)._repr_latex_().startswith("$$\\begin{array}{l} \\min")


def test_jupyter_shows_models_that_carry_facts_and_leaves_others(monkeypatch, facilities):
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.interactiveshell import InteractiveShell

    from solvers.shown import jupyter

    shell = type("Shell", (), {"display_formatter": DisplayFormatter()})()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    jupyter.enable()
    html = shell.display_formatter.formatters["text/html"]
    assert html(facilities) is None
    Facts().seal(facilities)
    assert html(facilities) == show(facilities)._repr_html_()
    assert shell.display_formatter.formatters["text/latex"](facilities).startswith("$$")
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    jupyter.enable()  # IPython imported, none running
    assert InteractiveShell is not None


def test_the_live_model_is_not_changed(facilities):
    before = [(c.name, str(getattr(c, "expr", ""))) for c in facilities.component_data_objects(pyo.Constraint)]
    show(facilities)._repr_html_()
    assert before == [(c.name, str(getattr(c, "expr", ""))) for c in facilities.component_data_objects(pyo.Constraint)]
