"""Tasks of ``kernel_tables``: rows of the grids of all methods on all divisions, and the rankings."""

import itertools

from benchmarks.papers.tayal import choice as kernel_choice
from benchmarks.papers.tayal.tasks import (
    ALPHAS,
    FILTERS,
    NDCC,
    NDCC_MORE,
    NDCC_RUNS,
    PAPER_FOUR,
    PROTOCOL,
    RANKERS,
    SETS,
    SPLITS,
    SVM,
    SVM_TRUE,
    TRUST,
    UCI_RUNS,
    protocol,
    rows,
)

KEYS = ("protocol", "part", "data", "split", "method", "way", "C", "mus", "folds")


def grid_tasks(data, split, runs, folds, full):
    """Return the rows of the grids of all methods on one division: the coarse grids first."""
    tasks = []
    for which in range(2 if full else 1):
        for method, way in runs:
            what = {"protocol": protocol(method, way), "part": "grid", "data": data, "split": split}
            what |= {"method": method, "way": way}
            tasks += [what | {"C": c, "mus": list(mus), "folds": folds} for c, mus in rows(method)[which]]
    return tasks


def tasks_of(part, full, sets=SETS, entries=()):
    """Return the tasks of a part; the rankings use the weights chosen in the log ``entries``."""
    folds = 10 if full else 3
    if part == "ndcc":
        beside = [run for run in NDCC_RUNS if run not in PAPER_FOUR]
        runs = [(split, group) for group in (PAPER_FOUR, beside, NDCC_MORE) for split in range(SPLITS)]
        return [t for split, group in runs for t in grid_tasks(NDCC, split, group, 0, full)]
    if part == "alpha":
        what = {"protocol": PROTOCOL, "part": part, "data": NDCC, "grid": "paper"}
        points = itertools.product(ALPHAS, range(SPLITS), (SVM, SVM_TRUE))
        return [what | {"alpha": alpha, "split": split, "method": method} for alpha, split, method in points]
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
