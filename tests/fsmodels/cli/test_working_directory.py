"""No command runs code of the working directory: modules, programs and settings files that lie there are traps."""

import os
import subprocess
import sys
from importlib.metadata import requires

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="programs are shell scripts here")

SCRIPT = """
import sys
import fsmodels as fs
from fsmodels.cli import main

OK = ["--max-features", "1", "--quiet"]
CV = ["data.csv", "--model", "rfe", *OK, "--n-jobs", "2"]
fs.stability(fs.Dataset.from_csv("data.csv"), "rfe", max_features=1, folds=2, n_jobs=2)  # starts the workers of all
codes = [
    main(["select", *CV, "--cv", "2", "--json", "found.json"]),
    main(["list"]),
    main(["describe", "fsp-m"]),
    main(["predict", "found.json", "data.csv", "--out", "labels.txt"]),
    main(["path", *CV[:3], "--max-features", "1,2", *CV[5:], "--folds", "2", "--picture", "p" + ".png"]),
    main(["stability", *CV, "--folds", "2"]),
    main(["compare", *CV[:1], *CV[3:], "--models", "rfe,relief", "--cv", "2"]),
    main(["report", *CV, "--html", "page.html", "--cv", "0", "--max-path", "0", "--what-if", "0"]),
    main(["select", "data.csv", "--model", "fsp-m", *OK, "--certificate", "c.txt"]),
    main(["verify", "c.txt", "data.csv"]),
    main(["certify", "data.csv", "--features", "a", *OK]),
    main(["near-optimal", "data.csv", "--model", "fsp-m", *OK]),
    main(["necessity", "data.csv", "--model", "fsp-m", *OK]),
    main(["price", "data.csv", "--model", "fsp-m", *OK]),
]
for solver in sys.argv[1:]:
    main(["select", "data.csv", "--model", "svm", "--quiet", "--solver", solver])
print(codes)
"""
SOLVERS = ["cbc", "glpk", "ipopt", "couenne", "bonmin", "baron", "cplex", "xpress", "mosek", "gams", "scip", "gurobi"]
PROGRAMS = {*SOLVERS, "glpsol", "cplexamp", "gurobi_cl", "highs", "pounce", "latex", "dot", "uname", "ldconfig", "sh"}
STANDARD = ["multiprocessing", "signal", "json", "pickle", "warnings", "threading", "encodings", "sitecustomize"]
SETTINGS = {
    "matplotlibrc": "backend: module://trap\n",
    "pyomo.cfg": "- nothing",
    "setup.cfg": "[nothing]\n",
    "pyvenv.cfg": "home = .\n",
}


def modules():
    """The import names of all dependencies, and of modules by which Python starts workers."""
    names = [
        line.split(";")[0].split("[")[0].split("<")[0].split(">")[0].split("=")[0] for line in requires("fsmodels")
    ]
    return {*STANDARD, "sklearn", "yaml", "trap", "dateutil", "fsmodels", "solvers", *(n.strip(" ~!") for n in names)}


def test_no_command_runs_code_of_the_working_directory(tmp_path):
    trapped, programs, script = tmp_path / "trapped", tmp_path / "bin", tmp_path / "scripts" / "run.py"
    for folder in (trapped, programs, script.parent):
        folder.mkdir()
    script.write_text(SCRIPT)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(16, 3)), columns=["a", "b", "c"])
    frame.assign(target=np.arange(16) % 2).to_csv(trapped / "data.csv", index=False)
    sprung = tmp_path / "sprung"
    for name in modules():
        (trapped / f"{name.replace('-', '_')}.py").write_text(f"open({str(sprung)!r}, 'a').write('{name}.py ')\n")
    for name in PROGRAMS:
        (trapped / name).write_text(f"#!/bin/sh\nprintf '{name} ' >> {sprung}\n")
        (trapped / name).chmod(0o755)
    for name in ("cbc", "glpsol", "ipopt"):  # without one on the PATH no solver would be looked for
        (programs / name).write_text("#!/bin/sh\necho 'Version: 2.10.8'\n")
        (programs / name).chmod(0o755)
    for name, text in SETTINGS.items():
        (trapped / name).write_text(text)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONSAFEPATH", None)
    environment.pop("PYTHONPATH", None)
    run = subprocess.run(
        [sys.executable, str(script), *SOLVERS],
        cwd=trapped, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert not sprung.exists(), sprung.read_text()
    assert not (trapped / "kept").exists()
    assert "Traceback" not in run.stderr, run.stderr
    assert run.stdout.splitlines()[-1] == str([0] * 14), run.stdout + run.stderr
