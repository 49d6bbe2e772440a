"""The page ``all_methods_k``: selections of one to ten features, from the log of ``all_methods``."""

import statistics

from benchmarks.comparisons.all_methods import tasks
from benchmarks.comparisons.all_methods.page import COMMAND, entries, facts, whole
from benchmarks.harness import ranks
from benchmarks.harness.differences import by_source, in_words
from benchmarks.harness.page import Cell, Page
from benchmarks.methods.catalogue import TRIAL

SHOWN = 5  # k of the test, decided beforehand
LEVEL = 0.05
OURS = "FSP-M"
EXACT = (OURS, "FSmulti strict", "OKRidge")


def page(log):
    """Return the page of the table at k = 1 ... 10."""
    found = [entry for entry in entries(log, "k") if entry["method"] in tasks.AT_K]
    methods = methods_of(found)  # optional ones may be missing
    records = [
        {"method": e["method"], "set": e["set"], "split": e["split"], "late": None, **point}
        for e in whole(found, methods)
        for point in e["curve"]
    ]
    for record in records:
        record["late"] = None if record["late"] is None else float(record["late"])
        record["empty"] = float(record["features"] == 0)
        record["proven"] = None if record.get("status") is None else float(record["status"] == "optimal")
    by = {}
    for record in records:
        if record["k"] == SHOWN:
            by.setdefault((record["method"], record["set"]), []).append(record["error"])
    at_five = [{"method": m, "set": at, "error": statistics.fmean(of)} for (m, at), of in by.items()]
    page = Page("all_methods_k", globals(), points=records, at_five=at_five)
    page.part("the table at k", len(found), len(tasks.wide()) * tasks.SPLITS * len(methods), COMMAND)
    page.facts = facts()
    sets = [at for at in tasks.sets() if any(r["set"] == at for r in records)]
    lost = sorted({f"- {e['method']} on {e['set']}: {e['reason']}" for e in found if e["reason"]})
    page.values(sets=sets, splits=len({(r["set"], r["split"]) for r in records}), lost="\n".join(lost) or "None.")
    page.values(answer=answer(records), hours=f"{sum(e['cpu'] for e in found) / 3600:.2f}", tasks_done=len(found))
    page.values(methods=[([method], {"method": method}) for method in methods], sizes=tasks.KS)
    page.values(exact=[([method], {"method": method}) for method in EXACT if method in methods])
    return page.values(trial=f"{TRIAL:g}", ranking=f"{6 * TRIAL:g}")


def methods_of(records):
    """Return the methods of the records, in the order of the tables."""
    there = {record["method"] for record in records}
    return [method for method in tasks.AT_K if method in there]


def at_five(page, sets):
    """Return the table of the errors at the predefined k."""
    rows, less, found = [], "{mean:+.1f} ± {se:.1f}", ranked_methods(page.records["points"])
    for m in methods_of(page.records["points"]):
        apart = Cell("at_five", "error", less, {"method": m}, 100, {"method": OURS}, ("set",))
        errors = (Cell("points", "error", "{mean:.1f}", {"method": m, "k": SHOWN, "set": at}, times=100) for at in sets)
        empty = Cell("points", "empty", "{mean:.0f}", {"method": m, "k": SHOWN}, times=100)
        rank = f"{found.mean[m]:.1f}" if found else ""
        rows.append([m, rank, "" if m == OURS else apart, empty, *errors])
    return page.table(["method", "mean rank", f"minus {OURS}", "no feature %", *sets], rows)


def ranked_methods(records):
    """Rank the methods by the error at the predefined k over sources of data; return None for a single set."""
    at, methods = [r for r in records if r["k"] == SHOWN], methods_of(records)
    sets = list(dict.fromkeys(r["set"] for r in at))
    if len(sets) < 2:
        return None
    means = {m: {s: statistics.fmean(r["error"] for r in at if (r["set"], r["method"]) == (s, m)) for s in sets}
             for m in methods}  # fmt: skip
    sources = {m: by_source(of) for m, of in means.items()}
    return ranks.ranked([[of[source] for of in sources.values()] for source in sources[OURS]], methods)


def share(records, method, what):
    """Return the mean of a value over the records of a method."""
    return statistics.fmean(r[what] for r in records if r["method"] == method)


def answer(records):
    """Compare with FSP-M at the predefined k, and name the best method over all k."""
    at, methods = [r for r in records if r["k"] == SHOWN], methods_of(records)
    found = ranked_methods(records)
    if found is None:
        return "Not enough data sets yet. The table grows with the log."
    every = found.against("FSP-M")
    away = {m: (apart, p) for m, (apart, p) in every.items() if p < LEVEL}
    first = min(found.mean, key=found.mean.get)
    beside = "" if first == "FSP-M" else f", and FSP-M {found.mean['FSP-M']:.1f}"
    signs = {m.partition(", ")[0]: (apart < 0) - (apart > 0) for m, (apart, _) in away.items()}
    signs |= {f"the other {len(every) - len(away)} methods": 0} if len(every) > len(away) else {}
    text = (
        f"With at most {SHOWN} features FSP-M, the exact model, {in_words(signs)}. "
        f"At k = {SHOWN} {first} has the smallest mean rank of the error, {found.mean[first]:.1f} of "
        f"{len(methods)} methods on {len(found.ranks)} sources of data{beside} (Friedman p = {found.p:.2g}); "
        f"{share(at, OURS, 'proven'):.0%} of the fits of {OURS} are proven within {TRIAL:g} CPU s"
    )
    parts = []
    for word, sign in (("larger", 1), ("smaller", -1)):
        names = [f"{m} (p = {p:.2g})" for m, (apart, p) in away.items() if sign * apart > 0]
        parts += [f"the error is {word} than that of FSP-M for {', '.join(names)}"] if names else []
    text += f"; {'; '.join(parts)}. " if parts else "; no method differs from FSP-M after Holm. "
    means = {m: statistics.fmean(r["error"] for r in records if r["method"] == m) for m in methods}
    least, most = min(means, key=means.get), max(means, key=means.get)
    return text + (
        f"Over all k the mean error is between {means[least]:.1%} ({least}) and {means[most]:.1%} ({most})"
        f"{'' if OURS in (least, most) else f', and is {means[OURS]:.1%} for {OURS}'}."
    )
