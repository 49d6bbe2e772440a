"""What to try next: commands that follow from how a run ended, and nothing that was not measured to help.

The models' own drivers close more of a gap in the same time than any other solver, in every run that was compared:
fsp-m in ``benchmarks/results/fsp_real.md`` and ``fsp_exact.md`` (18 of 18 proven, by SCIP 9; multi-tree, Gurobi's
tree), gmeb with rows in ``gmeb_rows.md`` (a quarter of SCIP's time and less); fs, fsl on wpbc24 and ionosphere
at penalty 0.05 in 15 s: gaps of 12% to 17%, by SCIP 100%. No other solver was found to help where these had stopped.
Five times as long brought fsp-m on spambase with five features from a gap of 36% to 14%.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS
from fsmodels.selection.report import weighs_kernel
from solvers import SolutionStatus, StopReason
from solvers.facts import facts_of

if TYPE_CHECKING:
    from fsmodels.models.recipe import Recipe
    from fsmodels.selection.selection import Selection

CLOSERS = ("branch-and-cut", "cutting-plane")  # of the models whose own they are
# options without a value
SWITCHES = [*(p.flag for p in PARAMETERS.values() if p.is_switch), "--quiet", "--force", "--keep-fair"]


def next_steps(found: Selection, words: Sequence[str]) -> list[str]:
    """Return lines: a heading, then sentences each followed by a command to copy."""
    steps: list[tuple[str, list[str]]] = []
    words = without(without(words, "--certificate"), "--certify")  # of this run
    recipe = MODELS[found.name]
    limit = found.result.options.get("time_limit")
    if recipe.runs_solver and found.status is not SolutionStatus.OPTIMAL:
        facts = facts_of(found.model)
        own = None if facts is None else facts.default_solver
        left = found.stop_reason is not StopReason.INTERRUPTED  # where more time is what is missing
        if own in CLOSERS and _given(words, "--solver") and found.result.solver != own and left:
            plain = without(without(words, "--solver"), "--solver-option")
            steps.append((f"The model's own driver, {own}, proves more in the same time", plain))
        if limit and found.stop_reason is StopReason.TIME_LIMIT:
            steps.append(("More time", changed(words, "--time-limit", f"{5 * limit:g}")))
    k = found.parameters.get("max_features")
    if k is not None and k < found.data.n_features:
        steps.append(("One feature more", changed(words, "--max-features", str(k + 1))))
    elif isinstance(found.parameters.get("penalty"), float) and found.parameters["penalty"] > 0:
        price = found.parameters["penalty"]
        if weighs_kernel(found) and len(found.selected) == found.data.n_features:
            steps.append(("A higher price for fewer features", changed(words, "--penalty", f"{2 * price:g}")))
        else:
            steps.append(("A lower price for more features", changed(words, "--penalty", f"{price / 2:g}")))
    if not recipe.selects:
        steps.append(_exact(found, recipe, words))
    if not _given(words, "--json"):
        steps.append(("The result as a file", changed(words, "--json", "result.json")))
    if not steps:
        return []
    return ["", "What to try next", *(f"  {why}:\n    {_line(command)}" for why, command in steps)]


def _exact(found: Selection, recipe: Recipe, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the model that finds with a proof what this one seeks."""
    if recipe.exact == "fs" and found.parameters.get("penalty") is not None:
        return "The best trade of error for features, with a proof", changed(words, "--model", "fs")
    best = max(1, min(len(found.selected), found.data.n_features, 5))
    plain = without(without(words, "--solver"), "--solver-option")
    for name, parameter in PARAMETERS.items():
        plain = plain if name in MODELS["fsp-m"].parameters else without(plain, parameter.flag)
    what = "The best few features"
    if weighs_kernel(found):
        what = "The best few features of a linear classifier, with a proof"
    elif found.parameters.get("max_features"):
        what = "The best selection of that size, with a proof"
    return what, changed(changed(plain, "--model", "fsp-m"), "--max-features", str(best))


def _given(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def changed(words: Sequence[str], option: str, value: str) -> list[str]:
    """Return the words with an option set to a value, in place where it stands already."""
    kept = list(words)
    for k, word in enumerate(kept):
        if word == option and k + 1 < len(kept):
            kept[k + 1] = value
            return kept
        if word.startswith(f"{option}="):
            kept[k] = f"{option}={value}"
            return kept
    return [*kept, option, value]


def without(words: Sequence[str], option: str) -> list[str]:
    """Return the words without an option and its value, if it has one."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == option:
            skip = option not in SWITCHES
        elif not word.startswith(f"{option}="):
            kept.append(word)
    return kept


def _line(words: Sequence[str]) -> str:
    command = ["fsmodels", *words]
    if sys.platform == "win32" or os.name == "nt":
        import subprocess

        return subprocess.list2cmdline(command)
    return shlex.join(command)
