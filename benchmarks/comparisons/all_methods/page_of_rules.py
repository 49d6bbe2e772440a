"""The page ``all_methods_rules``: a budget and a pair rule, from the log of ``all_methods``."""

import statistics

from benchmarks.comparisons.all_methods import tasks
from benchmarks.comparisons.all_methods.page import COMMAND, entries, facts, whole
from benchmarks.harness import ranks
from benchmarks.harness.differences import by_source
from benchmarks.harness.page import NOTHING, Cell, Page, summary
from benchmarks.methods.catalogue import LAST, METHODS

LEVEL, LISTED = 0.05, 40


def page(log):
    """Return the page of the fits with a budget and a pair rule."""
    found, free = entries(log, "rules"), entries(log, "methods")
    without = {(e["set"], e["split"], e["method"]): e for e in free}
    records = []
    for e in whole(found, METHODS):
        base = without[e["set"], e["split"], e["method"]]
        fields = {
            name: e[name] for name in ("set", "split", "method", "error", "features", "cost", "cpu", "gap", "reason")
        }
        fields |= {name: float(e[name]) for name in ("honoured", "refused", "late", "answer")}
        fields["proven"] = None if e["status"] is None or not e["answer"] else float(e["status"] == "optimal")
        if not e["honoured"]:
            fields |= {"error": None, "features": None, "cost": None}
        fields["apart"] = None if fields["error"] is None else fields["error"] - base["error"]
        fields["broken"] = float(bool(e["answer"]) and not e["honoured"])
        fields["nothing"] = float(not e["answer"] and not e["refused"])
        records.append(fields)
    prices = [
        {"method": m, "set": at, "apart": apart}
        for m in METHODS
        for at, apart in by_set([r for r in records if r["method"] == m]).items()
    ]
    page = Page("all_methods_rules", globals(), fits=records, prices=prices)
    page.part("the table under rules", len(found), len(tasks.sets()) * tasks.SPLITS * len(METHODS), COMMAND)
    page.facts = facts()
    reasons = {}
    for record in records:
        if record["reason"]:
            why = record["reason"].replace("it cannot be told", "it does not support")  # as logged by an older version
            reasons.setdefault((record["method"], why), []).append(record["set"])
    every = set(tasks.sets())
    lines = [
        f"- {m}, {'all sets' if set(sets) == every else ', '.join(dict.fromkeys(sets))}: {why}"
        for (m, why), sets in reasons.items()
    ]
    page.values(answer=answer(records), reasons="\n".join(lines[:LISTED]) or "None.", last=f"{LAST:g}")
    return page.values(hours=f"{sum(e['cpu'] for e in found) / 3600:.2f}", tasks_done=len(found))


def honoured(page):
    """Return the table of the fits that satisfy or reject the rules."""
    rows, paid = [], {r["method"] for r in page.records["prices"]}
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
    return page.table(
        [
            "method", "satisfied %", "rejected %", "violated %", "no result %", "error %", "increase", "features",
            "cost", "proven %", "at limit %", "CPU s",
        ],
        rows,
    )  # fmt: skip


def answer(records):
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
    late = f"; {' and '.join(some)} have no result within their limit in {nothing} fits" if some else ""
    text = (
        f"{len(always)} of {len(names)} methods always satisfy a budget and a rule on two features, and "
        f"{'some results violate' if broken else 'no result violates'} them. {len(never)} reject the rules with an "
        f"error ({', '.join(never)}){late}. {int(broken)} of {len(records)} fits violate the rules. "
    )
    apart = {m: [*by_source(by_set(every[m])).values()] for m in always}
    if not apart:
        return text + "None can be compared yet."
    least, most = (choose(apart, key=lambda m: statistics.fmean(apart[m])) for choose in (min, max))
    ps = ranks.holm([ranks.signed_ranks(of, [0.0] * len(of)) for of in apart.values()])
    shown = [m for m, p in zip(apart, ps, strict=True) if p < LEVEL]
    word = f"significant for {', '.join(shown)}" if shown else f"not significant for any (smallest p {min(ps):.2g})"
    return text + (
        f"The rules change the error by between {points(apart[least])} points ({least}) and {points(apart[most])} "
        f"({most}) on {len(apart[most])} sources of data; by Wilcoxon's test with Holm's correction this is {word}."
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
