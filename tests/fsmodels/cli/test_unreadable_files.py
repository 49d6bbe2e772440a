"""Folders, binary files and files that cannot be read: each command that reads a file reports them and returns 2."""

import random
from pathlib import Path

import pytest

from fsmodels import cli
from fsmodels.certificates.document import CertificateFile
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.saved import load_selection

NOISE = random.Random(0).randbytes(3000)
CONTENTS = {
    "png.csv": b"\x89PNG\r\n\x1a\n" + NOISE,
    "png.svm": b"\x89PNG\r\n\x1a\n" + NOISE,
    "noise": NOISE,
    "noise.csv": NOISE,
    "noise.csv.gz": NOISE,
    "noise.svm.gz": NOISE,
    "noise.xlsx": b"PK\x03\x04" + NOISE,
    "noise.parquet": b"PAR1" + NOISE,
    "noise.json": NOISE,
    "empty.csv.gz": b"",
}
FILES = [*CONTENTS, "folder.csv", "folder.svm", "folder.json", "/proc/self/mem"]
COMMANDS = {
    "select": "select FILE --model rfe",
    "bags": "select FILE --model rfe --bags b",
    "budget": "select ok.csv --model fsp-m --budget FILE:1",
    "groups": "select ok.csv --model fsp-m --at-most-of-group FILE:1",
    "path": "path FILE --max-features 1,2",
    "stability": "stability FILE --max-features 1",
    "compare": "compare FILE --models rfe --max-features 1",
    "report": "report FILE --html page.html --max-features 1",
    "certify": "certify FILE --features a --max-features 1",
    "near-optimal": "near-optimal FILE --max-features 1",
    "necessity": "necessity FILE --max-features 1",
    "price": "price FILE --max-features 1",
    "predict": "predict FILE ok.csv",
    "predict-table": "predict found.json FILE",
    "verify": "verify FILE ok.csv",
    "verify-data": "verify proof.json FILE",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files above, a table, a saved selection and a certificate."""
    where = tmp_path_factory.mktemp("unreadable")
    for name, content in CONTENTS.items():
        (where / name).write_bytes(content)
    for name in ("folder.csv", "folder.svm", "folder.json"):
        (where / name).mkdir()
    (where / "ok.csv").write_text("a,b,target\n" + "".join(f"{k},{k * k % 7},{int(k > 9)}\n" for k in range(20)))
    words = ["--json", str(where / "found.json"), "--certificate", str(where / "proof.json"), "--quiet"]
    assert cli.main(["select", str(where / "ok.csv"), "--model", "fsp-m", "--max-features", "1", *words]) == 0
    return where


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_cannot_be_read_is_reported(command, file, folder, capsys, monkeypatch):
    if file.startswith("/") and not Path(file).exists():
        pytest.skip("Linux only")
    monkeypatch.chdir(folder)
    words = COMMANDS[command].replace("FILE", file).split()
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert f'"{file}"' in err
    assert len(err) < 1500
    assert err.isprintable() or err.replace("\n", "").isprintable()


@pytest.mark.parametrize("read", [load_selection, CertificateFile.load])
@pytest.mark.parametrize("file", FILES)
def test_the_readers_raise_their_own_errors(read, file, folder):
    path = Path(file) if file.startswith("/") else folder / file
    with pytest.raises((DataError, ParameterError)):
        read(path)
