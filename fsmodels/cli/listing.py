"""``fsmodels list`` and ``describe``: data sets, models and solvers."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
from rich.table import Table
from rich.text import Text

from fsmodels.cli.output import show
from fsmodels.datasets.shipped import list_bags, list_datasets
from fsmodels.models.fsp.oracle import relaxation
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.describe import describe
from fsmodels.selection.parameters import PARAMETERS
from solvers import available


def run(args: SimpleNamespace) -> None:
    """Describe a model, or list data sets, models and solvers."""
    if args.command == "describe":
        print(describe(args.model))
        return

    size = {"positives": "class +1"}
    data = list_datasets()[["name", "samples", "features", "positives"]].rename(columns=size)
    bags = list_bags()[["name", "bags", "instances", "attributes", "positives"]].rename(columns=size)
    models = pd.DataFrame(
        {"name": name, "parameters": _flags(spec), "what it is": spec.title} for name, spec in MODELS.items()
    )
    solvers = available()
    found = solvers[solvers["found"]].assign(version=lambda rows: rows["version"].replace("", "built in"))
    missing = solvers[~solvers["found"]][["name", "install"]].rename(columns={"install": "how to get it"})
    others = Text(
        "Any other solver of Pyomo solves whole models (--solver NAME), without a proof of optimality over integers: "
        "see docs/solvers.md."
    )
    missed = [] if missing.empty else ["", _table("Solvers not found", missing)]
    slow = [] if relaxation.loop else ["", Text(relaxation.NOT_COMPILED)]
    show(
        _table("Data sets (or the path of a CSV or .svm file)", data), "",
        _table("Bags of instances (--bags bag_id)", bags), "", _table("Models", models), "",
        _table("Solvers and drivers found", found[["name", "version", "solves"]]), *missed, "", others, *slow,
    )  # fmt: skip


def _flags(spec: ModelSpec) -> str:
    """Return the options of a model, required ones first."""
    needed = sorted(spec.parameters.items(), key=lambda item: not item[1])
    flags = [(PARAMETERS[name].flag, required) for name, required in needed if name in PARAMETERS]
    return " ".join(flag if required else f"[{flag}]" for flag, required in flags)


def _table(title: str, frame: pd.DataFrame) -> Table:
    """Return a table that fits into the terminal, with numbers on the right."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for k, name in enumerate(frame.columns):
        right = pd.api.types.is_numeric_dtype(frame[name])
        made.add_column(name, justify="right" if right else "left", no_wrap=k == 0, overflow="fold")
    for row in frame.itertuples(index=False):
        made.add_row(*(Text(str(cell)) for cell in row))
    return made
