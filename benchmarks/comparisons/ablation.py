"""What each part of branch-and-cut contributes, and three additions that were tried, by CPU time (FSP-M).

    python -m benchmarks ablation          # 20 CPU seconds per run: half an hour
    python -m benchmarks ablation --full   # also 10,000 features
    python -m benchmarks ablation --page   # only the page, from the log

A variant replaces functions of the driver or of the oracle during its runs.
"""

import contextlib
from statistics import geometric_mean
from unittest import mock

import numpy as np

import fsmodels as fs
from benchmarks.comparisons.best_known import GAP, evaluate_runs
from benchmarks.comparisons.wide import data_of
from benchmarks.harness.cpu_limit import REPEAT, limited_solve
from benchmarks.harness.page import Page
from benchmarks.harness.records import rows_of, with_reference
from benchmarks.methods.heuristics import warm_up
from fsmodels.models.fsp.oracle import relaxation
from fsmodels.models.fsp.oracle.neighbours import Neighbours
from solvers.drivers.branch_cut.branching import UP, PseudoCosts
from solvers.drivers.branch_cut.incumbents import IncumbentSearch
from solvers.drivers.branch_cut.node import Leaves, NodeBounds, NodeSearch
from solvers.drivers.branch_cut.root import RootSearch

NAME, PROTOCOL = "ablation", 1
LIMIT, LATE = 20.0, 0.5  # CPU seconds
CANDIDATES, RELIABLE, PROBED = 8, 1, 200
CELL = ("data", "n", "p", "M", "C")
CELLS = [
    ("wdbc", None, None, 7, 3.0), ("ionosphere", None, None, 8, 3.0), ("sonar", None, None, 6, 0.3),
    ("wpbc", None, None, 6, 1.0), ("german_numeric", None, None, 8, 1.0), ("spambase", None, None, 8, 1.0),
    ("musk1", None, None, 5, 0.1), ("gaussian", 500, 1_000, 10, 0.01), ("gaussian", 500, 1_000, 20, 0.01),
    ("bertsimas", 1_000, 1_000, 10, None),
]  # fmt: skip
MORE = [("gaussian", 500, 10_000, 10, 0.01)]
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "highspy")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
_process, _relax, _solve_root = NodeSearch._by_relaxation, NodeBounds.relax, RootSearch.solve


def most_fractional(self, point, candidates):
    """Choose the variable that is nearest to 1/2."""
    return int(candidates[np.argmin(np.abs(point[candidates] - 0.5))])


def first_relaxation(self, *arguments):
    """Solve a relaxation, and keep the first one of each node."""
    answer = _relax(self, *arguments)
    self.first = answer if self.first is None else self.first
    return answer


def with_strong_branching(self, node, lower, upper):
    """Process a node; the branching variable is chosen after the relaxations of both children of each candidate."""
    bounds, costs, cutoff = self.bounds, self.costs, self.incumbents.cutoff
    bounds.first = None

    def choose(point, candidates):
        at_node = max(node.bound, bounds.first.bound)
        (down, up), (downs, ups) = costs.totals[:, :, candidates]
        mean = costs.totals[0].sum(axis=1) / np.maximum(costs.totals[1].sum(axis=1), 1)
        gains = np.array([np.where(downs > 0, down / np.maximum(downs, 1), mean[0]),
                          np.where(ups > 0, up / np.maximum(ups, 1), mean[1])])  # fmt: skip
        moves = np.array([point[candidates], 1 - point[candidates]])
        score = np.maximum(gains[0] * moves[0], 1e-12) * np.maximum(gains[1] * moves[1], 1e-12) ** UP
        best = np.argsort(-score)[:CANDIDATES]
        for k in best[np.minimum(downs, ups)[best] < RELIABLE]:
            column, found = candidates[k], []
            for up_branch, value in enumerate((0.0, 1.0)):
                low, high = lower.copy(), upper.copy()
                low[column] = high[column] = value
                answer = _relax(bounds, low, high, 1e-3, cutoff)
                bound = at_node if answer is None else min(answer.bound, cutoff)
                found.append(max(bound - at_node, 1e-9))
                costs.update(column, bool(up_branch), moves[up_branch, k], found[-1])
            score[k] = found[0] * found[1] ** UP
        return int(candidates[best[np.argmax(score[best])]])

    with mock.patch.object(costs, "choose", choose):
        return _process(self, node, lower, upper)


def with_known_cuts(self, node, lower, upper):
    """Prune a node without its relaxation if a cut of another node excludes it: it has at most M features."""
    pool, left = self.incumbents.pool, int(self.lp.linear.upper[0] - lower.sum())
    constants, slopes = pool._constants[: len(pool)], pool._coefficients[: len(pool)]
    least = constants + slopes @ lower
    if left > 0:
        free = np.minimum(slopes, 0) * (lower < upper)
        least += np.partition(free, left - 1, axis=1)[:, :left].sum(axis=1)
    if least.max(initial=-np.inf) >= self.incumbents.cutoff:
        self.tree.leave_out(float(least.max()))
        return True
    return _process(self, node, lower, upper)


def with_probing(self):
    """Solve the root, and fix each of the most fractional variables whose other value the relaxation excludes."""
    _solve_root(self)
    lp, cutoff, point = self.lp, self.incumbents.cutoff, self.relaxed.point
    free = np.flatnonzero(lp.lower < lp.upper)
    for column in free[np.argsort(np.abs(point[free] - 0.5))[:PROBED]]:
        for value in (0.0, 1.0):
            low, high = lp.lower.copy(), lp.upper.copy()
            low[column] = high[column] = value
            answer = self.bounds.relax(low, high, 1e-3, cutoff)
            if answer is not None and answer.bound >= cutoff:
                self.tree.leave_out(answer.bound)
                lp.lower[column] = lp.upper[column] = 1 - value
                break


def nothing(*arguments, **options):
    """Replace a function that has no result."""


COMPLETE = "complete"
LEFT_OUT = {
    "relaxation of the structure": [(NodeBounds, "relax", nothing)],
    "fixing by reduced costs": [(RootSearch, "fix", nothing), (NodeSearch, "_fixed", lambda *arguments: [])],
    "exchanges for incumbents": [(IncumbentSearch, name, nothing) for name in ("start", "exchange", "exchange_more")],
    "compiled loop": [(relaxation, "compiled", lambda: False)],
    "neighbouring relaxations": [(Neighbours, "nearest", nothing)],
    "pseudo-costs": [(PseudoCosts, "choose", most_fractional)],
    "evaluation of last choices": [(Leaves, "bound", nothing)],
}
ADDED = {
    "strong branching": [
        (NodeBounds, "relax", first_relaxation),
        (NodeSearch, "_by_relaxation", with_strong_branching),
    ],
    "pruning by known cuts": [(NodeSearch, "_by_relaxation", with_known_cuts)],
    "probing": [(RootSearch, "solve", with_probing)],
}
VARIANTS = (
    {COMPLETE: []} | {f"without {k}": v for k, v in LEFT_OUT.items()} | {f"with {k}": v for k, v in ADDED.items()}
)


def tasks(full):
    cells = CELLS + MORE * full
    return [
        dict(zip(CELL, cell, strict=True)) | {"variant": variant, "limit": LIMIT, "protocol": PROTOCOL}
        for cell in cells
        for variant in VARIANTS
    ]


def problem(data, n, p, M, C):
    """Return the model of a cell: a shipped table, or data of the page ``wide``."""
    train = fs.load_dataset(data).scaled("standard") if n is None else data_of(data, n, p, M)
    C = fs.datasets.synthetic.bertsimas_price(train, M) if C is None else C
    return fs.fsp.fsp_m(train, max_features=M, C=C, form="rmp")


def work(data, n, p, M, C, variant, limit, protocol):
    """Solve one cell by one variant."""
    model = problem(data, n, p, M, C)
    warm_up(form="rmp")
    with replaced(VARIANTS[variant]):
        NodeBounds.first = None
        return limited_solve(model, "branch-and-cut", limit, gap=GAP)[1]


@contextlib.contextmanager
def replaced(parts):
    """Replace functions and constants of modules and classes: triples of owner, name and replacement."""
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in parts:
            stack.enter_context(mock.patch.object(owner, name, replacement))
        yield


def page(log):
    """Return the page."""
    runs = evaluate_runs(log.entries(*CELL, "variant", "limit", "protocol"), CELL)
    for run, alone in with_reference(runs, CELL, variant=COMPLETE):
        run["ratio"] = run["charged"] / alone["charged"]
        run["either"] = run["proven"] or alone["proven"]
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *CELL, "variant")
    page.part("runs", len(runs), len(tasks(False)))
    variants = [([name], {"variant": name}) for name in VARIANTS]
    ratios = {
        name: [run["ratio"] for run in runs if run["variant"] == f"without {name}" and run["either"]]
        for name in LEFT_OUT
    }
    means = {name: geometric_mean(ratios[name] or [1.0]) for name in LEFT_OUT}
    most = sorted(LEFT_OUT, key=lambda name: -means[name])[:2]
    page.values(
        signals=REPEAT,
        spare=[name for name in LEFT_OUT if means[name] < 1],
        late=[r for r in runs if r["cpu"] > LIMIT + LATE],
    )
    tables = dict.fromkeys(run["data"] for run in runs if run["n"] is None)
    wrong = sum(run["wrong"] for run in runs)
    return page.values(cells=rows_of(runs, CELL), variants=variants, tables=tables, most=most, wrong=wrong)
