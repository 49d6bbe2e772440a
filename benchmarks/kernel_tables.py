"""Tayal, Coleman, Li: weights of features inside an RBF kernel; tables 1 to 3 and figures 5 to 14, beside the paper's.

    python benchmarks/kernel_tables.py                        # coarse grids, threefold validation: hours of one core
    python benchmarks/kernel_tables.py --full                 # the paper's grids, tenfold validation: days
    python benchmarks/kernel_tables.py --parts ndcc --minutes 20

What is in the log is not computed again; a coarse grid is part of the paper's. The methods of the paper's tables come
first, division by division.
"""

import os
from pathlib import Path

import kernel_choice
import kernel_page
import log
import report
from kernel_tasks import (
    AO_PROTOCOL,
    FILTERS,
    MARGIN,
    NDCC,
    NDCC_MORE,
    NDCC_RUNS,
    PROTOCOL,
    RANKERS,
    SETS,
    SIMPLE,
    SPLITS,
    TRUST,
    UCI_RUNS,
    found,
    one_task,
    rows,
)

KEYS = ("protocol", "part", "data", "split", "method", "way", "C", "mus", "folds")
PARTS = ("ndcc", "uci", "rankings")


def grid_tasks(data, split, runs, folds, full):
    """Return the rows of the grids of all methods on one division: the coarse grids first."""
    tasks = []
    for which in range(2 if full else 1):
        for method, way in runs:
            protocol = AO_PROTOCOL if method in (SIMPLE, MARGIN) else PROTOCOL
            what = {"protocol": protocol, "part": "grid", "data": data, "split": split, "method": method, "way": way}
            tasks += [what | {"C": c, "mus": list(mus), "folds": folds} for c, mus in rows(method)[which]]
    return tasks


def tasks_of(part, full, sets=SETS, entries=()):
    """Return the tasks of a part; ``entries``: of the log, from which the rankings take the chosen weights."""
    folds = 10 if full else 3
    if part == "ndcc":
        runs = [(split, group) for group in (NDCC_RUNS, NDCC_MORE) for split in range(SPLITS)]
        return [t for split, group in runs for t in grid_tasks(NDCC, split, group, 0, full)]
    divisions = [(name, split) for split in range(SPLITS) for name in sets if name != "Madelon" or split == 0]
    if part == "uci":
        return [t for name, split in divisions for t in grid_tasks(name, split, UCI_RUNS, folds, full)]
    grids, tasks, grid = kernel_choice.by_run(entries), [], "paper" if full else "coarse"
    for name, split in [(NDCC, split) for split in range(SPLITS)] + divisions:
        what = {"protocol": PROTOCOL, "part": "ranking", "data": name, "split": split, "grid": grid}
        what["folds"] = 0 if name == NDCC else folds
        chosen = {m: kernel_choice.choose(grids, name, split, m, TRUST, what["folds"], grid) for m in RANKERS}
        if all(chosen.values()):
            tasks += [what | {"method": m, "order": None} for m in FILTERS]
            tasks += [what | {"method": m, "order": point["order"]} for m, point in chosen.items()]
    return tasks


def read_options():
    """Return the options."""
    parser = log.arguments(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="of ndcc, uci, rankings (which needs the others)")
    parser.add_argument("--sets", help="sets beside NDCC, separated by semicolons")
    shared = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with data/ and data-extra/")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    options.sets = options.sets.split(";") if options.sets else SETS
    for given, known in ((options.parts, PARTS), (options.sets, SETS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(known)}")
    return options


def main():
    """Run the parts, write the page of all that the log holds."""
    options, book = read_options(), log.Log("kernel_tables")
    if options.fresh:
        book.clear()
    os.environ["KERNEL_TABLES_DATA"] = str(options.shared)  # the workers inherit it
    sets = [name for name in options.sets if found(name)]
    for part in [] if options.page else options.parts:
        tasks = tasks_of(part, options.full, sets, book.entries() if part == "rankings" else ())
        log.finish(book, tasks, one_task, options.minutes, options.jobs, report.about(*kernel_page.PACKAGES))
    book.pack()
    kernel_page.write(book)


if __name__ == "__main__":
    main()
