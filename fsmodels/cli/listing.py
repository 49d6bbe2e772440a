"""``fsmodels list`` and ``describe``: data sets, models and solvers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from rich.table import Table
from rich.text import Text

from fsmodels.cli.output import SOLVED, show
from fsmodels.datasets.shipped import list_bags, list_datasets
from fsmodels.models.fsp.oracle import relaxation
from fsmodels.selection.described import describe
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS
from solvers import available


def run(asked: SimpleNamespace) -> int:
    """Describe a model, or list data sets, models and solvers; return the exit code."""
    if asked.command == "describe":
        print(describe(asked.model))
        return SOLVED

    def table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:
        made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        for k, column in enumerate(columns):
            made.add_column(column, justify="right" if column in right else "left", no_wrap=k == 0, overflow="fold")
        return made

    numbers: tuple[str, ...] = ("samples", "features", "class +1")
    data = table("Data sets (or the path of a CSV or .svm file)", "name", *numbers, right=numbers)
    for row in list_datasets().itertuples():
        data.add_row(row.name, str(row.samples), str(row.features), str(row.positives))
    numbers = ("bags", "instances", "attributes", "class +1")
    bags = table("Bags of instances (--bags bag_id)", "name", *numbers, right=numbers)
    for row in list_bags().itertuples():
        bags.add_row(row.name, str(row.bags), str(row.instances), str(row.attributes), str(row.positives))
    models = table("Models", "name", "parameters", "what it is")
    for name, recipe in MODELS.items():
        flags = [
            PARAMETERS[p].flag if required else f"[{PARAMETERS[p].flag}]"
            for p, required in sorted(recipe.parameters.items(), key=lambda item: not item[1])
            if p in PARAMETERS
        ]
        models.add_row(name, Text(" ".join(flags)), recipe.title)
    found = table("Solvers and drivers found", "name", "version", "solves")
    missing = table("Solvers not found", "name", "how to get it")
    for row in available().itertuples():
        if row.found:
            found.add_row(row.name, row.version or "built in", Text(row.solves))
        else:
            missing.add_row(row.name, Text(row.install))
    others = Text(
        "Any other solver that Pyomo knows by name solves whole models (--solver NAME), without a proof of optimality "
        "over integers: see docs/solvers.md."
    )
    missed = ["", missing] if missing.row_count else []
    slow = [] if relaxation.loop else ["", Text(relaxation.NOT_COMPILED)]
    show(data, "", bags, "", models, "", found, *missed, "", others, *slow)
    return SOLVED
