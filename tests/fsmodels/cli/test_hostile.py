"""No command ends in a traceback: each row is a command, its exit code and words that its message must hold."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels import cli
from fsmodels.errors import DataError
from fsmodels.models import libsvm
from fsmodels.selection import catalogue

FEATURES = list("abcd")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of 24 samples and four features, with what is wrong in their names."""
    where = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=24) > 0, 1, 0)
    ok = pd.DataFrame(X, columns=FEATURES).assign(target=y)

    def save(name, frame):
        frame.to_csv(where / name, index=False)

    save("ok.csv", ok)
    for power in (155, 200, 307):
        save(f"b{power}.csv", ok.assign(b=ok["b"] / 4 * 10.0**power))
    save("all200.csv", (ok * 1e200).assign(target=y))
    save("range.csv", ok.assign(b=np.where(y > 0, 1.7e308, -1.7e308)))
    save("tiny.csv", ok.assign(b=ok["b"] * 1e-320))
    save("noise.csv", ok.assign(target=rng.permutation(y)))
    save("offset.csv", ok.rename(columns={"b": "(offset)"}))
    for name, costs in {"cost16": [1e16, 1, 2, 3], "cost308": [1e308, 1e308, 2, 3]}.items():
        save(f"{name}.csv", pd.DataFrame({"feature": FEATURES, "cost": costs}))
    (where / "cell.csv").write_text("a,b,target\n1,2,0\n2," + "x" * 140_000 + ",1\n")
    (where / "ragged.csv").write_text("a,b,target\n1,2,0\n2," + "1" * 140_000 + ",1\n3\n")
    (where / "head.csv").write_text("a," + "b" * 140_000 + ",target\n1,2,0\n2,3,1\n0,1,1\n")
    (where / "null.csv").write_bytes(b"a,b,target\n1,\x00,0\n2,3,1\n")
    (where / "not.csv").write_bytes(bytes(range(256)) * 20)
    (where / "gone.csv.gz").write_bytes(b"\x1f\x8b no gzip")
    os.mkfifo(where / "pipe.csv")
    os.mkfifo(where / "pipe.svm")
    os.symlink("loop.csv", where / "loop.csv")
    return where


LONG = "n" * 300
HUGE = "at most 1e+30 is allowed"
RANGE = "outside the range of the arithmetic: give 1e-30..1e+30"
NONE = "--scale none"
MODELS = {
    "svm": "",
    "one-norm-svm": "",
    "robust-lp": "",
    "fsp-m": "--max-features 2",
    "fsp-lambda": "--penalty 1",
    "fs": "--penalty 0.1",
    "fsl": "--penalty 0.1",
    "fsv": "--penalty 0.1",
    "fss": "--penalty 0.1",
    "fsb": "--penalty 0.1",
    "obd": "--penalty 0.1",
    "gmeb": "--R-plus 1 --R-minus 1",
    "gmeb-dual": "--R-plus 1 --R-minus 1",
    "gmeb-nonconvex": "--R-plus 1 --R-minus 1",
    "fsmulti": "--max-features 2",
    "full-fs": "-C 1 --penalty 1",
    "ao-simple": "-C 1 --penalty 1",
    "ao-margin": "-C 1 --penalty 1",
    "ao-efs": "-C 1 --penalty 1",
    "gmkl": "-C 1 --penalty 1",
    "rfe": "--max-features 2",
    "information-gain": "--max-features 2",
    "mutual-information": "--max-features 2",
    "relief": "--max-features 2",
}
M = "--model fsp-m --max-features 2"
PROGRAM = 'The program "cat" is not a solver'

ROWS = [
    *((f"all200.csv --model {model} {words} {NONE}", 2, HUGE) for model, words in MODELS.items()),
    *(
        (f"ok.csv --model {model} {words.replace('-C 1 ', '')} -C {C}", 2, RANGE)
        for model, words in MODELS.items()
        if "C" in catalogue.MODELS[model].parameters
        for C in ("1e308", "1e-308")
    ),
    *(
        (f"ok.csv --model gmeb{form} --R-plus {R} --R-minus 1", 2, RANGE)
        for form in ("", "-dual", "-nonconvex")
        for R in ("5e-324", "1e308")
    ),
    (f"b155.csv {M} {NONE}", 2, 'Column "b" of data "b155" reaches'),
    (f"b307.csv {M} {NONE}", 2, "--scale standard"),
    (f"b155.csv {M}", 0, ""),
    (f"b307.csv {M}", 0, ""),
    (f"b307.csv {M} --scale minmax", 0, ""),
    (f"b307.csv {M} --scale unit-ball", 0, ""),
    ("all200.csv --model relief --max-features 2", 0, ""),
    (f"range.csv {M}", 2, "overflows when it is scaled"),
    (f"range.csv {M} --scale minmax", 2, "overflows when it is scaled"),
    (f"tiny.csv {M}", 0, ""),
    (f"tiny.csv {M} {NONE}", 0, ""),
    (f"ok.csv {M} --budget cost16.csv:5", 0, ""),
    (f"ok.csv {M} --budget cost308.csv:5", 0, ""),
    (f"ok.csv {M} --budget cost308.csv:0", 0, ""),
    (f"ok.csv {M} --budget cost16.csv:2e16", 0, ""),
    (f"ok.csv {M} --budget cost16.csv:1e16", 2, 'the cost 1 of "b" is negligible'),
    ("ok.csv --model fsl --penalty 0.1 --budget cost16.csv:5", 2, "is negligible"),
    ("offset.csv --model fsmulti --max-features 2 --offset", 2, "rename it"),
    ("offset.csv --model fsmulti --max-features 2", 2, "rename it"),
    (f"offset.csv {M}", 0, ""),
    (f"cell.csv {M}", 2, 'text in row 2, line 3 ("xxxxxxxxxx'),
    (f"ragged.csv {M}", 2, "has 1 cell and the header has 3"),
    (f"head.csv {M}", 0, ""),
    (f"null.csv {M}", 2, "row 1"),
    (f"not.csv {M}", 2, "not UTF-8"),
    (f"gone.csv.gz {M}", 2, "cannot be read"),
    (f"pipe.csv {M}", 2, "no regular file but a pipe or a device"),
    (f"pipe.svm {M} {NONE}", 2, "no regular file"),
    (f"/dev/zero {M}", 2, "no regular file"),
    (f"ok.csv {M} --budget /dev/zero:1", 2, "no regular file"),
    (f"ok.csv {M} --penalty /dev/zero", 2, "not understood"),
    (f"loop.csv {M}", 2, "cannot be read"),
    (f"{LONG}.csv {M}", 2, "File name too long"),
    (f"{LONG}.svm {M} {NONE}", 2, "File name too long"),
    (f"{LONG} {M}", 2, "no data set"),
    (f"ok.csv {M} --budget {LONG}.csv:1", 2, "File name too long"),
    (f"ok.csv {M} --penalty {LONG}", 2, "not understood"),
    (f"ok.csv {M} --json {LONG}", 2, "File name too long"),
    *(
        (f"ok.csv {M} --solver-option {word}=3", 2, f'"{word}" is no option of a solver: {instead}')
        for word, instead in {
            "C": "give -C",
            "model": "give --model",
            "data": "give DATA",
            "solver": "give --solver",
            "scale": "give --scale",
            "max_features": "give --max-features",
            "budget": "give --budget",
            "force_in": "give --force-in",
            "progress": "give --quiet",
            "validation": "it is for Python only",
            "choose_by": "it is for Python only",
        }.items()
    ),
    (f"ok.csv {M} --solver-option self=3", 2, 'Option "self" is not one of'),
    ("ok.csv --model svm --solver-option self=3", 2, '"self"'),
    (f"ok.csv {M} --solver-option callback=3", 2, "callback=3 is not allowed: give a function"),
    ("ok.csv --model svm --solver-option callback=3", 2, "callback=3 is not allowed"),
    (f"ok.csv {M} --solver-option root_limit=x", 2, "root_limit='x' is not allowed: give a whole number"),
    (f"ok.csv {M} --solver-option root_limit=-1", 2, "root_limit=-1 is not allowed"),
    (f"ok.csv {M} --solver-option tee=3", 2, "give True or False"),
    (f"ok.csv {M} --solver-option threads=1.5", 2, "give a whole number"),
    (f"ok.csv {M} --solver-option complicating=x", 2, "is not a variable"),
    (f"ok.csv {M} --solver-option sub_solver=3", 2, "give the name of a solver"),
    (f"ok.csv {M} --solver-option lp_solver=cat", 2, PROGRAM),
    (f"ok.csv {M} --solver benders --solver-option master_solver=cat", 2, PROGRAM),
    ("ok.csv --model svm --solver cat", 2, PROGRAM),
    ("ok.csv --model fs --penalty 0.1 --seed 99999999999999999999", 2, "give a whole number in 0.."),
    ("ok.csv --model mutual-information --max-features 2 --seed -1", 2, "seed=-1 is not allowed"),
    ("ok.csv --model mutual-information --max-features 2 --solver-option seed=x", 2, "seed='x' is not allowed"),
    ("ok.csv --model relief --max-features 2 --solver-option n_neighbors=x", 2, "Give a whole number"),
    ("ok.csv --model rfe --max-features 2 --solver-option step=x", 2, "step='x' drops no feature"),
    ("noise.csv --model rfe --max-features 2 -C 1e20", 2, "libsvm did not end"),
    ("noise.csv --model relief --max-features 2 -C 1e20", 2, "libsvm did not end"),
]


@pytest.mark.parametrize(("command", "code", "words"), ROWS, ids=[row[0][:70] for row in ROWS])
def test_a_hostile_command_is_answered(command, code, words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(libsvm, "MOST", 100_000)
    assert cli.main(["select", *shlex.split(command), "--quiet"]) == code
    err = capsys.readouterr().err
    assert words in err
    assert len(err) < 1500
    assert (code == 0) == ("Error" not in err)


def test_hostile_conditions_of_the_process_are_answered(folder):
    """Too little memory, and a terminal that knows only ASCII: in processes, as a user would meet them."""
    pd.DataFrame(np.ones((2, 2)), columns=["äöü", "x"]).assign(ßel=[0, 1]).to_csv(folder / "ä.csv", index=False)
    main = "import resource, sys\nfrom fsmodels.cli import main\n"
    small = main + "resource.setrlimit(resource.RLIMIT_AS, (%d << 20,) * 2)\nsys.exit(main())"
    used = "int(open('/proc/self/statm').read().split()[0]) * 4096 >> 20"
    with open(folder / "large.csv", "w") as file:
        file.write(",".join(f"x{j}" for j in range(1000)) + ",target\n")
        file.writelines("1.5," * 1000 + f"{k % 2}\n" for k in range(400))
    runs = {
        "memory": (small.replace("%d << 20", f"({used}) + 20 << 20"), ["large.csv", *M.split()], {}),
        "ascii": (main + "sys.exit(main())", ["ä.csv", *M.split(), "--target", "ßel"], {"PYTHONIOENCODING": "ascii"}),
    }
    started = {}
    for name, (program, words, variables) in runs.items():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LANG": "C", **variables}
        command = [sys.executable, "-c", program, "select", *words]
        started[name] = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    said = {name: run.communicate(timeout=120) for name, run in started.items()}
    for _, err in said.values():
        assert b"Traceback" not in err
    assert b"Not enough memory" in said["memory"][1]
    assert started["memory"].returncode == 2
    assert rb"\xe4\xf6\xfc" in said["ascii"][0] + said["ascii"][1]


def test_huge_columns_are_scaled_as_others_are():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    for method in ("standard", "minmax"):
        small = fs.Dataset.from_arrays(X, y).scaled(method)
        large = fs.Dataset.from_arrays(X * 2.0**900, y).scaled(method)
        assert np.array_equal(small.X, large.X)
        assert np.array_equal(small.scale.factor, large.scale.factor * 2.0**900)
    with pytest.warns(fs.DataWarning, match="Constant"):
        constant = fs.Dataset.from_arrays(np.column_stack([X, np.full(20, 1e200)]), y).scaled("standard")
    assert constant.scale.factor[-1] == 1.0
    assert not constant.X[:, -1].any()


def test_builders_take_sparse_data_up_to_the_limit():
    from scipy import sparse

    X = sparse.csr_array([[0.0, 1e31], [1.0, 0.0]])
    data = fs.Dataset.from_arrays(X, [0, 1])
    with pytest.raises(DataError, match=r'Column "x2".*1e\+31.*--scale unit-ball'):
        fs.svm.l2_svm(data)


def test_deeply_nested_json_is_refused(tmp_path, capsys):
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000 + "]" * 100_000)
    for words in (["predict", str(file), str(file)], ["select", str(file), "--model", "rfe"]):
        assert cli.main(words) == 2
        assert "deep.json" in capsys.readouterr().err
