"""The pages ``all_methods_k`` and ``all_methods_rules``, drawn from the log of ``all_methods``."""

import statistics

from benchmarks.comparisons.all_methods import tasks
from benchmarks.harness import ranks
from benchmarks.harness.page import NOTHING, Cell, Page, summary
from benchmarks.methods.catalogue import LAST, METHODS, TRIAL

COMMAND = "python -m benchmarks all_methods --full --minutes 20"
SHOWN = 5  # k of the test, decided beforehand
LEVEL = 0.05
OURS = "FSP-M"
KEPT = ("set", "split", "method", "error", "features", "cost", "cpu", "gap", "reason")
STATES = ("honoured", "refused", "broken", "nothing")
AT_K_PROTOCOL = f"""\
- Sets, splits and scaling are as in [all_methods](all_methods.md); bupa, with six features, is omitted.
- The methods are those of that page that have a parameter k, or a path over one parameter that reaches few features.
- With a parameter k: FSP-M (C = 1), FSmulti strict (F1, C = n, no offset), RFE, Relief, forward selection.
- Cut: the path of the method over 25 values of its parameter, fixed beforehand. At k the loosest point with at most k
  features is used, and nothing if there is none.
- Every selection is evaluated by one classifier, the linear SVM with C = 1. Nothing is tuned.
- The limits are {TRIAL:g} CPU s for each k or point of a path, and {6 * TRIAL:g} for a ranking."""
RULES_PROTOCOL = f"""\
- Sets, splits and scaling are as in [all_methods](all_methods.md). The point is the one chosen there without rules.
- Costs are whole numbers from 1 to 9, seeded by the name of the set. The budget is 25, five features of mean cost. The
  two features that correlate most with the label in the training part exclude each other.
- Models have the rules as constraints. RFE and Relief, by `fs.select`, remove or add features one at a time as the
  rules allow. Forward selection is an implementation of the benchmark that does not support rules.
- Whether a fit honours the rules is checked on its result. A refused fit has a reason and selects nothing.
- The limit is {LAST:g} CPU s for a fit; mixed-integer programs inside a driver use it as wall-clock time."""


def k_page(found, facts, folder, whole):
    """Write the page of the table at k = 1 ... 10."""
    records = [
        {"method": e["method"], "set": e["set"], "split": e["split"], "late": None, **point}
        for e in whole(found, tasks.AT_K)
        for point in e["curve"]
    ]
    for record in records:
        record["late"] = None if record["late"] is None else float(record["late"])
        record["proven"] = None if record.get("status") is None else float(record["status"] == "optimal")
    by = {}
    for record in records:
        if record["k"] == SHOWN:
            by.setdefault((record["method"], record["set"]), []).append(record["error"])
    at_five = [{"method": m, "set": at, "error": statistics.fmean(of)} for (m, at), of in by.items()]
    less = "{mean:+.1f} ± {se:.1f}"
    page = Page("all_methods_k", "Selections of one to ten features on the same data", points=records, at_five=at_five)
    page.part("the table at k", len(found), len(tasks.wide()) * tasks.SPLITS * len(tasks.AT_K), COMMAND)
    page.answer(_answer_k(records))
    sets = [at for at in tasks.sets() if any(r["set"] == at for r in records)]
    splits = {(r["set"], r["split"]) for r in records}
    page.section(
        "Error at k features, %",
        f"Held-out error of the linear SVM with C = 1 on the selected features; means over {len(splits)} splits of "
        f"{len(sets)} sets: {', '.join(sets)}.",
    )
    header = ["method", *map(str, tasks.KS)]
    page.table(header, [[m, *_row(m, "error", "{mean:.1f}", 100)] for m in tasks.AT_K])
    page.section(
        "Features that are used", "Cut paths do not contain all sizes; their loosest point with at most k is used."
    )
    page.table(header, [[m, *_row(m, "features", "{mean:.1f}", 1)] for m in tasks.AT_K])
    proven = [m for m in ("FSP-M", "FSmulti strict") if m in tasks.AT_K]
    page.section(
        "Proven, %", f"Share of fits proven within {TRIAL:g} CPU s for each k, for the objective of the method."
    )
    page.table(header, [[m, *_row(m, "proven", "{mean:.0f}", 100)] for m in proven])
    page.section(
        f"Error at k = {SHOWN}, %",
        f"The first column is the error minus that of {OURS}: mean and standard error over sets, of means over splits.",
    )
    rows = [
        [
            m,
            "" if m == OURS else Cell("at_five", "error", less, {"method": m}, 100, {"method": OURS}, ("set",)),
            *(Cell("points", "error", "{mean:.1f}", {"method": m, "k": SHOWN, "set": at}, times=100) for at in sets),
        ]
        for m in tasks.AT_K
    ]
    page.table(["method", f"minus {OURS}", *sets], rows)
    lost = sorted({f"{e['method']} on {e['set']}: {e['reason']}" for e in found if e["reason"]})
    page.section("Without a result", "\n".join(f"- {line}" for line in lost) or "None.")
    page.section("Protocol", AT_K_PROTOCOL)
    page.section("Speed", f"{sum(e['cpu'] for e in found) / 3600:.2f} CPU hours for {len(found)} tasks.")
    page.write(facts, folder, logs=("all_methods",))


def _row(method, value, form, times):
    return [Cell("points", value, form, {"method": method, "k": k}, times=times) for k in tasks.KS]


def _answer_k(records):
    """Compare with FSP-M at the predefined k, and name the best method over all k."""
    at = [r for r in records if r["k"] == SHOWN]
    sets = list(dict.fromkeys(r["set"] for r in at))
    if len(sets) < 2:
        return "Not enough data sets yet. The table grows with the log."
    values = [
        [statistics.fmean(r["error"] for r in at if r["set"] == s and r["method"] == m) for m in tasks.AT_K]
        for s in sets
    ]
    found = ranks.ranked(values, tasks.AT_K)
    away = {m: (apart, p) for m, (apart, p) in found.against("FSP-M").items() if p < LEVEL}
    first = min(found.mean, key=found.mean.get)
    beside = "" if first == "FSP-M" else f", and FSP-M {found.mean['FSP-M']:.1f}"
    said = (
        f"At k = {SHOWN} {first} has the smallest mean rank of the error, {found.mean[first]:.1f} of "
        f"{len(tasks.AT_K)} methods on {len(sets)} sets{beside} (Friedman p = {found.p:.2g})"
    )
    held = {m: statistics.fmean(r["features"] for r in at if r["method"] == m) for m in away}
    parts = []
    for word, sign in (("larger", 1), ("smaller", -1)):
        names = [f"{m} (p = {p:.2g}, {held[m]:.1f} features)" for m, (apart, p) in away.items() if sign * apart > 0]
        parts += [f"the error is {word} than that of FSP-M for {', '.join(names)}"] if names else []
    said += f"; {'; '.join(parts)}. " if parts else "; no method differs from FSP-M after Holm. "
    means = {m: statistics.fmean(r["error"] for r in records if r["method"] == m) for m in tasks.AT_K}
    least, most = min(means, key=means.get), max(means, key=means.get)
    return said + (
        f"Over all k the mean error is between {means[least]:.1%} ({least}) and {means[most]:.1%} ({most})"
        f"{'' if OURS in (least, most) else f', and is {means[OURS]:.1%} for {OURS}'}."
    )


def rules_page(found, free, facts, folder, whole):
    """Write the page of the fits under a budget and a pair."""
    without = {(e["set"], e["split"], e["method"]): e for e in free}
    records = []
    for e in whole(found, METHODS):
        base = without[e["set"], e["split"], e["method"]]
        told = {
            name: e[name] for name in ("set", "split", "method", "error", "features", "cost", "cpu", "gap", "reason")
        }
        told |= {name: float(e[name]) for name in ("honoured", "refused", "late", "answer")}
        told["proven"] = None if e["status"] is None or not e["answer"] else float(e["status"] == "optimal")
        if not e["honoured"]:
            told |= {"error": None, "features": None, "cost": None}
        told["apart"] = None if told["error"] is None else told["error"] - base["error"]
        told["broken"] = float(bool(e["answer"]) and not e["honoured"])
        told["nothing"] = float(not e["answer"] and not e["refused"])
        records.append(told)
    prices = [
        {"method": m, "set": at, "apart": apart}
        for m in METHODS
        for at, apart in by_set([r for r in records if r["method"] == m]).items()
    ]
    title = "Selection with a budget and two features that exclude each other"
    page = Page("all_methods_rules", title, fits=records, prices=prices)
    page.part("the table under rules", len(found), len(tasks.sets()) * tasks.SPLITS * len(METHODS), COMMAND)
    page.answer(_answer_rules(records))
    page.section(
        "Honoured or refused",
        "Shares are in per cent of the fits. Error, features and cost refer to the fits that honour the rules. *more "
        "than without* is the error minus that of the same method and point without rules, mean and standard error "
        "over sets.",
    )
    rows, paid = [], {r["method"] for r in prices}
    for name in METHODS:
        at = {"method": name}
        rows.append(
            [
                name,
                *(
                    Cell("fits", what, "{mean:.0f}", at, times=100)
                    for what in ("honoured", "refused", "broken", "nothing")
                ),
                Cell("fits", "error", "{mean:.1f}", at, times=100),
                Cell("prices", "apart", "{mean:+.1f} ± {se:.1f}", at, times=100) if name in paid else NOTHING,
                Cell("fits", "features", "{mean:.1f}", at),
                Cell("fits", "cost", "{mean:.1f}", at),
                Cell("fits", "proven", "{mean:.0f}", at, times=100),
                Cell("fits", "late", "{mean:.0f}", at, times=100),
                Cell("fits", "cpu", "{mean:.1f}", at),
            ]
        )
    page.table(
        [
            "method", "honoured %", "refused %", "broken %", "nothing %", "error %", "more than without", "features",
            "cost", "proven %", "at limit %", "CPU s",
        ],
        rows,
    )  # fmt: skip
    reasons = {}
    for record in records:
        if record["reason"]:
            reasons.setdefault((record["method"], record["reason"]), []).append(record["set"])
    lines = [f"- {m}, {', '.join(dict.fromkeys(sets))}: {why}" for (m, why), sets in reasons.items()]
    page.section("Refused, or without a result", "\n".join(lines[:40]) or "None.")
    page.section("Protocol", RULES_PROTOCOL)
    page.section("Speed", f"{sum(e['cpu'] for e in found) / 3600:.2f} CPU hours for {len(found)} tasks.")
    page.write(facts, folder, logs=("all_methods",))


def _answer_rules(records):
    """Report which methods respect the rules, and the increase of the error."""
    if not records:
        return "Nothing yet. The table grows with the log."
    names = [m for m in METHODS if any(r["method"] == m for r in records)]
    every = {m: [r for r in records if r["method"] == m] for m in names}
    always = [m for m in names if all(r["honoured"] for r in every[m])]
    never = [m for m in names if all(r["refused"] for r in every[m])]
    broken = sum(r["broken"] for r in records)
    some = [m for m in names if m not in always and m not in never]
    nothing = sum(not r["honoured"] for m in some for r in every[m])
    late = f", {' and '.join(some)} have no result within their limit in {nothing} fits" if some else ""
    said = (
        f"{len(always)} of {len(names)} methods satisfy a budget and a pair rule in every fit, {len(never)} reject "
        f"them with an error ({', '.join(never)}){late}, and {int(broken)} of {len(records)} fits violate them. "
    )
    apart = {m: [*by_set(every[m]).values()] for m in always}
    if not apart:
        return said + "None can be compared yet."
    least, most = (choose(apart, key=lambda m: statistics.fmean(apart[m])) for choose in (min, max))
    ps = ranks.holm([ranks.signed_ranks(of, [0.0] * len(of)) for of in apart.values()])
    shown = [m for m, p in zip(apart, ps, strict=True) if p < LEVEL]
    word = f"significant for {', '.join(shown)}" if shown else f"not significant for any (smallest p {min(ps):.2g})"
    return said + (
        f"The rules change the error by between {points(apart[least])} points ({least}) and {points(apart[most])} "
        f"({most}) on {len(apart[most])} sets; by Wilcoxon's test with Holm's correction this is {word}."
    )


def by_set(fits):
    """Return set -> increase of the error by rules."""
    found = {}
    for fit in fits:
        if fit["apart"] is not None:
            found.setdefault(fit["set"], []).append(fit["apart"])
    return {at: statistics.fmean(of) for at, of in found.items()}


def points(apart):
    """Return mean and standard error in points."""
    return "{mean:+.1f} ± {se:.1f}".format(**summary([100 * x for x in apart]))
