"""Settings and page of ``multivariate_scale``."""

import numpy as np

from benchmarks.harness.page import Page

NAME, PROTOCOL = "multivariate_scale", 3
TASK = ("method", "labels", "loss", "c", "gap asked", "shape", "seed", "most", "protocol")
FULL, SMALL = [20_000, 1_000_000, 400], [2_000, 100_000, 400]  # rows, columns, entries per row
BUDGET, LIMIT = 50, 300.0  # features per group; seconds of a fit of FSmulti
LABELS = ("balanced", "rare")
TWO = ("true", "tuned")  # prefixes of fields of the log: true labels, and predicted ones with the threshold for F1
FITS = (("hamming", 0.1, 0.01), ("f1", 0.1, 0.01), ("f1", 1.0, 0.10))  # loss, C / n, gap
EACH = 1 + len(LABELS) * (len(FITS) + 2)  # tasks of one shape


def page(log):
    """Return the page of the full set if it has runs, otherwise that of the small set."""
    everything = [record for record in log.entries(*TASK) if record["protocol"] == PROTOCOL]
    shape = FULL if any(record["shape"] == FULL for record in everything) else SMALL
    runs = [record for record in everything if record["shape"] == shape]
    made = next(record for record in runs if record["method"] == "data")
    fits = [named(record) | {"test rows": made["test rows"]} for record in runs if record["method"] != "data"]
    page = Page(NAME, globals(), fits=fits)
    page.key("fits", "name", "labels")
    page.part("News20-sized run", len(runs), EACH, f"python -m benchmarks {NAME}" + " --full" * (shape == FULL))
    page.values(made=made, size=f"{made['rows']:,} x {made['columns']:,}", **answer(page))
    ordered = sorted(fits, key=lambda fit: LABELS.index(fit["labels"]))
    ours = [fit for fit in fits if fit["method"] == "FSmulti"]
    remarks = sorted({f"{fit['method']}, {fit['labels']}" for fit in fits if fit.get("remarks")})
    return page.values(
        remarks="; ".join(remarks),
        fits=[([fit["labels"], fit["name"]], {"name": fit["name"], "labels": fit["labels"]}) for fit in ordered],
        ours=[
            ([fit["labels"], fit["loss"], f"{fit['c']:g}", f"{fit['gap asked']:.0%}"],
             {"name": fit["name"], "labels": fit["labels"]})
            for fit in ours
        ],
    )  # fmt: skip


def named(record):
    """Return the record of a fit with its name in tables, and the relative error of its objective."""
    name, fits = record["method"], record.get("fits", 1)
    more = {
        "fits": len(fits) if isinstance(fits, list) else fits,
        "all seconds": record.get("all seconds", record["seconds"]),
    }
    if name == "FSmulti":
        name = f"FSmulti {record['loss']}, C = {record['c']:g} n"
        more["off"] = abs(record["objective from the data"] / record["objective"] - 1)
    return record | more | {"name": name}


def answer(page):
    """Return the variables of the answer."""
    best = "FSmulti f1, C = 0.1 n"
    ours = [fit for fit in page.records["fits"] if fit["method"] == "FSmulti" and fit["loss"] == "f1"]
    gaps = []
    for gap in sorted({fit["gap asked"] for fit in ours}):
        here = [fit["gap"] <= gap for fit in ours if fit["gap asked"] == gap]
        gaps.append(f"{sum(here)} of the {len(here)} fits that ask for {gap:.0%}")

    def less(name, labels):
        ours, theirs = (spread(page.records["fits"], which, labels) for which in (best, name))
        if ours is None or theirs is None:
            return f"{name} not run"
        apart = ours - theirs
        word = "above" if apart.mean() > 0 else "below"
        return f"{abs(apart.mean()):.1f} ± {apart.std(ddof=1) / len(apart) ** 0.5:.1f} {word} {name}"

    def both(value):
        pairs = [
            [page.number(value, "{mean:.1f}", name=name, labels=labels) for name in (best, "l1")] for labels in LABELS
        ]
        return " and ".join(f"{own} (l1 {theirs})" for own, theirs in pairs)

    beside = [
        f"{page.number('test, tuned.f1', '{mean:.1f}', name=best, labels=labels)} on {labels} labels, "
        f"{less('l1', labels)} and {less('RFE', labels)}"
        for labels in LABELS
    ]
    return {
        "gaps": " and ".join(gaps),
        "beside": ", and ".join(beside),
        "prbep": both("test.prbep"),
        "accuracy": both("test, tuned.hamming"),
    }


def spread(fits, name, labels):
    """Return one value per test row, with the mean and standard error of F1 in per cent; None without the fit.

    F1 = 2 TP / (predicted + true) is a ratio of means a / s. To first order its variance is that of the mean of its
    influences (a_i - F s_i) / s.
    """
    found = [fit for fit in fits if (fit["name"], fit["labels"]) == (name, labels)]
    if not found:
        return None
    true, predicted = (np.unpackbits(np.frombuffer(bytes.fromhex(found[0][f"{of} rows"]), np.uint8)) for of in TWO)
    true, predicted = (bits[: found[0]["test rows"]].astype(float) for bits in (true, predicted))
    both, either = 2.0 * true * predicted, true + predicted
    F = both.sum() / either.sum()
    return 100.0 * (F + (both - F * either) / either.mean())
