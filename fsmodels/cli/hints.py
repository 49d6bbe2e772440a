"""What to try next: commands that follow from how a run ended."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS
from fsmodels.selection.report import weighs_kernel
from solvers import DRIVERS, SOLVERS, SolutionStatus, StopReason
from solvers.facts import Structure, facts_of

if TYPE_CHECKING:
    from fsmodels.models.recipe import Recipe
    from fsmodels.selection.selection import Selection

CLOSERS = ["branch-and-cut", "scip"]  # what closes gaps fastest, best first
# options without a value
SWITCHES = [*(p.flag for p in PARAMETERS.values() if p.is_switch), "--quiet", "--force", "--keep-fair"]


def next_steps(found: Selection, words: Sequence[str]) -> list[str]:
    """Return lines: a heading, then sentences each followed by a command to copy."""
    steps: list[tuple[str, list[str]]] = []
    words = without(without(words, "--certificate"), "--certify")  # of this run
    recipe = MODELS[found.name]
    limit = found.result.options.get("time_limit")
    if recipe.runs_solver and found.status is not SolutionStatus.OPTIMAL:
        closers = CLOSERS if isinstance(facts_of(found.model), Structure) else CLOSERS[1:]
        others = [name for name in closers if name in DRIVERS or SOLVERS[name].version()]
        others = [name for name in others if name != found.result.solver] if recipe.selects else []
        if others and found.stop_reason is not StopReason.INTERRUPTED:  # where more time is what is missing
            steps.append(("Another solver may close the gap", changed(words, "--solver", others[0])))
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
    if "--json" not in words and not any(word.startswith("--json=") for word in words):
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
