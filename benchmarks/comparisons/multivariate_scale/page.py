"""The page of ``multivariate_scale.py``, and the models of its times."""

import numpy as np

from benchmarks.harness.page import Cell, Page

NAME, PROTOCOL = "multivariate_scale", 2
TASK = ("method", "labels", "loss", "c", "gap asked", "shape", "seed", "most", "protocol")
FULL, SMALL = [20_000, 1_000_000, 400], [2_000, 100_000, 400]  # rows, columns, entries a row
BUDGET, LIMIT = 50, 300.0  # features a group; seconds of a fit of FSmulti
LABELS = ("balanced", "rare")
TWO = ("true", "said")
FITS = (("hamming", 0.1, 0.01), ("f1", 0.1, 0.01), ("f1", 1.0, 0.10))  # loss, C / n, gap
EACH = 1 + len(LABELS) * (len(FITS) + 2)  # tasks of one shape


def write(log):
    """Write the page from the log: the full set once it is begun, else the small one."""
    everything = [record for record in log.entries(*TASK) if record["protocol"] == PROTOCOL]
    shape = FULL if any(record["shape"] == FULL for record in everything) else SMALL
    runs = [record for record in everything if record["shape"] == shape]
    made = next(record for record in runs if record["method"] == "data")
    fits = [named(record) | {"test rows": made["test rows"]} for record in runs if record["method"] != "data"]
    size = f"{made['rows']:,} x {made['columns']:,}"
    told = Page(NAME, f"FSmulti on a wide sparse set ({size}): seconds, memory, errors", fits=fits)
    told.key("fits", "name", "labels")
    told.answer(answer(told, fits, size))
    command = f"python -m benchmarks {NAME}" + (" --full" if shape == FULL else "")
    told.part("News20-sized run", len(runs), EACH, command)
    tables(told, fits)
    protocol(told, made)
    speed(told)
    told.write({})


def named(record):
    """Return a fit with the name that tables give it, and how far its objective is from the one computed again."""
    name, fits = record["method"], record.get("fits", 1)
    more = {
        "fits": len(fits) if isinstance(fits, list) else fits,
        "all seconds": record.get("all seconds", record["seconds"]),
    }
    if name == "FSmulti":
        name = f"FSmulti {record['loss']}, C = {record['c']:g} n"
        more["off"] = abs(record["objective from the data"] / record["objective"] - 1)
    return record | more | {"name": name}


def answer(told, fits, size):
    """Return the result in words."""
    best, ours = "FSmulti f1, C = 0.1 n", [f for f in fits if f["method"] == "FSmulti" and f["loss"] == "f1"]
    gaps = []
    for gap in sorted({f["gap asked"] for f in ours}):
        here = [f["gap"] <= gap for f in ours if f["gap asked"] == gap]
        gaps.append(f"{gap:.0%} in {sum(here)} of {len(here)}")

    def say(name, labels, value, form):
        return told.say("fits", value, form, {"name": name, "labels": labels})

    def less(name, labels):
        ours, theirs = (spread(told.records["fits"], which, labels) for which in (best, name))
        if ours is None or theirs is None:
            return f"{name} not run"
        apart = ours - theirs
        return f"less {name} {apart.mean():+.1f} ± {apart.std(ddof=1) / len(apart) ** 0.5:.1f}"

    beside = [
        f"{labels} labels {say(best, labels, 'test.f1', '{mean:.1f}')} ({less('l1', labels)}, {less('RFE', labels)})"
        for labels in LABELS
    ]
    cpu = told.say("fits", "cpu", "{least:.1f} to {most:.0f}", {"method": "FSmulti", "loss": "f1"})
    memory = told.say("fits", "memory", "{most:.0f}", {"method": "FSmulti"})
    others = []
    for words, value in (("PRBEP is", "test.prbep"), ("accuracy is", "test.hamming")):
        pairs = [[say(name, labels, value, "{mean:.1f}") for name in (best, "l1")] for labels in LABELS]
        others.append(f"{words} {' and '.join(f'{own} (l1 {theirs})' for own, theirs in pairs)}")
    return (
        f"For F1, FSmulti fits {size} in {cpu} CPU seconds with at most {memory} MB, data included, to a gap of "
        f"{' and of '.join(gaps)} fits. With as many features its F1 on new rows is on {' and on '.join(beside)}; the "
        f"thresholds of l1 and RFE are not chosen for F1. On the same rows its {', its '.join(others)}. Standard "
        "errors are over the test rows of one generated set."
    )


def spread(fits, name, labels):
    """Return values of the test rows with the mean and the standard error of F1, in per cent; None without the fit.

    F1 = 2 TP / (predicted + true) is a ratio of means a / s; to first order it varies as the mean of its influences
    (a_i - F s_i) / s.
    """
    found = [fit for fit in fits if (fit["name"], fit["labels"]) == (name, labels)]
    if not found:
        return None
    true, said = (np.unpackbits(np.frombuffer(bytes.fromhex(found[0][f"{of} rows"]), np.uint8)) for of in TWO)
    true, said = (bits[: found[0]["test rows"]].astype(float) for bits in (true, said))
    both, either = 2.0 * true * said, true + said
    F = both.sum() / either.sum()
    return 100.0 * (F + (both - F * either) / either.mean())


def cell(fit, value, form):
    """Return a cell of one fit."""
    return Cell("fits", value, form, {"name": fit["name"], "labels": fit["labels"]})


def tables(told, fits):
    """Add the table of errors."""
    told.section(
        "Comparison with l1 and RFE",
        "Measures on the test rows in per cent. *Fits* is the number of fits of the bisection or elimination; *all "
        "fits* are their seconds. *Seconds* are wall-clock time of the final fit, *CPU* are CPU seconds of all fits, "
        "and *MB* is the largest memory of the process, data included. PRBEP is the precision among as many rows as "
        "are positive; Rec@2p is the recall among twice as many.",
    )
    forms = {
        "features": "{mean:.0f}", "fits": "{mean:.0f}", "seconds": "{mean:.1f}", "all seconds": "{mean:.1f}",
        "cpu": "{mean:.1f}", "memory": "{mean:.0f}", "test.hamming": "{mean:.1f}", "test.f1": "{mean:.1f}",
        "test.prbep": "{mean:.1f}", "test.rec@2p": "{mean:.1f}",
    }  # fmt: skip
    ordered = sorted(fits, key=lambda fit: LABELS.index(fit["labels"]))
    rows = [[f["labels"], f["name"], *(cell(f, value, form) for value, form in forms.items())] for f in ordered]
    head = ["features", "fits", "seconds", "all fits", "CPU", "MB", "accuracy", "F1", "PRBEP", "Rec@2p"]
    told.table(["labels", "method", *head], rows)
    told.text(
        "On rows of unit length, Hamming at C = 0.1 n is nearly trivial: nearly all margins are below 1, so that the "
        "first labelling determines the result, and w is a difference of class means."
    )


def speed(told):
    """Add the table of times."""
    ours = [fit for fit in told.records["fits"] if fit["method"] == "FSmulti"]
    off = told.say("fits", "off", "{most:.0e}", {"method": "FSmulti"})
    told.section(
        "Speed",
        "The table divides the seconds of FSmulti into parts. *Oracle* finds the most violated labellings. *Outer* "
        "computes slopes over all columns, and new groups. *Rest* contains scores, the line search, and reading the "
        f"matrix by columns. The objective, recomputed from data and weights, differs by at most {off}. A gap above "
        f"the requested one means that the limit of {LIMIT:g} s was reached.",
    )
    forms = {
        "building": "{mean:.1f}", "rounds": "{mean:.0f}", "oracle": "{mean:.1f}", "master": "{mean:.1f}",
        "outer": "{mean:.1f}", "rest": "{mean:.1f}", "cuts": "{mean:.0f}", "columns": "{mean:.0f}",
        "objective": "{mean:.3f}", "bound": "{mean:.3f}", "gap": "{mean:.2%}",
    }  # fmt: skip
    rows = [
        [
            f["labels"],
            f["loss"],
            f"{f['c']:g}",
            f"{f['gap asked']:.0%}",
            *(cell(f, v, form) for v, form in forms.items()),
        ]
        for f in ours
    ]
    head = ["building", "rounds", "oracle", "master", "outer", "rest", "rows", "columns", "objective", "bound", "gap"]
    told.table(["labels", "loss", "C / n", "gap asked", *head], rows)


def protocol(told, made):
    """Add how it was done."""
    remarks = sorted({f"{fit['method']}, {fit['labels']}" for fit in told.records["fits"] if fit.get("remarks")})
    told.section(
        "Protocol",
        "The set is generated with the shape of News20.binary. The columns of a row are drawn from a Zipf law "
        f"(exponent 1) until {made['entries a row'][0]} distinct columns are found. A value is (1 + log of the number "
        "of draws) times idf, and rows have unit length. Labels are the sign of w.x plus noise relative to a "
        "threshold: w has 200 features among the 20th to the 5000th in frequency, and the noise has 0.3 times the "
        "deviation of w.x. With the threshold, half of the rows (balanced) or a tenth of them (rare) are positive. The "
        f"test part has a quarter of the number of training rows. {made['columns with an entry']:,} columns have an "
        f"entry, and the fullest has {made['largest column']:,}. The training matrix takes "
        f"{made['megabytes of the training matrix (CSR)']:g} MB as CSR, and the same again as CSC in the driver.",
        f'- FSmulti: `fs.multivariate.fsmulti`, driver "two-layer", groups of {BUDGET}; seconds are those of `solve`.\n'
        '- l1: `LinearSVC(penalty="l1", dual=False)`, otherwise with the defaults of scikit-learn (offset, squared '
        "hinge); C by bisection on the number of features alone: the most features, but no more than FSmulti for F1 at "
        "C = 0.1 n.\n- RFE: `LinearSVC()` at C = 1; each step removes a tenth of the remaining features, down to the "
        "same number of features.",
        f"Each fit has its own process with one thread. Liblinear reported no convergence for: {'; '.join(remarks)}."
        if remarks
        else "Each fit has its own process with one thread.",
    )
