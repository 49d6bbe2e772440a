"""More than two classes: one against the rest, or one Pyomo model with one selection for all classes."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.datasets import load_wine

import fsmodels as fs
from fsmodels.sklearn import SelectorClassifier

WINE = load_wine(as_frame=True)
FEW = WINE.data.iloc[::6, :5]
LABELS = WINE.target_names[WINE.target][::6]


def test_classes_share_a_selection_in_one_model():
    names = list(np.unique(LABELS))
    parts = {
        name: fs.Dataset(FEW.to_numpy(), np.where(name == LABELS, 1.0, -1.0), tuple(FEW.columns)).scaled("standard")
        for name in names
    }
    model = pyo.ConcreteModel()
    for name, data in parts.items():
        model.add_component(name, fs.fsp.fsp_m(data, max_features=2))
        model.component(name).objective.deactivate()
    first = model.component(names[0])
    model.total = pyo.Objective(expr=sum(model.component(name).objective.expr for name in names))
    model.shared = pyo.Constraint(
        names[1:], FEW.columns, rule=lambda m, name, j: m.component(name).sigma[j] == first.sigma[j]
    )
    result = fs.solve(model, "scip")
    choices = [chosen for r in range(3) for chosen in itertools.combinations(FEW.columns, r)]
    best = min(sum(fs.fsp.value(data, chosen) for data in parts.values()) for chosen in choices)
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(best, rel=2e-4)
    assert result.bound <= best * (1 + 1e-6)


def test_the_removed_option_names_the_alternative():
    with pytest.raises(fs.ParameterError, match=r'multiclass="shared" was removed.*multiclass="each"'):
        SelectorClassifier(multiclass="shared").fit(FEW, LABELS)


def test_a_limit_of_the_whole_fit_is_divided_among_the_classes():
    est = SelectorClassifier(max_features=3, time_limit=60.0).fit(FEW, LABELS)
    limits = [one.result.options["time_limit"] for one in est.selection_]
    assert limits[0] == pytest.approx(20.0, abs=5)
    assert sum(limits) > 60.0  # time that one class leaves goes to the next
