"""Rebuild ``data/`` from the folder of data sets taken from registry packages: ``package_data.py FOLDER``.

FOLDER holds the files and their SOURCES.md. Facts are written by hand only in its table and in ``CLASSES``. Out come
the data files, ``sources.csv`` (read by ``fsmodels.list_datasets``) and ``SOURCES.md`` (the same rows for people). Rows
with a blank are dropped and the row's handling says so. Two runs give the same bytes.
"""

import csv
import gzip
import io
import sys
from pathlib import Path

CLASSES = {  # names of class +1 and class -1
    "wdbc": "malignant,benign",
    "wpbc": "recurred,not recurred",
    "wpbc24": "recurred,not recurred",
    "ionosphere": "good,bad",
    "sonar": "mine,rock",
    "bupa": "",
    "cleveland": "disease,no disease",
    "german_numeric": "bad credit,good credit",
    "musk1": "musk,non-musk",
    "mfeat": "digit 0,other digit",
    "spambase": "spam,no spam",
    "musk1_bags": "musk,non-musk",
}
BAG = "bag_id"
FIELDS = [
    "name",
    "file",
    "samples",
    "features",
    "positives",
    "instances",
    "positive_means",
    "classes",
    "handling",
    "source",
    "licence",
    "citation",
]
LARGEST_PLAIN = 1_000_000
HEAD = """# Data sets shipped with fsmodels

Made from `sources.csv` by `scripts/package_data.py`; do not edit. All files are CSV with a header; the last column is
`target`, -1 or +1. Values are as the source package holds them: not scaled, not centred, not imputed. A set with a
number of instances holds bags: `bag_id` is the bag of each row, samples and positives count bags, instances rows.

Licences: every set is from the UCI Machine Learning Repository, whose pages state CC BY 4.0
(<https://creativecommons.org/licenses/by/4.0/>); stated from general knowledge, as the pages could not be opened when
the files were taken. CC BY 4.0 asks for the citation below. The source package's own licence, in brackets, covers its
code.

"""


def described(folder: Path) -> dict[str, list[str]]:
    """Rows of the table in FOLDER/SOURCES.md by file name: six cells each, without the file."""
    lines = [line for line in (folder / "SOURCES.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in ([c.strip() for c in line.strip("| ").split(" | ")] for line in lines)}


def package(name: str, folder: Path, out: Path, table: dict[str, list[str]]) -> dict[str, object]:
    """Write one data file and return its row of sources.csv."""
    source = next(path for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if path.exists())
    text = (gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()).decode()
    header, *rows = text.splitlines()
    complete = [row for row in rows if "" not in row.split(",")]
    _, _, positive_means, handling, taken_from, licence = table[source.name]
    if len(complete) < len(rows):
        blanks = handling.removesuffix("; left blank")
        handling = f"{len(rows) - len(complete)} of the source's {len(rows)} rows are dropped here: {blanks}"
    content = ("\n".join([header, *complete]) + "\n").encode()
    if len(content) > LARGEST_PLAIN:
        target, stored = out / f"{name}.csv.gz", gzip.compress(content, compresslevel=9, mtime=0)
    else:
        target, stored = out / f"{name}.csv", content
    target.write_bytes(stored)
    if licence.startswith("as "):
        other, _, more = licence.removeprefix("as ").partition("; ")
        licence = "; ".join([table[other][5], *([more] if more else [])])
    rights, citation = licence.split("; ", 1)
    if taken_from.startswith("as "):
        taken_from = table[taken_from.removeprefix("as ")][4]
    bags = header.startswith(f"{BAG},")
    ends = [(row.split(",", 1)[0], row.rsplit(",", 1)[1]) for row in complete]
    labels = list(dict(ends).values()) if bags else [label for _, label in ends]  # one a sample
    return {
        "name": name,
        "file": target.name,
        "samples": len(labels),
        "features": header.count(",") - bags,
        "positives": labels.count("1"),
        "instances": len(complete) if bags else "",
        "positive_means": positive_means,
        "classes": CLASSES[name],
        "handling": handling,
        "source": taken_from.replace("`", ""),
        "licence": rights,
        "citation": citation,
    }


def page(facts: list[dict[str, object]]) -> str:
    """Render the rows of sources.csv for people."""
    lines = [FIELDS, ["---"] * len(FIELDS), *([str(row[key]) for key in FIELDS] for row in facts)]
    return HEAD + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(folder: Path, out: Path) -> None:
    """Write the files of ``out``."""
    table = described(folder)
    facts = [package(name, folder, out, table) for name in CLASSES]
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(facts)
    (out / "sources.csv").write_text(text.getvalue(), encoding="utf-8")
    (out / "SOURCES.md").write_text(page(facts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).resolve().parent.parent / "data")
