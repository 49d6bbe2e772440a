"""Files that are no CSV: which are read all the same, and the command that turns each of the others into one."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fsmodels.datasets.files import JSON_BYTES, check_fits
from fsmodels.datasets.shell import beside, python_line, word
from fsmodels.errors import DataError

__all__ = ["EXCEL", "PARQUET", "TEXT", "kind"]

EXCEL, PARQUET, TEXT = "excel", "parquet", "text"


@dataclass(frozen=True)
class _Foreign:
    """A format: what it is, the frame that holds it (``{path!r}``), and the package that this needs."""

    what: str
    frame: str = ""
    needs: str = ""
    line: str = ""

    def refusal(self, path: Path) -> DataError:
        """Say what the file is and what makes a CSV file of it."""
        target = beside(path, "-table")
        line = self.line.format(path=word(path), target=word(target))
        if self.frame:
            frame = self.frame.format(path=str(path))
            line = python_line(f"import pandas as pd; {frame}.to_csv({target!r}, index=False)")
        first = f"pip install {self.needs}, then " if self.needs else ""
        return DataError(f'File "{path}" is {self.what} and no CSV file. To make one: {first}{line}')


JSON = _Foreign("JSON", "pd.read_json({path!r})")
LINES = _Foreign("JSON by lines", "pd.read_json({path!r}, lines=True)")
HTML = _Foreign("a page of HTML", "pd.read_html({path!r})[0]", "lxml")
XML = _Foreign("XML", "pd.read_xml({path!r})", "lxml")
ARFF = _Foreign(
    "ARFF (Weka)",
    "(lambda d: pd.DataFrame(d).map(lambda x: x.decode() if isinstance(x, bytes) else x))"
    "(__import__('scipy.io.arff').io.arff.loadarff({path!r})[0])",
)
ODS = _Foreign("an OpenDocument table", "pd.read_excel({path!r}, engine='odf')", "odfpy")
XLS = _Foreign("a workbook of Excel before 2007", "pd.read_excel({path!r}, engine='xlrd')", "xlrd")
XLSB = _Foreign("a binary workbook of Excel", "pd.read_excel({path!r}, engine='pyxlsb')", "pyxlsb")
ZIP = _Foreign("a ZIP archive", line="python -m zipfile -e {path} . unpacks it")
RDS = _Foreign("of R", line="Rscript -e \"write.csv(readRDS('{path}'), '{target}', row.names = FALSE)\"")

BY_START: list[tuple[bytes, _Foreign]] = [
    (b"\xd0\xcf\x11\xe0", XLS),
    (b"ARROW1", _Foreign("a Feather file", "pd.read_feather({path!r})", "pyarrow")),
    (b"$FL2", _Foreign("a file of SPSS", "pd.read_spss({path!r})", "pyreadstat")),
    (b"$FL3", _Foreign("a file of SPSS", "pd.read_spss({path!r})", "pyreadstat")),
    (b"<stata_dta>", _Foreign("a file of Stata", "pd.read_stata({path!r})")),
    (b"\x93NUMPY", _Foreign("an array of NumPy", "pd.DataFrame(__import__('numpy').load({path!r}))")),
    (b"\x89HDF", _Foreign("an HDF5 file", "pd.read_hdf({path!r})", "tables")),
    (b"%PDF", _Foreign("a PDF file", line="copy the table into a spreadsheet and save it as CSV")),
]
BY_NAME = {
    ".dta": _Foreign("a file of Stata", "pd.read_stata({path!r})"),
    ".sas7bdat": _Foreign("a file of SAS", "pd.read_sas({path!r}, encoding='utf-8')"),
    ".xpt": _Foreign("a file of SAS", "pd.read_sas({path!r}, encoding='utf-8')"),
    ".rds": RDS,
    ".rdata": _Foreign("of R", line='in R: load("{path}"), then write.csv(that, "{target}", row.names = FALSE)'),
    ".pkl": _Foreign("a pickle of Python", "pd.DataFrame(pd.read_pickle({path!r}))"),
    ".pickle": _Foreign("a pickle of Python", "pd.DataFrame(pd.read_pickle({path!r}))"),
}


def kind(path: Path, raw: bytes) -> str:
    """Return what a file is that can be read. Raises DataError: another format, with the command to type."""
    if raw.startswith(b"PAR1"):
        return PARQUET
    if raw.startswith(b"PK\x03\x04"):
        return _zipped(path)
    for start, foreign in BY_START:
        if raw.startswith(start):
            raise foreign.refusal(path)
    if (foreign_name := BY_NAME.get(path.suffix.lower())) is not None:
        raise foreign_name.refusal(path)
    if (found := _of_text(path, raw)) is not None:
        raise found.refusal(path)
    return TEXT


def _zipped(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            check_fits(path, sum(part.file_size for part in archive.infolist()))
            mime = archive.read("mimetype") if "mimetype" in names else b""
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f'File "{path}" cannot be read ({error}): check that it is complete.') from None
    if "xl/workbook.xml" in names:
        return EXCEL
    if "xl/workbook.bin" in names:
        raise XLSB.refusal(path)
    raise (ODS if b"opendocument.spreadsheet" in mime else ZIP).refusal(path)


def _of_text(path: Path, raw: bytes) -> _Foreign | None:
    """Return which text that is no CSV this is."""
    head = raw[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    lower = head.lower()
    if lower.startswith((b"<!doctype html", b"<html", b"<table")):
        return HTML
    if lower.startswith(b"<?xml"):
        return XML
    if b"@relation" in lower and lower.startswith((b"@relation", b"%")):
        return ARFF
    if not head.startswith((b"{", b"[")):
        return None
    check_fits(path, JSON_BYTES * len(raw))
    return _of_json(raw.removeprefix(b"\xef\xbb\xbf").strip())


def _of_json(raw: bytes) -> _Foreign | None:
    told = _loaded(raw)
    if told is None:
        return None if _loaded(raw.partition(b"\n")[0]) is None else LINES
    if isinstance(told, dict):
        for name, rows in told.items():
            if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
                return _Foreign("JSON", f"pd.DataFrame(__import__('json').load(open({{path!r}}))[{name!r}])")
    return JSON


def _loaded(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
