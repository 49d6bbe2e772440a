"""What speaks for the selection: errors held out, what is proven, other numbers of features, what-ifs."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from fsmodels.page import told
from fsmodels.page.errors import Held
from fsmodels.page.features import digits
from fsmodels.page.figures import inline_svg
from fsmodels.page.stages import Findings
from fsmodels.page.told import name, names, plus_minus, points
from fsmodels.page.what_ifs import MOST_FEATURES, Rule, WhatIfs
from fsmodels.selection.curve import SelectionPath
from fsmodels.selection.recipes import find
from fsmodels.selection.report import number
from fsmodels.selection.selection import Selection

__all__ = ["certainty", "errors", "path", "what_if"]

HEADS = ["Error", "Balanced error", "Right order (AUC)", "Features"]
RIVALS = {
    "majority": "Always the more frequent class",
    "svm": "All features (support vector machine)",
    "rfe": "As many features by recursive elimination",
}
SHOWN = 30  # features whose frequency is told
NEEDED = 0.01  # a share of the criterion: what costs less is as good in practice


def errors(done: Findings) -> dict[str, Any]:
    """Return the table of held-out errors."""
    held, found = done.model, done.found
    rows = [] if held is None else [_error_row("The rule of this report", held, this=True)]
    rows += [_error_row(RIVALS[who], rival) for who, rival in done.rivals]
    if held is None:
        why = [done.missing.get("errors", "")]
        return {"lead": why, "rows": rows, "caption": "To compare with", "heads": HEADS, "remarks": []}
    lead = Markup(
        "The samples were divided into {} parts. Each part was put aside once; features and weights were chosen anew "
        "from the rest, and then tried on the part. So the rule was judged on every sample, and never on one that it "
        "had learnt from."
    ).format(held.folds)
    remarks = [
        Markup(
            "± is one standard error over the parts: a difference of less than about twice that may be chance. The "
            "balanced error counts both classes alike, however many samples they have; a coin has 50%. The right order "
            "says how often, of a sample of each class, the rule gives {} the higher score; a coin has 50%, too."
        ).format(told.label(found.data))
    ]
    remarks += [Markup("{}: {}").format(RIVALS[who], why) for who, why in done.lost.items()]
    if held.lost:
        remarks.append(Markup("{} of the parts had no solution in time, and do not count.").format(held.lost))
    if 0 < len(found.selected) < found.data.n_features:
        remarks.append(_steadiness(held, list(found.table().index)))
    if found.training_error is not None:
        remarks.append(
            Markup(
                "On the samples that it learnt from, the rule is wrong for {}. That is no estimate for new ones."
            ).format(points(found.training_error))
        )
    return {
        "lead": [lead, *told.verdict_on_errors(done), *_beside_all(held, done)],
        "rows": rows,
        "caption": f"Errors on samples not seen, over {held.folds} parts",
        "heads": HEADS,
        "remarks": remarks,
    }


def _beside_all(held: Held, done: Findings) -> list[Markup]:
    """Say what the few features cost or gain beside all of them."""
    every = next((rival for who, rival in done.rivals if who == "svm"), None)
    if every is None or len(done.found.selected) == done.found.data.n_features:
        return []
    more, chance = held.error[0] - every.error[0], 2 * math.hypot(held.error[1], every.error[1])
    verdict = "the difference may be chance" if abs(more) <= chance else "fewer features are better here"
    if more > chance:
        verdict = "so much is lost by leaving features out"
    return [
        Markup("A rule on all {} features is wrong for {:.1f} of 100: {}.").format(
            done.found.data.n_features, 100 * every.error[0], verdict
        )
    ]


def _error_row(what: str, held: Held, this: bool = False) -> dict[str, Any]:
    sizes = sorted(set(held.sizes))
    many = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return {"name": what, "this": this, "cells": [*map(plus_minus, (held.error, held.balanced, held.auc)), many]}


def _steadiness(held: Held, selected: list[str]) -> Markup:
    """Say which of the features were chosen again on the folds."""
    if all(held.chosen.get(j, 0) == held.folds for j in selected):
        return Markup("All selected features were chosen again in every part.")
    often = [Markup("{} {}").format(name(j), held.chosen.get(j, 0)) for j in selected[:SHOWN]]
    return Markup(
        "How often each selected feature was chosen again in the {} parts: {}. Where the number is low, the choice of "
        "the feature hangs on which samples there are."
    ).format(held.folds, Markup(", ").join(often))


def certainty(done: Findings) -> dict[str, Any]:
    """Return what is proven, for a manager, as a picture and for an expert."""
    found, picture = done.found, None
    if find(found.name).runs_solver and found.bound is not None and len(found.result.iterations):
        picture = inline_svg(
            "bounds",
            "Best choice found and proven bound over time",
            "Two lines over the seconds of the search. The criterion of the best choice found ends at "
            f"{number(found.objective)}, the proven bound at {number(found.bound)}.",
            lambda ax: _bounds(found, ax),
        )
    caption = (
        "The search from begin to end. One line is the best choice found so far; what is proven is that no choice can "
        "lie beyond the other. Where they meet, the choice is proven to be the best."
    )
    return {"lead": told.certainty(done), "picture": picture, "caption": caption, "expert": told.expert(done)}


def _bounds(found: Selection, ax: Any) -> None:
    found.result.plot("seconds", ax)
    ax.set_ylabel("criterion")


def path(done: Findings) -> dict[str, Any]:
    """Return objective and error by number of features."""
    walk = done.path
    if walk is None:
        return {"lead": [done.missing["path"]], "pictures": [], "rows": [], "heads": []}
    asked = done.plan.words["max_features"]
    points_of = [_at_best(row, done.found, asked) for row in walk.table().reset_index().to_dict("records")]
    held = [row for row in points_of if _known(row.get("cv_error"))]
    solved = any(_known(row["objective"]) for row in points_of)
    criterion = "Criterion" if solved else "Criterion of fsp-m"
    rows = []
    for row in points_of:
        value = row["objective"] if _known(row["objective"]) else row.get("fsp_objective")
        cells: list[Any] = [digits(value) + _open(row)] if _known(value) else ["–"]
        if held:
            cells.append(plus_minus((row["cv_error"], row["cv_se"])) if _known(row["cv_error"]) else "–")
        cells.append(names(row["selected"]) if row["selected"] else "no selection")
        rows.append({"name": _many(row["max_features"]), "this": row["max_features"] == asked, "cells": cells})
    lead = [Markup("The same question with other numbers of features allowed."), *_least(held)]
    if len(points_of) < len(done.plan.sizes):
        lead.append(Markup("The report was stopped before the larger numbers were tried."))
    return {
        "lead": lead,
        "pictures": _pictures(walk, solved, bool(held)) if len(points_of) > 1 else [],
        "rows": rows,
        "heads": [criterion, *(["Error on samples not seen"] if held else []), "Which"],
    }


def _at_best(row: dict[str, Any], found: Selection, asked: int) -> dict[str, Any]:
    """Return a point, that of the question with what the longer search found and proved."""
    value, known = found.objective, row["objective"]
    if row["max_features"] != asked or value is None or (_known(known) and known < value):
        return row
    return {**row, "objective": value, "gap": found.gap, "selected": list(found.selected)}


def _least(held: list[dict[str, Any]]) -> list[Markup]:
    """Say which number of features has the least held-out error, and which is about as good."""
    if not held:
        return []
    best = min(held, key=lambda row: (row["cv_error"], row["max_features"]))
    near = [row["max_features"] for row in held if row["cv_error"] <= best["cv_error"] + best["cv_se"]]
    said = Markup("The error on samples not seen is least with {} ({}).").format(
        _many(best["max_features"]), plus_minus((best["cv_error"], best["cv_se"]))
    )
    if min(near) < best["max_features"]:
        said += Markup(" With {} it is at most one standard error above that.").format(_many(min(near)))
    warning = "A number chosen because its error is least here looks a little better than it will be on new samples."
    return [said, Markup(warning)]


def _pictures(walk: SelectionPath, solved: bool, held: bool) -> list[dict[str, Any]]:
    pictures = []
    if solved:
        pictures.append(
            {
                "svg": inline_svg(
                    "objective",
                    "Criterion against number of features",
                    "The best known criterion for each number of features. The table below has the numbers.",
                    lambda ax: _drawn(walk, "objective", ax),
                ),
                "caption": "The criterion on the samples at hand. More features can only better it.",
            }
        )
    if held:
        pictures.append(
            {
                "svg": inline_svg(
                    "held-out",
                    "Error against number of features",
                    "Errors in percent on samples learnt from and on samples held out. The table has the numbers.",
                    lambda ax: _drawn(walk, "error", ax),
                ),
                "caption": "The error. What counts is the one on samples held out, with its standard error; more "
                "features need not better it.",
            }
        )
    return pictures


def _drawn(walk: SelectionPath, what: str, ax: Any) -> None:
    walk.plot(what, ax)
    if what == "objective":
        ax.set_ylabel("criterion")
        for text in ax.get_legend().get_texts():
            text.set_text(text.get_text().replace("best known objective", "best known"))


def _many(k: int) -> str:
    return "1 feature" if k == 1 else f"{k} features"


def _known(x: Any) -> bool:
    return x is not None and math.isfinite(x)


def _open(row: dict[str, Any]) -> str:
    gap = row["gap"]
    return f" (the best may be {points(gap)} lower)" if _known(gap) and told.CLOSE < gap <= 1 else ""


def what_if(done: Findings) -> dict[str, Any]:
    """Return the answers about features left out and side constraints."""
    found, answers = done.found, done.what_ifs
    if answers is None:
        return {"lead": [done.missing["what_ifs"]], "parts": [], "remarks": []}
    parts = []
    if answers.features:
        rows = [(Markup("Without {}").format(name(cost.what)), told.what_if(cost, found)) for cost in answers.features]
        caption = "If one of the selected features could not be had"
        parts.append({"caption": caption, "head": "Change", "rows": rows, "sentences": False})
    if answers.rules:
        rows = [
            (told.rule(cost.what, found.data), told.what_if(cost, found))
            for cost in answers.rules
            if isinstance(cost.what, Rule)
        ]
        parts.append({"caption": "What each rule costs", "head": "Without the rule", "rows": rows, "sentences": True})
    lead = [
        Markup(
            "Each answer is the best choice under the changed question. By how much the criterion changes is proven; "
            "less than 1% is hardly felt."
        )
    ]
    if not parts:
        lead = [Markup("There is nothing to leave out.")]
        if answers.left:
            lead = [Markup("There was no time for any of these questions.")]
    best = answers.next_best
    if best is not None and best.instead is not None:
        lead.append(
            Markup("The best choice that is not the one above is {}; the criterion gets {}.").format(
                names(best.instead), told.amount(best, "larger")
            )
        )
    return {"lead": lead, "parts": parts, "remarks": _needed(found, answers)}


def _needed(found: Selection, answers: WhatIfs) -> list[Markup]:
    """Say which features every good choice needs, and what was not asked."""
    remarks = []
    needed = [cost.what for cost in answers.features if cost.least > NEEDED or not cost.possible]
    if needed:
        remarks.append(Markup("Every choice within 1% of the best needs {}.").format(names(needed)))
    elif answers.features and all(cost.most <= NEEDED for cost in answers.features):
        remarks.append(Markup("Each of these features can be replaced, and the choice stays within 1% of the best."))
    if answers.left:
        remarks.append(Markup("{} more questions stayed open, for want of time.").format(answers.left))
    if len(found.selected) > MOST_FEATURES:
        remarks.append(Markup("Asked of the {} features of the largest weight.").format(MOST_FEATURES))
    return remarks
