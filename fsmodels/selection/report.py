"""Display of selections as JSON, text, HTML and report of the command line; the base class of answers."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fsmodels.datasets.scaling import WIDE
from fsmodels.models.shares import mean_of
from fsmodels.selection.outcome import Outcome
from fsmodels.text import listed
from fsmodels.version import __version__
from solvers import SOLVERS, SolutionStatus, StopReason
from solvers.html import frame, paragraph, table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from fsmodels.datasets.dataset import Dataset

INTERNAL = ("tee", "callback", "memory")  # options of a solve that do not change the result
LARGEST_DISTANCE = 0.2  # from a bound, as a share of it, that is stated as a percentage
MERGED = 30  # labels named in a report; the JSON file has all


def contract(found: Outcome) -> dict[str, Any]:
    """Return the content of the JSON file."""
    solved, result, data = found.has_solution, found.result, found.data
    content = {
        "model": found.name,
        "data": {
            "name": data.name,
            "samples": data.n_samples,
            "features": data.n_features,
            "positives": int((data.y > 0).sum()),
            "positive_label": data.positive_label,
            "negative_label": data.negative_label,
            "class_names": data.class_names,
            "positive_guessed": data.positive_guessed,
            "weights": None if data.weighting is None else data.weighting.words,
        },
        "parameters": found.parameters,
        "solver": {"name": result.solver, "options": {k: v for k, v in result.options.items() if k not in INTERNAL}},
        "stop_reason": found.stop_reason.value,
        "status": found.status.value,
        "objective": found.objective,
        "fs_objective": found.fs_objective,
        "fsp_objective": found.fsp_objective,
        "bound": found.bound,
        "gap": found.gap,
        "selected": list(found.selected) if solved else None,
        "weights": found.weights if solved else None,
        "bias": found.bias,
        "weights_original": found.weights_original if solved else None,
        "bias_original": found.bias_original,
        "kernel": None if found.classifier is None else found.classifier.inside,
        "refit": None if found.refit is None else _refit(found.refit),
        "training_error": found.training_error,
        "training_on_boundary": found.training_on_boundary,
        "validation_error": found.validation_error,
        "chosen_by": found.chosen_by,
        "message": found.message,
        "scale": data.scale.as_dict(data.features, found.weights),
        "dialect": None if data.dialect is None else data.dialect.given,
        "categories": {name: asdict(category) for name, category in data.categories.items()},
        "imputing": None if data.imputing is None else _imputing(data, found),
        "products": {name: asdict(product) for name, product in data.products.items()},
        "iterations": len(result.iterations) if len(result.iterations) else None,
        "seconds": found.seconds,
        "seed": result.options.get("seed", found.parameters.get("seed")),
        "versions": versions(found),
    }
    if solved and found.parameters.get("count") == "columns":
        content["columns"] = data.columns_of(found.selected)
    plain: dict[str, Any] = as_json(content)
    return plain


def _imputing(data: Dataset, found: Outcome) -> dict[str, Any]:
    """Return the values for blanks of new samples; for wide data only those of features with a weight."""
    assert data.imputing is not None
    used = data.features if data.n_features <= WIDE else [name for name in data.features if name in found.weights]
    sources = {*used, *(part for name in used if name in data.products for part in data.parents[name])}
    values = {name: value for name, value in data.imputing.values.items() if name in sources}
    return {"method": data.imputing.method, "blanks": data.imputing.cells, "values": values}


def _refit(refit: Outcome) -> dict[str, Any]:
    """Return the classifier of the refit."""
    names = ("objective", "weights", "bias", "weights_original", "bias_original", "training_error", "validation_error")
    return {"model": refit.name} | {name: getattr(refit, name) for name in names}


def versions(found: Outcome) -> dict[str, str | None]:
    """Return the versions of the packages and solvers that produced the result."""
    packages = ["fsmodels", "pyomo", "numpy"]
    known: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            known[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # run from a source tree
            known[package] = __version__
    for name in sorted({found.result.solver, *found.result.details.get("inside", ())}):
        if name in SOLVERS:
            known[name] = SOLVERS[name].version()
        elif name in ("scikit-learn", "scipy"):
            known[name] = importlib.metadata.version(name)
    return known


def as_json(value: Any) -> Any:
    """Return a value as JSON values; numbers that are not finite become null."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [as_json(item) for item in value]
    return str(value)


class BaseAnswer:
    """Base class of answers: text, HTML and JSON from ``sentence``, ``short`` and ``_content``."""

    @property
    def sentence(self) -> str:
        """The answer in a few sentences."""
        raise NotImplementedError

    def short(self) -> pd.DataFrame | None:
        """Return the table that follows the sentence, with rounded numbers as text; None for an answer without one."""
        return None

    def _content(self) -> dict[str, Any]:
        """Return the content of the JSON file without the sentence."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file, with the sentence."""
        plain: dict[str, Any] = as_json({**self._content(), "sentence": self.sentence})
        return plain

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        table = self.short()
        return str(self) if table is None else f"{self}\n{table.to_string()}"

    def _repr_html_(self) -> str:
        table = self.short()
        return paragraph(str(self)) + ("" if table is None else frame(table))


def headline(found: Outcome) -> str:
    """Return the result in one sentence."""
    if not found.has_solution:
        reason = {
            SolutionStatus.INFEASIBLE: "Infeasible." if found.message else "No selection satisfies the constraints.",
            SolutionStatus.UNBOUNDED: "The model is unbounded.",
        }.get(found.status)
        if reason is None and found.stop_reason is StopReason.TIME_LIMIT:
            limit = found.result.options.get("time_limit", 0)
            return f"No solution within {_seconds(limit)}: give more time (--time-limit, Python: time_limit=)."
        if reason is None and found.stop_reason is StopReason.INTERRUPTED:
            return "Interrupted before there was a solution: let it run longer."
        reason = reason or f"No solution: {found.result.solver} stopped with {found.stop_reason.value}."
        return f"{reason} {found.message}".strip()
    what = f"{len(found.selected)} of {found.data.n_features} features"
    if found.parameters.get("count") == "columns":
        what += f" in {len(found.data.columns_of(found.selected))} of {len(found.data.columns)} columns"
    if found.objective is not None:
        what += f", objective {number(found.objective)}"
    if found.status is SolutionStatus.OPTIMAL:
        proof = "proven optimal"
        if found.gap is not None and found.gap > 5e-7:
            proof += f" within {percent(found.gap)}"
        return f"Solved: {what}, {proof}."
    if found.status is SolutionStatus.STATIONARY:
        return f"Solved: {what}, a stationary point: no bound on better points is proven."
    stopped = {
        StopReason.TIME_LIMIT: f"Stopped at {_seconds(found.result.options.get('time_limit') or 0.0)}",
        StopReason.ITERATION_LIMIT: "Stopped at the iteration limit",
        StopReason.INTERRUPTED: "Interrupted",
        StopReason.CALLBACK: "Stopped by the callback",
    }.get(found.stop_reason, "Done")
    if found.chosen_by:
        stopped += f", chosen by {found.chosen_by} error"
    if found.gap is not None and found.bound is not None:
        what += f"; {distance(found.objective, found.bound)}"
    return f"{stopped}: {what}."


def _seconds(x: float) -> str:
    return f"{round(x, 2) if x < 10 else round(x, 1):g} s"


def distance(objective: float | None, bound: float) -> str:
    """Return the distance of an objective from its proven bound as a clause without a period.

    The best objective is at least the bound, so the objective is at most (objective - bound) / |bound| above the best.
    A share of more than ``LARGEST_DISTANCE`` would sound precise, so the bound itself is stated.
    """
    if objective is not None and objective - bound <= LARGEST_DISTANCE * abs(bound):
        share = percent((objective - bound) / abs(bound)) if objective > bound else "0%"
        return f"proven within {share} of the best (bound {number(bound)})"
    return f"the proven bound is {number(bound)}: no selection has a smaller objective than that"


def number(x: float | None, digits: int = 6) -> str:
    """Return a number as text with six digits."""
    return "none" if x is None else f"{x:.{digits}g}"


def percent(x: float | None) -> str:
    """Return a share as text in percent."""
    if x is None:
        return "none"
    return f"{100 * x:.1f}%" if x >= 0.1 else f"{100 * x:.2g}%" if x > 5e-7 else "0%"


def interval(low: float, high: float, digits: int = 6) -> str:
    """Return the proven interval of an optimum as text, or one number if both ends are equal to these digits."""
    if math.isinf(low) and low > 0:
        return "none"
    if not math.isfinite(low):
        return f"{number(high, digits)} (no bound is proven)" if math.isfinite(high) else "no known value"
    if not math.isfinite(high):
        return f"at least {number(low, digits)}"
    ends = number(low, digits), number(high, digits)
    return ends[1] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def boundary_note(count: int | None) -> str:
    """Return a sentence on the samples on the decision boundary; empty if there are none."""
    samples = "1 sample has" if count == 1 else f"{count} samples have"
    return f"{samples} a decision of 0 and {'counts' if count == 1 else 'count'} as class -1." if count else ""


def classes(found: Outcome) -> tuple[str, str]:
    """Return the names of class +1, favoured by positive weights, and of class -1."""
    what = "a decision above 0" if has_kernel_weights(found) else "favoured by positive weights"
    (positive, other), rest = found.data.classes, found.data.negative_label
    if isinstance(rest, tuple) and found.data.class_names is None:
        other = f"{len(rest)} labels merged, {listed(rest, MERGED)}"
    return "Class +1", f"{positive} ({what}); class -1 is {other}"


def guess(data: Dataset) -> str:
    """Return a sentence on a guessed class +1, with the option to change it; empty if it was not guessed."""
    if not data.positive_guessed:
        return ""
    other = shlex.quote(str(data.negative_label))
    return (
        f"Class +1 is {data.positive_label}, the later of the two labels in order: --positive {other} (Python: "
        f"positive={data.negative_label!r}) changes all signs."
    )


def facts(found: Outcome) -> list[tuple[str, str]]:
    """Return the facts of a selection without its weights as (name, value)."""
    rows = [classes(found)]
    if found.data.weighting is not None:
        rows.append(("Weights of samples", str(found.data.weighting)))
    if found.has_solution and found.parameters.get("count") == "columns":
        rows.append(("Columns", ", ".join(found.data.columns_of(found.selected))))
    if stated := found.parameters.get("rows"):
        rows.append(("Rows", "; ".join(stated)))
    if found.objective is not None:
        rows += [("Objective", number(found.objective)), ("Proven bound", number(found.bound))]
        rows += [("Gap", percent(found.gap))]
    if found.fs_objective is not None and found.parameters.get("penalty") is not None:
        price = found.parameters["penalty"]
        rows.append(("FS objective (7)", f"{number(found.fs_objective)} at lambda = {price:g}"))
    if found.fsp_objective is not None:
        price = f"at C = {found.parameters['C']:g}, what fsp-m minimises"
        rows.append(("FSP objective", f"{number(found.fsp_objective)} on these features {price}"))
    wrong = found.training_error
    if wrong is not None:
        samples = found.data.n_samples
        rows.append(("Training error", f"{percent(wrong)} ({round(wrong * samples)} of {samples} samples)"))
        if boundary := boundary_note(found.training_on_boundary):
            rows.append(("On the boundary", boundary))
    rows += [(f"Mean scores by {by}", lines) for by, lines in mean_scores(found)]
    if found.validation_error is not None:
        by = ", by which it was chosen: no estimate for new data" if found.chosen_by else ""
        rows.append(("Validation error", percent(found.validation_error) + by))
    if found.classifier is not None:
        rows += found.classifier.facts.items()
    again = found.refit
    if again is not None:
        errors = [f"training error {percent(again.training_error)}"]
        if again.validation_error is not None:
            errors.append(f"validation error {percent(again.validation_error)}")
        rows.append(("Robust LP on these", f"objective {number(again.objective)}, {', '.join(errors)}"))
    rows.append(("Status", f"{found.status.value} ({found.stop_reason.value})"))
    steps = len(found.result.iterations)
    taken = f", {steps} iteration{'s' * (steps > 1)}" if steps else ""
    rows.append(("Time", f"{found.seconds:.1f} s by {found.result.solver}{taken}"))
    return rows


def mean_scores(found: Outcome) -> list[tuple[str, str]]:
    """Return the mean scores that ``fair`` bounds, and the shares of class +1, for each column of groups."""
    if not found.has_solution:
        return []
    lines, scores = [], found.decision(found.data)
    for name in dict.fromkeys(row["by"] for row in found.parameters.get("fair", ())):
        parts = [
            f"{group} {number(float(mean_of(found.data, rows, scores)))} "
            f"({percent(float(mean_of(found.data, rows, scores > 0)))} class +1)"
            for group, rows in found.data.members(name).items()
        ]
        lines.append((name, ", ".join(parts)))
    return lines


def rows_of_weights(found: Outcome) -> list[tuple[str, str, str]]:
    """Return (feature, weight in original units, weight as scaled), the largest scaled weight first.

    The bias of a linear classifier comes last; that of a kernel classifier is left out.
    """
    weights = found.weights
    order = sorted(found.selected, key=lambda name: -abs(weights[name]))
    original = found.weights_original or {}
    rows = [(name, number(original.get(name)), number(weights[name])) for name in order]
    return rows if has_kernel_weights(found) else [*rows, ("(bias)", number(found.bias_original), number(found.bias))]


def has_kernel_weights(found: Outcome) -> bool:
    """Return True if the weights are those of features inside a kernel."""
    return found.classifier is not None and found.classifier.inside is not None


def weight_label(found: Outcome) -> str:
    """Return the title of the column of weights."""
    return "kernel weight" if has_kernel_weights(found) else "weight"


def text(found: Outcome) -> str:
    """Return a few lines for a terminal."""
    lines = [f"{found.name} on {found.data.name}. {headline(found)}"]
    if found.has_solution:
        scaled = not found.data.scale.is_none
        word = weight_label(found)
        rows = [("feature", word, f"{word} as scaled"), *rows_of_weights(found)]
        rows = rows if len(rows) <= 32 else [*rows[:31], ("...", "", ""), rows[-1]]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        for name, original, as_scaled in rows:
            line = f"  {name:<{widths[0]}}  {original:>{widths[1]}}"
            lines.append(f"{line}  {as_scaled:>{widths[2]}}" if scaled else line)
        lines += [guess(found.data)] if found.data.positive_guessed else []
        lines += [f"{key}: {value}" for key, value in facts(found) if key not in ("Objective", "Proven bound", "Gap")]
        if found.message:
            lines.append(found.message)
    return "\n".join(lines)


def html(found: Outcome) -> str:
    """Return tables for Jupyter."""
    head = paragraph(f"on {found.data.name}. {headline(found)}", bold=found.name)
    if not found.has_solution:
        return head
    word = weight_label(found)
    weights = table(rows_of_weights(found), ("feature", f"{word}, original units", f"{word}, as scaled"), right=[1, 2])
    remarks = (paragraph(remark) for remark in (guess(found.data), found.message) if remark)
    return f"{head}{weights}{table(facts(found))}{''.join(remarks)}"


def report(found: Outcome) -> list[RenderableType]:
    """Return the parts of the command line's report, for a rich console."""
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(headline(found), style="bold" if found.has_solution else "bold red")]
    if not found.has_solution:
        return parts
    scaled = not found.data.scale.is_none
    weights = Table(box=None, padding=(0, 2, 0, 0))
    weights.add_column("Feature", overflow="fold")
    word = weight_label(found).capitalize()
    word += ",\n" if has_kernel_weights(found) and scaled else ", " if scaled else ""
    weights.add_column(f"{word}original units" if scaled else word, justify="right", no_wrap=True)
    if scaled:
        weights.add_column(f"{word}{found.data.scale.method} scale", justify="right", no_wrap=True)
    for name, original, as_scaled in rows_of_weights(found):
        weights.add_row(Text(name), original, *([as_scaled] if scaled else []))
    known = Table.grid(padding=(0, 2, 0, 0))
    for key, value in facts(found):
        known.add_row(key, Text(value))
    parts += ["", weights, "", known] if weights.row_count else ["", known]
    if found.message:
        parts += ["", Text(found.message)]
    return parts


def one_line(found: Outcome) -> str:
    """Return the headline and the selected features."""
    return f"{found.name} on {found.data.name}. {headline(found).rstrip('.')}: {', '.join(found.selected) or 'none'}"
