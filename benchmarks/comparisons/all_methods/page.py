"""The page ``all_methods``: answer, picture, five questions, tables."""

import statistics

import numpy as np

import fsmodels as fs
from benchmarks.comparisons.all_methods import questions, tasks
from benchmarks.harness import ranks
from benchmarks.harness.differences import by_source
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.methods.catalogue import LAST, METHODS, TRIAL

NAME = "all_methods"
COMMAND = "python -m benchmarks all_methods --full --minutes 20"
KEPT = (
    "set", "split", "method", "point", "error", "balanced_error", "f1", "features", "d", "cpu", "last_cpu", "gap",
    "late", "answer", "late_trials", "failed_trials", "trials", "reason",
)  # fmt: skip
OTHERS = {"k": "at 1 to 10 features", "rules": "under a budget and a pair rule"}
MEANS = ("error", "balanced_error", "f1", "features", "share", "cpu", "late", "trials_late")


def entries(log, part):
    """Return the entries of a part and of this protocol."""
    return [e for e in log.entries() if e["part"] == part and e["protocol"] == tasks.PROTOCOL]


def whole(found, methods):
    """Return the entries of the sets and splits on which all methods have run."""
    there = {}
    for entry in found:
        there.setdefault((entry["set"], entry["split"]), set()).add(entry["method"])
    return [entry for entry in found if there[entry["set"], entry["split"]] >= set(methods)]


def fits_of(found):
    """Return the records of the fits for the page."""
    rows = []
    for entry in found:
        row = {name: entry[name] for name in KEPT}
        row["share"] = entry["features"] / entry["d"]
        row["proven"] = None if entry["status"] is None else float(entry["status"] == "optimal")
        row["late"], row["answer"] = float(row["late"]), float(row["answer"])
        row["trials_late"] = (row["late_trials"] + row["failed_trials"]) / row["trials"]
        relevant = tasks.loaded(entry["set"])[2] if entry["set"] in tasks.MADE else None
        if relevant is not None:
            names = tasks.loaded(entry["set"])[0].features
            right = sum(names[j] in relevant for j in entry["selected"])
            row |= {"right": right, "wrong": entry["features"] - right}
        rows.append(row)
    return rows


def by_set(found, fits):
    """Return a record for each method and set: means and stability over splits, and the rank of the error."""
    records, chosen = {}, {}
    for entry, row in zip(found, fits, strict=True):
        records.setdefault((row["method"], row["set"]), []).append(row)
        chosen.setdefault((row["method"], row["set"]), []).append(np.isin(range(entry["d"]), entry["selected"]))
    made = []
    for (method, at), rows in records.items():
        index = (
            fs.stability_index(chosen[method, at])[0] if len(rows) > 1 else None
        )  # also None if all or no features are selected
        fields = {name: statistics.fmean(row[name] for row in rows) for name in MEANS}
        fields["proven"] = None if rows[0]["proven"] is None else statistics.fmean(row["proven"] or 0.0 for row in rows)
        fields |= {"stability": index, "instability": None if index is None else -index, "splits": len(rows)}
        made.append({"method": method, "set": at, **fields})
    for at in dict.fromkeys(record["set"] for record in made):
        those = [record for record in made if record["set"] == at]
        for record, rank in zip(those, ranks.ranked([[r["error"] for r in those]], those).ranks[0], strict=True):
            record["rank"] = float(rank)
    return made


def nested(records):
    """Return method -> set -> record, in the order of the tables."""
    return {
        method: {
            record["set"]: record
            for at in tasks.sets()
            for record in records
            if record["method"] == method and record["set"] == at
        }
        for method in METHODS
    }


def of_sources(by):
    """Return method -> source -> record with means over the sets of a source; see ``differences``."""
    names = ("error", "instability", "cpu", "share", "trials_late")
    found = {}
    for method, sets in by.items():
        values = {name: by_source({at: r[name] for at, r in sets.items() if r[name] is not None}) for name in names}
        found[method] = {at: {name: of.get(at) for name, of in values.items()} for at in values["error"]}
    return found


def answer(by):
    """Return the result in two sentences, and the result without the set with the most fits at their limit."""
    every = ranked_errors(by)
    mean = every.mean
    share = {m: statistics.fmean(r["share"] for r in sets.values()) for m, sets in by.items()}
    first, *_ = sorted(mean, key=mean.get)
    number = len(by["SVM"])
    chosen = [m for m in mean if METHODS[m].family != "all" and share[m] <= 0.5]
    few = min(chosen, key=mean.get) if chosen else None
    away = [m for m, p in every.apart_from(first).items() if p < questions.LEVEL]
    record = (
        f"worse at 5% by Nemenyi's test of all pairs are {', '.join(away)}"
        if away
        else "no method differs from it at 5%"
    )
    most = "most others are" if 2 * len(away) > len(by) - 1 else "no other is" if not away else "most others are not"
    text = (
        f"Of {len(by)} methods {first} ranks first by the error on new data over {number} sources of data, and {most} "
        f"shown to be worse. Its mean rank is {mean[first]:.1f}; {record}."
    )
    if few == first:
        text += (
            f" It uses {share[few]:.0%} of the features; the linear SVM on all features has mean rank "
            f"{mean['SVM']:.1f}."
        )
    elif few:
        text += (
            f" Of the methods that use at most half of the features on average, {few} ranks best: {mean[few]:.1f} with "
            f"{share[few]:.0%} of the features; the linear SVM on all features has {mean['SVM']:.1f}."
        )
    return f"{text} {without_hardest(by, first)}".strip()


def ranked_errors(by):
    """Return the ranks of the methods by their errors on each source."""
    return ranks.ranked([[by[m][at]["error"] for m in by] for at in by["SVM"]], by)


def without_hardest(by, first):
    """Return a sentence on the best rank without the set with the most fits at their limit."""
    late = {at: statistics.fmean(by[m][at]["trials_late"] for m in by) for at in by["SVM"]}
    hardest = max(late, key=late.get)
    if len(late) < 3 or not late[hardest]:
        return ""
    mean = ranked_errors({m: {at: r for at, r in of.items() if at != hardest} for m, of in by.items()}).mean
    leader = min(mean, key=mean.get)
    beside = "" if leader == first else f", before {first} with {mean[first]:.1f}"
    return (
        f"Without {hardest}, for which {late[hardest]:.0%} of the trials end at their limit, {leader} is first with "
        f"{mean[leader]:.1f}{beside}."
    )


def main_table(page):
    """Return the table with a row for each method, over all sets."""
    stable = any(record["stability"] is not None for record in page.records["by_set"])  # needs two splits
    forms = {"balanced_error": ("{mean:.1f}", 100), "f1": ("{mean:.2f}", 1), "features": ("{mean:.1f}", 1)}
    forms |= {"share": ("{mean:.0f}", 100), "stability": ("{mean:.2f}", 1), "cpu": ("{mean:.1f}", 1)}
    forms |= {"proven": ("{mean:.0f}", 100), "gap": ("{median:.1f}", 100)}
    forms |= {"late": ("{mean:.0f}", 100), "trials_late": ("{mean:.0f}", 100)}
    rows = []
    for name in METHODS:
        at = {"method": name}
        less = Cell("by_set", "error", "{mean:+.1f} ± {se:.1f}", at, times=100, minus={"method": "SVM"}, pair=("set",))
        row = [name, Cell("by_set", "rank", "{mean:.1f}", at), Cell("by_set", "error", "{mean:.1f}", at, times=100)]
        row.append("" if name == "SVM" else less)
        for value, (form, times) in forms.items():
            cell = Cell("fits" if value == "gap" else "by_set", value, form, at, times)
            row.append(cell if stable or value != "stability" else NOTHING)
        rows.append(row)
    header = ["method", "rank", "error %", "minus SVM", "balanced %", "F1", "features", "share %", "stability"]
    return page.table([*header, "CPU s", "proven %", "gap %", "at limit %", "trials at limit %"], rows)


def found_features(made):
    """Return the columns with the numbers of relevant and other features selected on generated sets."""
    columns = []
    for at in made:
        right = f"{at} right of {len(tasks.loaded(at)[2])}"
        columns += [
            (title, what, "{mean:.1f}", {"set": at}) for title, what in ((right, "right"), (f"{at} wrong", "wrong"))
        ]
    return columns


def failures(fits):
    """Return a line for each method that had no result in some fits."""
    lines = []
    for name in METHODS:
        lost = [row for row in fits if row["method"] == name and not row["answer"]]
        trials = sum(row["failed_trials"] for row in fits if row["method"] == name)
        empty = [row for row in fits if row["method"] == name and row["answer"] and row["features"] == 0]
        if empty and METHODS[name].family != "all":
            at = ", ".join(f"{at} {sum(row['set'] == at for row in empty)}" for at in {row["set"]: 0 for row in empty})
            lines.append(f"- {name}, {len(empty)} last fits without a feature, which predict the majority class: {at}.")
        if lost or trials:
            reasons = dict.fromkeys(
                f"{row['set']}: {row['reason']}" for row in fits if row["method"] == name and row["reason"]
            )
            lines.append(f"- {name}, {len(lost)} last fits and {trials} trials: {'; '.join([*reasons][:3])}.")
    return lines or ["Every method had a result in every fit."]


def draw(by, apart, path):
    """Draw mean ranks against shares of features, with the critical difference of ranks as a bar."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"all": "0.4", "heuristic": "tab:orange", "linear": "tab:blue", "kernel": "tab:green"}
    labels = {
        "all": "all features",
        "heuristic": "heuristics and 1-norm",
        "linear": "papers, linear",
        "kernel": "papers, kernel",
    }
    figure, ax = plt.subplots(figsize=(9, 6))
    rank = ranked_errors(by).mean
    points = {m: (100 * statistics.fmean(r["share"] for r in of.values()), rank[m]) for m, of in by.items()}
    for family, colour in colours.items():
        of = [points[m] for m in by if METHODS[m].family == family]
        ax.scatter(*zip(*of, strict=True), color=colour, label=labels[family], zorder=3)
    taken = [(x, y, x, y) for x, y in points.values()]
    for name, (x, y) in points.items():
        box = min((boxed(name, x, y, *side) for side in SIDES), key=lambda box: sum(meet(box, t) for t in taken))
        taken.append(box)
        ax.text((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, name, fontsize=7, ha="center", va="center")
    ax.set(xlabel="share of the features, % (mean over sources)", ylabel="mean rank of error (1 is best)")
    ax.set_xlim(-5, 112)
    ax.set_title(f"Ranks {apart:.1f} apart differ at 5% (the bar; Nemenyi's test of all pairs)", fontsize=10)
    middle = sum(ax.get_ylim()) / 2
    ax.plot([109, 109], [middle - apart / 2, middle + apart / 2], "_-", color="0.2", markersize=8)
    ax.invert_yaxis()
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


SIDES = [(1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1.4), (0, 1.4)]  # positions of a label at its point


def boxed(name, x, y, right, down):
    """Return left, top, right and bottom of a label on one side of its point, in units of the axes."""
    width, height = 0.85 * len(name) + 0.5, 0.36
    middle, level = x + right * (width / 2 + 1), y + 0.8 * down * height
    return middle - width / 2, level - height / 2, middle + width / 2, level + height / 2


def meet(one, other):
    """Return True if two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def page(log):
    """Return the page of the comparison."""
    found = entries(log, "methods")
    fits = fits_of(whole(found, METHODS))
    records = by_set(whole(found, METHODS), fits)
    by = nested(records)
    sources = of_sources(by)
    pairs = {(row["set"], row["split"]) for row in fits}
    known = [at for at in tasks.sets() if any(pair[0] == at for pair in pairs)]
    page = Page(NAME, globals(), fits=fits, by_set=records)
    page.part("the comparison", len(found), len(tasks.sets()) * tasks.SPLITS * len(METHODS), COMMAND)
    page.facts = facts()
    apart = ranked_errors(sources).critical()
    page.picture(f"{NAME}.png", draw, sources, apart)
    answers = [" ".join(question(sources)) for question in questions.QUESTIONS]
    answers = [f"{number}. {text}" for number, text in enumerate(answers, 1)]
    also = [f"[{text}](all_methods_{part}.md)" for part, text in OTHERS.items() if entries(log, part)]
    count = ", ".join(f"{at} {sum(pair[0] == at for pair in pairs)}" for at in known)
    page.values(answer=answer(sources), questions="\n".join(answers), also=" and ".join(also), apart=f"{apart:.1f}")
    page.values(methods=[([name], {"method": name}) for name in METHODS])
    page.values(selecting=[([name], {"method": name}) for name in METHODS if METHODS[name].family != "all"])
    page.values(known=known, count=count, made=[at for at in known if at in tasks.MADE], trial=f"{TRIAL:g}")
    hours = f"{sum(entry['cpu'] for entry in found) / 3600:.2f}"
    return page.values(failures="\n".join(failures(fits)), hours=hours, tasks_done=len(found), last=f"{LAST:g}")


def facts():
    """Return the facts of all three pages."""
    return {"trial": f"{TRIAL:g} CPU s", "last": f"{LAST:g} CPU s", "protocol": tasks.PROTOCOL}
