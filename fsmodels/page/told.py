"""The findings in words for somebody who decides by them; names that come from the data are escaped and set apart."""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from fsmodels.datasets.dataset import Dataset
from fsmodels.page.stages import Findings
from fsmodels.page.what_ifs import Cost, Rule, rules_of
from fsmodels.selection.recipes import find
from fsmodels.selection.report import number, percent, weighs_kernel
from fsmodels.selection.selection import Selection
from solvers import SolutionStatus, StopReason

__all__ = [
    "all_rules", "amount", "certainty", "classes", "expert", "label", "legible", "name", "names", "other_label",
    "plus_minus", "points", "question", "rule", "verdict_on_errors", "what_if",
]  # fmt: skip

SHOWN = 12  # names in a sentence
CLOSE = 1e-3  # a gap that a reader may take for none
AT_HAND = "This is about the samples at hand. What to expect of new ones, the section on errors says."
SMALL_WEIGHTS = ("svm", "one-norm-svm", "fsp-m", "fsp-lambda")  # whose criterion counts mistakes and sizes of weights
MUCH = 1000  # percent, from where on nobody reads the number
FEW = 10  # samples of a class, below which errors say little


def legible(text: object) -> str:
    """Return text of the data without characters that are not seen, or that would turn what follows them round."""
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in "\u200c\u200d" else c
        for c in str(text)
    )


def name(text: object) -> Markup:
    """Return text of the data as an element of its own, whose direction does not spill over."""
    parts = legible(text).replace("_", "_\0").split("\0")  # a long name may be broken after "_"
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(parts))


def names(many: Iterable[object], last: str = "and", shown: int = SHOWN) -> Markup:
    """Return names in a row: "a, b and c"."""
    every = [name(one) for one in many]
    if len(every) > shown:
        return Markup("{}, and {} more").format(Markup(", ").join(every[:shown]), len(every) - shown)
    if len(every) < 2:
        return Markup("").join(every) or Markup("none")
    return Markup("{} {} {}").format(Markup(", ").join(every[:-1]), last, every[-1])


def points(share: float) -> str:
    """Return a share in percent, with the digits that matter."""
    if not math.isfinite(share):
        return "any amount"
    value = 100 * abs(share)
    if value > MUCH:
        return f"more than {MUCH:,}%"
    if value == 0 or value >= 99.95:
        return f"{value:.0f}%"
    if value < 0.01:
        return "less than 0.01%"
    return f"{value:.1f}%" if value >= 0.95 else f"{value:.2g}%"


def plus_minus(pair: tuple[float, float]) -> str:
    """Return a mean with its standard error in percent."""
    mean, spread = pair
    if not math.isfinite(mean):
        return "–"
    return f"{100 * mean:.1f}%" + (f" ± {100 * spread:.1f}" if math.isfinite(spread) else "")


def label(data: Dataset) -> Markup:
    """Return the label of class +1."""
    return _label(data.positive_label)


def other_label(data: Dataset) -> Markup:
    """Return what the samples of class -1 are."""
    if isinstance(data.negative_label, tuple):
        return Markup("not {}").format(label(data))
    return _label(data.negative_label)


def _label(text: object) -> Markup:
    """Return a label that can stand in a sentence: a number is no word."""
    plain = str(text).lstrip("+-").replace(".", "", 1)
    return Markup("class {}").format(name(text)) if plain.isdigit() or len(plain) < 2 else name(text)


def classes(data: Dataset) -> list[tuple[Markup, int, str]]:
    """Return (label, samples, share) of both classes."""
    total, positives = data.n_samples, int((data.y > 0).sum())
    other = other_label(data)
    if isinstance(data.negative_label, tuple):
        other = Markup("{} ({})").format(other, names(data.negative_label))
    rows = [(label(data), positives), (other, total - positives)]
    return [(what, count, points(count / total)) for what, count in rows]


def question(found: Selection) -> list[Markup]:
    """Say what was asked, and what "best" means, without a formula."""
    data, title = found.data, find(found.name).title
    one, other, most = label(data), other_label(data), found.parameters.get("max_features")
    which = Markup("Which of the {} features, taken together, tell {} from {} best?")
    if found.name == "svm":
        which = Markup("How do all {} features together tell {} from {}?")
    elif isinstance(most, numbers.Integral):
        which = Markup("Which {} of the {{}} features, taken together, tell {{}} from {{}} best?").format(
            "one" if most == 1 else f"at most {most}"
        )
    scored = "A rule gives each sample a score: each selected feature times a weight, all added up. "
    if weighs_kernel(found):
        scored = "A curved rule on the selected features gives each sample a score. "
    said = [Markup("{}Above 0 it says {}, otherwise {}.").format(scored, one, other)]
    if not find(found.name).runs_solver:
        said.append(Markup("The features were chosen by a rule of thumb, which proves nothing: {}.").format(title))
    elif found.name in SMALL_WEIGHTS:
        price = " Each feature has a price." if found.name == "fsp-lambda" else ""
        said.append(
            Markup(
                "The best rule makes few and small mistakes on the samples at hand and needs only small weights, so "
                "that it does not hang on accidents of these samples.{} One number, the criterion, adds this up; the "
                "smaller, the better."
            ).format(price)
        )
    else:
        better = "the smaller, the better" if found.result.minimize else "the larger, the better"
        said.append(
            Markup("One number, the criterion of the method, says what is best; {} ({}).").format(better, title)
        )
    return [which.format(data.n_features, one, other), Markup(" ").join(said)]


def rule(told: Rule, data: Dataset) -> Markup:
    """Return a side constraint in words."""
    what = told.told
    if told.kind == "budget":
        costs = [(legible(j), cost) for j, cost in what["costs"].items() if cost]
        listed = Markup(", ").join(Markup("{} {}").format(name(j), number(cost)) for j, cost in costs[:SHOWN])
        more = f", and {len(costs) - SHOWN} more" if len(costs) > SHOWN else ""
        return Markup("The selected features cost at most {} together ({}{}).").format(
            number(what["limit"]), listed, more
        )
    if told.kind == "requires":
        return Markup("{} only together with {}.").format(name(what[0]), name(what[1]))
    if told.kind == "excludes":
        return Markup("Not both {} and {}.").format(name(what[0]), name(what[1]))
    if told.kind in ("force_in", "force_out"):
        return Markup("{} {} be among the features.").format(
            names(what), "must" if told.kind == "force_in" else "must not"
        )
    if told.kind == "all_or_none":
        return Markup("{}: all of them or none.").format(names(what))
    if told.kind in ("at_most", "at_least"):
        return Markup("{} {} of {}.").format(
            told.kind.replace("_", " ").capitalize(), what["k"], names(what["features"], "and")
        )
    if told.kind == "at_most_of_group":
        most = what["most"]
        if isinstance(most, dict):
            limits = Markup(", ").join(Markup("{} of {}").format(k, name(group)) for group, k in most.items())
            return Markup("At most so many features of each group: {}.").format(limits)
        groups: dict[str, list[str]] = {}
        for feature, group in what["groups"].items():
            groups.setdefault(group, []).append(feature)
        shown = [Markup("{} ({})").format(name(group), names(held)) for group, held in list(groups.items())[:SHOWN]]
        more = Markup(", and {} more").format(len(groups) - SHOWN) if len(groups) > SHOWN else ""
        return Markup("At most {} of each group of features: {}{}.").format(most, Markup("; ").join(shown), more)
    if told.kind == "signs":
        ((feature, sign),) = what.items()
        towards = label(data) if sign == "+" else other_label(data)
        return Markup("Higher {} may only speak for {}.").format(name(feature), towards)
    if told.kind == "fair":
        return Markup("The average scores of the groups of {} differ by at most {}.").format(
            name(what["by"]), number(what["limit"])
        )
    if told.kind == "hierarchy":
        with_ = "both of its features" if what == "strong" else "at least one of its features"
        return Markup("A product of two features only with {}.").format(with_)
    return Markup("{}: {}.").format(told.kind, legible(what))


def certainty(done: Findings) -> list[Markup]:
    """Say what is proven about the selection, for somebody who does not know optimisation."""
    found = done.found
    gap = found.gap
    allowed = "no other choice that the question allows"
    if done.certified is not None:
        return _certified(done)
    if found.status is SolutionStatus.OPTIMAL and gap is not None and gap <= CLOSE:
        beyond = f" by more than {points(max(gap, 1e-4))}" if gap > 5e-7 else ""
        said = f"It is proven, not estimated, that {allowed} betters the criterion on these data{beyond}."
    elif gap is not None and gap <= 1:
        stopped = "" if found.status is SolutionStatus.OPTIMAL else f" {_why_open(found)}"
        said = (
            f"It is proven that {allowed} can better the criterion by more than {points(gap)}.{stopped} Whether any is "
            "better at all is open."
        )
    elif gap is not None:
        said = f"Next to nothing is proven about how far this choice is from the best. {_why_open(found)}"
    elif found.status is SolutionStatus.STATIONARY:
        said = (
            "Small changes do not better this choice. Nothing is proven about quite different choices: one of them may "
            "be better."
        )
    else:
        said = "Nothing is proven about this choice: another one may be better."
    return [Markup(said), Markup(AT_HAND)]


def _why_open(found: Selection) -> str:
    reasons = {
        StopReason.TIME_LIMIT: f"The search ended at its limit of {found.result.options.get('time_limit') or 0:g} s.",
        StopReason.ITERATION_LIMIT: "The search ended at its limit of steps.",
        StopReason.INTERRUPTED: "The search was stopped by hand.",
    }
    return reasons.get(found.stop_reason, "")


def _certified(done: Findings) -> list[Markup]:
    """Say how far a rule of thumb is from the best."""
    held = done.certified
    assert held is not None
    said = Markup(
        "The rule of thumb proves nothing by itself. It was held against {}, whose criterion counts mistakes and sizes "
        "of weights. "
    ).format(held.model)
    if held.worse > CLOSE:
        said += Markup("There the best choice found is {}, {} better.").format(
            names(held.best.selected), points(held.worse / (1 + held.worse))
        )
        settled = held.gap - held.worse / (1 + held.worse) <= CLOSE
        said += " That is proven to be the best." if settled else f" None is more than {points(held.gap)} better."
    elif held.gap <= CLOSE:
        said += "It is proven that no other choice under the same rules is better there."
    else:
        said += f"It is proven that no choice under the same rules is more than {points(held.gap)} better there."
    return [said, Markup(AT_HAND)]


def expert(done: Findings) -> Markup:
    """Return the certificate for somebody who knows optimisation."""
    found = done.found
    what = f"{find(found.name).title}; solved by {found.result.solver}"
    if found.objective is not None:
        bound = "no lower bound" if found.bound is None else f"proven lower bound {number(found.bound)}"
        what += f"; objective {number(found.objective)}, {bound}"
    if found.gap is not None:
        what += f", relative gap {percent(found.gap)}"
    what += f"; status {found.status.value} ({found.stop_reason.value})"
    said = Markup("{}: {}, {:.1f} s.").format(found.name, what, found.seconds)
    if done.certified is not None:
        said += Markup(" {}").format(legible(done.certified.sentence))
    return Markup("{} {}").format(said, legible(found.message)) if found.message else said


def verdict_on_errors(done: Findings) -> list[Markup]:
    """Say in a sentence or two how often the rule is wrong, and whether that is any good."""
    held, data = done.model, done.found.data
    if held is None:
        return []
    guess = next(rival for who, rival in done.rivals if who == "majority")
    often = Markup(
        "On samples that it had not seen, the rule was wrong for {} of 100, give or take {}. Always saying {} would be "
        "wrong for {} of 100."
    ).format(
        f"{100 * held.error[0]:.1f}", f"{100 * held.error[1]:.1f}",
        label(data) if (data.y > 0).mean() > 0.5 else other_label(data), f"{100 * guess.error[0]:.1f}",
    )  # fmt: skip
    said = [often]
    if held.error[0] + held.error[1] >= guess.error[0] and held.balanced[0] + held.balanced[1] >= 0.5:
        said.append(Markup("That is no better than guessing: do not use this rule as it is."))
    elif held.balanced[0] + held.balanced[1] >= 0.5:
        said.append(Markup("Of the two classes alike it knows no more than a coin: do not use this rule as it is."))
    fewest = min(int((data.y > 0).sum()), int((data.y < 0).sum()))
    if fewest < FEW * held.folds / 2:
        said.append(Markup("The smaller class has only {} samples, so these figures are rough.").format(fewest))
    return said


def what_if(cost: Cost, found: Selection) -> Markup:
    """Say what leaving a feature or a rule out does."""
    a_rule = isinstance(cost.what, Rule)
    if not cost.possible:
        return Markup("No selection is then possible under the other rules.")
    if cost.instead is None:
        return Markup("Not known in the time given.")
    same = set(cost.instead) == set(found.selected)
    if a_rule and cost.most <= CLOSE / 2:
        return Markup("Nothing changes: this rule costs nothing.")
    if a_rule and same:
        return Markup("Nothing better was found without it. It costs {} at most.").format(points(cost.most))
    new = [j for j in cost.instead if j not in found.selected]
    gone = [j for j in found.selected if j not in cost.instead]
    if a_rule:
        swap = _swap(new, gone)
        return Markup("{} The criterion gets {}.").format(swap, amount(cost, "smaller"))
    others = Markup("{} instead. ").format(names(new)) if new else Markup("Nothing is needed instead. ")
    also = [j for j in gone if j != cost.what]
    if also:
        others += Markup("{} would go too. ").format(names(also))
    tail = ": practically as good." if cost.most <= 0.01 else "."
    return Markup("{}The criterion gets {}{}").format(others, amount(cost, "larger"), tail)


def _swap(new: Sequence[str], gone: Sequence[str]) -> Markup:
    if new and gone:
        return Markup("{} in place of {}.").format(names(new), names(gone))
    return Markup("{} besides.").format(names(new)) if new else Markup("Without {}.").format(names(gone))


def amount(cost: Cost, which: str) -> str:
    """Return between what and what."""
    if not math.isfinite(cost.most):
        return f"{which} by at least {points(cost.least)}"
    if cost.most <= CLOSE / 2:
        return f"hardly {which} ({points(cost.most)} at most)" if cost.most > 0 else f"no {which}"
    if cost.settled or points(cost.least) == points(cost.most):
        return f"{which} by {points(cost.most)}"
    if cost.least <= 0:
        return f"{which} by at most {points(cost.most)}, perhaps not at all"
    return f"{which} by {points(cost.least)} to {points(cost.most)}"


def all_rules(found: Selection) -> list[Markup]:
    """Return all side constraints in words."""
    return [rule(one, found.data) for one in rules_of(found)]
