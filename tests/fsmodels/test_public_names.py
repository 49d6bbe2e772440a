"""What <TAB> shows of the package and of its modules: public names, all of them, and nothing else."""

import inspect

import pytest

import fsmodels as fs

MODULES = {"fs": fs} | {name: getattr(fs, name) for name in fs.__all__ if inspect.ismodule(getattr(fs, name))}


def test_these_modules_are_public():
    data = {"instances", "synthetic"}
    models = {"svm", "fsp", "concave", "gmeb", "kernel", "multivariate", "measures", "obd", "rows", "side_constraints"}
    assert set(MODULES) == {"fs", "baselines", "rankings"} | data | models


@pytest.mark.parametrize("name", MODULES)
def test_it_offers_its_public_names_and_no_others(name):
    module = MODULES[name]
    offered = dir(module)
    assert offered == sorted(set(module.__all__))
    assert not [word for word in offered if word.startswith("_") and word != "__version__"]
    for word in offered:
        what = getattr(module, word)  # what is offered is there
        assert name == "fs" or not inspect.ismodule(what)


@pytest.mark.parametrize("name", MODULES)
def test_what_it_offers_is_our_own(name):
    own = [getattr(MODULES[name], word) for word in dir(MODULES[name])]
    homes = {what.__module__.partition(".")[0] for what in own if hasattr(what, "__module__")}
    assert homes <= {"fsmodels", "solvers"}
