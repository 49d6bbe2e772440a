"""What to try next: options that follow from how a run ended, and nothing that was not measured to help.

The models' own drivers close more of a gap in the same time than any other solver, in every run that was compared:
fsp-m in ``benchmarks/results/fsp_real.md`` and ``fsp_exact.md`` (18 of 18 proven, by SCIP 9; multi-tree, Gurobi's
tree), gmeb with rows in ``gmeb_rows.md`` (a quarter of SCIP's time and less); fs, fsl on wpbc24 and ionosphere
at penalty 0.05 in 15 s: gaps of 12% to 17%, by SCIP 100%. No other solver was found to help where these had stopped.
Five times as long brought fsp-m on spambase with five features from a gap of 36% to 14%.
"""

from __future__ import annotations

from types import SimpleNamespace

from fsmodels.selection.recipes import MODELS
from fsmodels.selection.report import weighs_kernel
from fsmodels.selection.selection import Selection
from solvers import SolutionStatus, StopReason
from solvers.facts import facts_of

CLOSERS = ("branch-and-cut", "cutting-plane")  # of the models whose own they are


def next_steps(found: Selection, asked: SimpleNamespace) -> list[str]:
    """Return lines: a heading, then changes of the options, each with its reason."""
    steps: list[str] = []
    recipe, limit = MODELS[found.name], found.result.options.get("time_limit")
    if recipe.runs_solver and found.status is not SolutionStatus.OPTIMAL:
        facts = facts_of(found.model)
        own = None if facts is None else facts.default_solver
        left = found.stop_reason is not StopReason.INTERRUPTED  # where more time is what is missing
        if own in CLOSERS and asked.solver and found.result.solver != own and left:
            steps.append(f"no --solver: the model's own driver, {own}, proves more in the same time")
        if limit and found.stop_reason is StopReason.TIME_LIMIT:
            steps.append(f"--time-limit {5 * limit:g}: more time")
    k, price = found.parameters.get("max_features"), found.parameters.get("penalty")
    if k is not None and k < found.data.n_features:
        steps.append(f"--max-features {k + 1}: one feature more")
    elif isinstance(price, float) and price > 0:
        if weighs_kernel(found) and len(found.selected) == found.data.n_features:
            steps.append(f"--penalty {2 * price:g}: a higher price for fewer features")
        else:
            steps.append(f"--penalty {price / 2:g}: a lower price for more features")
    if not recipe.selects:
        if recipe.exact == "fs" and price is not None:
            steps.append("--model fs: the best trade of error for features, with a proof")
        else:
            best = max(1, min(len(found.selected), found.data.n_features, 5))
            what = " of a linear classifier" if weighs_kernel(found) else ""
            steps.append(f"--model fsp-m --max-features {best}: the best few features{what}, with a proof")
    if not asked.json:
        steps.append("--json result.json: the result as a file")
    return ["", "What to try next", *(f"  {step}" for step in steps)] if steps else []
