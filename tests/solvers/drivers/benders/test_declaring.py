"""Which variables are whose: options, the Suffix "stage", the default, blocks; and what is said before a run."""

import pickle

import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, OptionError, SolutionStatus, explain_split
from solvers.facts import stages_of

ACRES, YIELDS = ["wheat", "corn", "beets"], {"good": 1.2, "usual": 1.0, "bad": 0.8}
CROP, PRICE, COST = [2.5, 3.0, 20.0], [170, 150, 36], [150, 230, 260]


def one_year(b, s):
    b.sold, b.bought = pyo.Var(ACRES, bounds=(0, None)), pyo.Var(ACRES[:2], bounds=(0, None))
    b.extra = pyo.Var(bounds=(0, None))
    b.sold["beets"].setub(6000)
    made = {c: YIELDS[s] * CROP[k] * b.model().acres[c] for k, c in enumerate(ACRES)}
    b.wheat = pyo.Constraint(expr=made["wheat"] + b.bought["wheat"] - b.sold["wheat"] >= 200)
    b.corn = pyo.Constraint(expr=made["corn"] + b.bought["corn"] - b.sold["corn"] >= 240)
    b.beets = pyo.Constraint(expr=b.sold["beets"] + b.extra <= made["beets"])
    income = sum(PRICE[k] * b.sold[c] for k, c in enumerate(ACRES)) + 10 * b.extra
    b.gain = pyo.Expression(expr=income - 238 * b.bought["wheat"] - 210 * b.bought["corn"])


def farmer():
    """Birge and Louveaux: acres first, then what is bought and sold in each of three years."""
    m = pyo.ConcreteModel("farmer")
    m.acres = pyo.Var(ACRES, bounds=(0, 500))
    m.land = pyo.Constraint(expr=sum(m.acres.values()) <= 500)

    m.year = pyo.Block(list(YIELDS), rule=one_year)
    cost = sum(COST[k] * m.acres[c] for k, c in enumerate(ACRES))
    m.profit = pyo.Objective(expr=sum(m.year[s].gain for s in YIELDS) / 3 - cost, sense=pyo.maximize)
    return m


def sites():
    """Open sites, and ship to four customers; no declaration is needed."""
    m = pyo.ConcreteModel("sites")
    m.open, m.share = pyo.Var([0, 1], domain=pyo.Binary), pyo.Var(range(4), [0, 1], bounds=(0, None))
    m.served = pyo.Constraint(range(4), rule=lambda m, i: m.share[i, 0] + m.share[i, 1] == 1)
    m.only_open = pyo.Constraint(range(4), [0, 1], rule=lambda m, i, j: m.share[i, j] <= m.open[j])
    m.cost = pyo.Objective(
        expr=3 * m.open[0] + 4 * m.open[1] + sum((1 + abs(i - 3 * j)) * m.share[i, j] for i in range(4) for j in (0, 1))
    )
    return m


def staged():
    m = farmer()
    m.stage = pyo.Suffix()
    m.stage[m.acres] = 0
    for k, s in enumerate(YIELDS, 1):
        m.stage[m.year[s]] = k
    return m


def pickled(m):
    return pickle.loads(pickle.dumps(m))


def shape(found):
    return [(len(b.variables), len(b.rows), len(b.coupling)) for b in found.blocks]


@pytest.mark.parametrize("copy", [lambda m: m, lambda m: m.clone(), pickled])
def test_a_suffix_survives_clone_and_pickle(copy):
    m = copy(staged())
    first, blocks = stages_of(m)
    assert [v.name for v in first] == [f"acres[{c}]" for c in ACRES]
    assert [len(b) for b in blocks] == [6, 6, 6]
    result = solvers.solve(m, "benders", gap=1e-7)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(108390, rel=1e-6)  # Birge and Louveaux, table 1.5


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
@pytest.mark.parametrize(
    "declare",
    [
        lambda m: {"complicating": m.acres},
        lambda m: {"blocks": m.year},
        lambda m: {"blocks": [m.year[s] for s in YIELDS]},
        lambda m: {"blocks": [[b.sold, b.bought, b.extra] for b in m.year.values()]},
        lambda m: {"complicating": m.acres, "blocks": [m.year["good"]]},
    ],
)
def test_all_ways_to_declare_are_one(declare, driver):
    m = farmer()
    options = declare(m)
    found = explain_split(m, **options)
    assert found.master.variables == [f"acres[{c}]" for c in ACRES]
    assert found.master.rows == ["land"]
    # Nothing ties the markets of a year: wheat, corn and beets are apart, unless a year is declared to be one block.
    apart = 9 - 2 * len(options.get("blocks", []))
    assert len(found.blocks) == apart
    assert sum(len(b.variables) for b in found.blocks) == 18
    assert found.couplings == [f"year[{s}].{row}" for s in YIELDS for row in ("wheat", "corn", "beets")] or apart == 7
    assert len(found.couplings) == 9
    assert found.refused == []
    assert solvers.solve(m, driver, gap=1e-7, **options).objective == pytest.approx(108390, rel=1e-6)


def test_by_default_the_integers_are_decided_first():
    m = sites()
    found = explain_split(m)
    assert found.master.variables == ["open[0]", "open[1]"]
    assert shape(found) == [(2, 1, 2)] * 4
    assert found.blocks[2].tied_to == ["open[0]", "open[1]"]
    assert found.table.loc["block 4"].tolist() == [2, 1, 2, 2, "multipliers of its linear program"]
    assert found.table.index.tolist() == ["master", *(f"block {k}" for k in range(1, 5))]
    assert found.table.to_string() in str(found)
    for driver in ("benders", "branch-and-cut"):
        result = solvers.solve(m, driver)
        assert result.objective == pytest.approx(solvers.solve(sites(), "highs").objective)
    m.open.fix(1)
    with pytest.raises(OptionError, match=r"no variable of this model is integer: give complicating=.*Suffix"):
        explain_split(m)
    with pytest.raises(OptionError, match="benders needs the complicating variables"):
        solvers.solve(m, "benders")


def test_the_nearest_word_of_a_suffix_counts():
    m = farmer()
    m.stage = pyo.Suffix()
    m.stage[None] = 0
    m.stage[m.year] = 4
    m.stage[m.year["bad"]] = 2
    m.stage[m.year["bad"].sold] = 3
    m.stage[m.year["bad"].sold["corn"]] = 7
    m.year["usual"].stage = pyo.Suffix()
    m.year["usual"].stage[m.year["usual"].extra] = 9
    first, blocks = stages_of(m)
    assert len(first) == 3
    assert [len(b) for b in blocks] == [3, 2, 11, 1, 1]  # 2, 3, 4, 7, 9
    m.stage.deactivate(), m.year["usual"].stage.deactivate()
    assert stages_of(m) is None


def test_options_count_before_the_suffix():
    m = staged()
    m.stage[m.acres["corn"]] = 1
    assert "acres[corn]" not in explain_split(m).master.variables
    assert explain_split(m, complicating=m.acres).source == "complicating="
    assert len(explain_split(m, complicating=m.acres).master.variables) == 3


def test_blocks_that_are_tied_are_refused_by_the_row():
    m = staged()
    m.reserve = pyo.Var(bounds=(0, 9))
    m.tie = pyo.Constraint(expr=m.year["good"].extra <= m.reserve)
    m.knot = pyo.Constraint(expr=m.year["bad"].extra <= m.reserve + 100)
    found = explain_split(m)
    words = r'Row "(tie|knot)" connects block [13] and block [13] \(by .*reserve'
    assert len(found.refused) == 1
    with pytest.raises(ModelError, match=words):
        raise ModelError(found.refused[0])
    with pytest.raises(ModelError, match=words):
        solvers.solve(m, "benders")
    m.stage[m.reserve] = 0
    assert explain_split(m).refused == []
    whole = solvers.solve(m.clone(), "highs").objective
    assert solvers.solve(m, "benders", gap=1e-7).objective == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize(
    ("stage", "of", "words"),
    [
        (1.5, lambda m: m.acres, r'has the value 1.5 for "acres": give 0 for the variables of the master'),
        (-1, lambda m: None, "has the value -1 for all others"),
        ("late", lambda m: m.year["bad"], r'has the value \'late\' for "year\[bad\]"'),
        (1, lambda m: m.land, r'gives "land" a stage, which is neither a variable nor a block'),
    ],
)
def test_an_invalid_stage_is_rejected(stage, of, words):
    m = staged()
    m.stage[of(m)] = stage
    for attempt in (explain_split, lambda m: solvers.solve(m, "benders")):
        with pytest.raises(ModelError, match=words):
            attempt(m)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (lambda m: {"blocks": "year"}, "blocks='year' is not allowed"),
        (lambda m: {"blocks": []}, "not allowed"),
        (lambda m: {"blocks": [[m.year["bad"].sold], [m.year["bad"].sold]]}, r'"year\[bad\].sold\[wheat\]" twice'),
        (lambda m: {"blocks": [[m.acres]], "complicating": m.acres}, "belongs to the master and to a block"),
        (
            lambda m: {"blocks": [[m.acres, *(v for b in m.year.values() for v in (b.sold, b.bought, b.extra))]]},
            "leave",
        ),
        (lambda m: {"blocks": [[farmer().acres]]}, "another model"),
        (lambda m: {"blocks": [[m.land]]}, 'contains "land", which is not a variable'),
    ],
)
def test_blocks_that_are_none_are_refused(options, words):
    m = farmer()
    with pytest.raises(OptionError, match=words):
        explain_split(m, **options(m))


def test_what_is_refused_is_said_before_the_run():
    m = sites()
    m.bent = pyo.Constraint(expr=m.share[2, 0] * m.share[2, 1] <= 0.1)
    m.one_or_two = pyo.SOSConstraint(var=m.open, sos=1)
    m.extra = pyo.Var()
    m.mixed = pyo.Constraint(expr=m.share[1, 0] + m.extra <= 1)
    found = explain_split(m, complicating=m.open, subproblem=m.share)
    said = "\n".join(found.refused)
    for words in ('SOSConstraint "one_or_two"', '"mixed"', '"bent"'):
        assert words in said
    with pytest.raises(ModelError, match="one_or_two"):
        solvers.solve(m, "benders", complicating=m.open, subproblem=m.share)
