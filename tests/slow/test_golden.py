"""The output and JSON of every command and the results of all models on shipped data are those that were recorded.

``python tests/slow/test_golden.py`` writes the files of ``golden`` anew, ``python tests/slow/test_golden.py NAME ...``
those of some cases. Times, versions, paths and iteration tables are left out. The record holds for the versions of the
packages with which it was written.
"""

import contextlib
import importlib.metadata
import io
import json
import math
import re
import shlex
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

import fsmodels as fs
from fsmodels import cli
from fsmodels.selection.catalogue import MODELS

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = {name: importlib.metadata.version(name) for name in ("numpy", "highspy", "clarabel", "scikit-learn")}
RECORDED = json.loads((GOLDEN / "versions.json").read_text()) if (GOLDEN / "versions.json").exists() else {}
pytestmark = [pytest.mark.slow, pytest.mark.skipif(VERSIONS != RECORDED, reason=f"recorded with {RECORDED}")]
LEFT_OUT = {"seconds", "versions", "path", "iterations", "data_file", "created", "command", "file"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

ROWS = "--max-features 3 --excludes sgpt:sgot --requires drinks:mcv --at-most 1:sgot:gammagt"
COMMANDS = {
    "select": "select bupa --model fsp-m --max-features 2 --excludes mcv:drinks --json OUT",
    "select-rows": "select cleveland --model fsp-m --max-features 4 --force-in age --force-out sex --at-least 1:ca:thal"
    " --all-or-none cp:thal --class-weight balanced --certificate certificate.json --json OUT",
    "select-weights": "select cleveland --model fsp-m --max-features 4 --sign ca:+ --fair sex:0.5 --json OUT",
    "select-text": "select cleveland --model fsp-m --max-features 4 --row 'slope <= oldpeak' --row '2 thal + ca <= 2'"
    " --row 'w[age] >= 0' --json OUT",
    "select-cv": "select bupa --model rfe --max-features 2 --cv 3 --json OUT",
    "select-test": "select bupa --model fsp-lambda --penalty 5 --test 0.3 --json OUT",
    "select-certify": "select bupa --model one-norm-svm -C 0.1 --certify 20 --json OUT",
    "select-quiet": "select bupa --model gmeb --R-plus 2 --R-minus 2 --quiet",
    "path": "path bupa --max-features 1:3 --folds 3 --choose one-se --json OUT",
    "path-prices": f"path bupa --model fsp-lambda --penalty 2,8 --choose knee {ROWS[17:]} --json OUT",
    "stability": "stability bupa --model rfe --max-features 2 --bootstraps 5 --json OUT",
    "compare": "compare bupa --models fsp-m,one-norm-svm,relief --max-features 2 --cv 3 --json OUT",
    "predict": "predict select.json shipped/bupa.csv --target target",
    "certify": f"certify bupa --features mcv,sgpt {ROWS} --json OUT",
    "near-optimal": f"near-optimal bupa {ROWS} --within 5% --json OUT",
    "necessity": f"necessity bupa {ROWS} --within 5% --json OUT",
    "price": f"price bupa {ROWS} --json OUT",
    "report": f"report bupa {ROWS} --cv 3 --max-path 3 --html page.html",
    "verify": "verify certificate.json cleveland --class-weight balanced --json OUT",
    "list": "list",
    "describe": "describe fsp-m",
    "describe-all": "describe",
    "wrong-model": "select bupa --model fsp",
    "wrong-feature": "select bupa --model fsp-m --max-features 2 --force-in alcohol",
    "wrong-parameter": "select bupa --model fsp-m --max-features 2 --R-plus 3",
    "infeasible": "select bupa --model fsp-m --max-features 2 --force-in sgpt --force-out sgpt",
}
BEFORE = {"predict": "select", "verify": "select-rows"}  # whose files are read
WORDS = {"max_features": 3, "penalty": 2.0, "R_plus": 2.0, "R_minus": 2.0, "C": 1.0}
DATA = ("bupa", "wdbc", "cleveland")


def plain(value):
    """Return the content of a JSON file without what depends on the machine."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in LEFT_OUT}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return text(value)[0] if isinstance(value, str) and value else value


def text(told):
    """Return lines without times, paths and iteration tables, and with one space for several."""
    lines, in_table, span = [], False, None
    if "<!DOCTYPE" in told:
        told = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>|<[^>]+>", " ", told)
    for line in told.splitlines() or [""]:
        in_table = line.startswith(" Iter ") or (in_table and line.strip() != "")
        if found := re.search(r" *\b(seconds|s/fold)$| *\b(seconds|s/fold) (?= )", line, re.IGNORECASE):
            span = found.span()
        span = span if line.strip() else None
        line = line[: span[0]] + line[span[1] :] if span else line
        line = re.sub(
            r"\b\d+(\.\d+)? ?(s|seconds|ms)\b|\d{4}-\d\d-\d\d|\d\d:\d\d UTC|\b\d+\.\d+\.\d+\S*|(/[\w.-]+){2,}",
            "#",
            line,
        )
        if not in_table and line.strip() and not re.search(r"\d+ iterations|Writing|Solved in", line):
            lines.append(" ".join(line.split()))
    return lines


def command(name, folder):
    """Return exit code, output, errors, JSON and page of a command that is run in a folder."""
    if name in BEFORE:
        command(BEFORE[name], folder)
    out, err = io.StringIO(), io.StringIO()
    shipped = str(Path(__file__).parents[2] / "data")
    words = shlex.split(COMMANDS[name].replace("OUT", f"{name}.json").replace("shipped", shipped))
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(words)
        file = Path(f"{name}.json")
        content = plain(json.loads(file.read_text())) if file.exists() else None
        page = text(Path("page.html").read_text()) if "page.html" in words else []
    told = out.getvalue().partition("Solvers")[0] if name == "list" else out.getvalue()
    return {"code": code, "out": text(told), "err": text(err.getvalue()), "json": content, "page": page}


def results(dataset):
    """Return status, selection, objective, bound and error of each model; slow models get about 60 samples."""
    data, found = fs.load_dataset(dataset), {}
    part = data.take(range(0, data.n_samples, max(1, data.n_samples // 60)))
    for name, spec in MODELS.items():
        few = part if "kernel" in spec.parameters or name in ("fs", "fsl") else data
        words = {word: value for word, value in WORDS.items() if spec.parameters.get(word)}
        words |= {"penalty": 0.05} if "penalty" in words and name != "fsp-lambda" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = fs.select(few, name, **words, **({"time_limit": 60.0} if spec.runs_solver else {}))
        told = {"status": one.status.value, "selected": sorted(one.selected), "objective": one.objective}
        found[name] = told | {"bound": one.bound, "error": one.training_error}
    return found


def check_equal(new, old, where):
    """Check that numbers agree to 1e-6, those in text to a unit of their last digit, and all else is equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        assert set(new) == set(old), where
        for name in old:
            check_equal(new[name], old[name], f"{where}: {name}")
    elif isinstance(old, list) and isinstance(new, list):
        assert len(new) == len(old), (where, new, old)
        for k, (one, other) in enumerate(zip(new, old, strict=True)):
            check_equal(one, other, f"{where}[{k}]")
    elif isinstance(old, float) and isinstance(new, int | float):
        assert math.isclose(new, old, rel_tol=1e-6, abs_tol=1e-6), (where, new, old)
    elif isinstance(old, str) and isinstance(new, str):
        assert NUMBER.sub("#", new) == NUMBER.sub("#", old), (where, new, old)
        for one, other in zip(NUMBER.findall(new), NUMBER.findall(old), strict=True):
            unit = 10.0 ** -len(other.partition("e")[0].partition(".")[2])
            assert math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=unit), (where, new, old)
    else:
        assert new == old, where


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_as_recorded(name, tmp_path):
    check_equal(command(name, tmp_path), json.loads((GOLDEN / f"{name}.json").read_text()), name)


@pytest.mark.parametrize("dataset", DATA)
def test_models_select_as_recorded(dataset):
    check_equal(results(dataset), json.loads((GOLDEN / f"models-{dataset}.json").read_text()), dataset)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "versions.json").write_text(json.dumps(VERSIONS, indent=1) + "\n")
    for case in sys.argv[1:] or [*COMMANDS, *(f"models-{name}" for name in DATA)]:
        with tempfile.TemporaryDirectory() as place:
            new = command(case, place) if case in COMMANDS else results(case.removeprefix("models-"))
        (GOLDEN / f"{case}.json").write_text(json.dumps(new, indent=1) + "\n")
