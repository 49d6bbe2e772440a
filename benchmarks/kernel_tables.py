"""Tayal, Coleman, Li: kernels with feature weights beside GMKL and SVM; tables 1 and 3, figures 5-14, and our goals.

    python benchmarks/kernel_tables.py                          # coarse grids, small sets: over an hour on one core
    python benchmarks/kernel_tables.py --full --resume          # the paper's grids and tenfold validation: days
    python benchmarks/kernel_tables.py --parts ndcc --resume    # one part, after an interruption
    python benchmarks/kernel_tables.py --page                   # writes the page again from the logs
    python benchmarks/kernel_tables.py --shared DIR             # has data/ and data-extra/; sets without a file are out

One task is one data set, split and method, on one thread, and a line of the part's .jsonl file beside the results.

Methods: SVM (RBF kernel, all features; ``sklearn.svm.SVC``), GMKL (hinge), FULL-FS (by the value function, whose
local minima are those of (7); "(u, b, z)" in all variables at once), AO simple, AO margin, AO-EFS; eps = 0.5, L-BFGS-B,
the default start. A feature counts where its weight is at least 0.01 of the largest; what counts as 0 is 0 in the
classifier that is tested.

Protocol: points (C, mu), or (C, sigma) of the SVM, are chosen by the least error on what is held out; of equals
the least C and then the largest mu. Test data choose nothing. All data are standardised on the samples that train.

Grids by default, in powers of 2 (AO-EFS has its own, as C >= 1 makes memorising nearly free in (12)):

- NDCC: C -2, 0, 2, 4 and mu -4, -2, 0; AO-EFS C -6, -4, -2, 0 and mu -8, -6, ..., 0. A first grid had mu -2, 0, 2, of
  AO-EFS -4, -2, 0; on seed 0 the least validation errors of GMKL, FULL-FS, AO simple and AO-EFS were at its lower end,
  and it was moved down for all seeds and methods, and widened for AO-EFS, whose fits cost a tenth.
- UCI: C -1, 2, 5 and mu -3, 0, 3; AO-EFS C -5, -3, -1 and mu -6, -3, 0. Threefold cross-validation.
- SVM: C -5, -3, ..., 9 and sigma 0, 1, ..., 6. SVM on the k best features: C -1, 1, ..., 9 and sigma -1, 1, 3, 5.

--full: C -5..15 and mu (sigma) -10, -8, ..., 10, AO-EFS C -7..2; tenfold, all sets.

NDCC (section 5.1.1): seeds 0-4, 20 relevant features and 100 of noise, 200/200/1000 samples, concentration 1 unless
given. "True support" starts with weights min(1, 2 / sqrt(2 * 20)) on the relevant features and 0 elsewhere: as 0
absorbs, no noise feature can enter, and what is measured is how many relevant ones a method keeps, at a point (C, mu)
that the validation part chooses as for all others.

UCI (section 5.1.3): two thirds train, splits 0-4, stratified. Musk is musk1. Ion has
34 columns here, one of them constant, for the paper's 33. Madelon: two thirds of its 2000 training samples train, the
others choose, its 600 validation samples test (the challenge's test labels are not public).

Rankings (section 5.2): an RBF SVM on the k best features, its C and sigma chosen anew for each k as above. By z at the
point that the part above has chosen, up to the last weight that is not 0; by kernel RFE with the C and sigma of the
SVM on all features; by mutual information (nearest neighbours, not bins) and ReliefF. For NDCC a
split is a seed.
"""

import argparse
import json
import math
import time
from pathlib import Path

import joblib
import kernel_pages
import kernel_speed
import report
from kernel_tasks import (
    FILTERS,
    NDCC,
    NDCC_METHODS,
    RANKERS,
    SETS,
    SMALL,
    SPLITS,
    TRUE_METHODS,
    UCI_METHODS,
    one_task,
    real,
)

PARTS = ("speed", "ndcc", "uci", "ranking")
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "skrebate", "joblib")
SEEDS = range(5)
RANKED = (NDCC, "Sonar")
NAMES = ("part", "kind", "data", "seed", "split", "method", "start", "size", "grid", "folds", "concentration")


def key(record):
    """Return what tells a task from others."""
    return tuple(str(record.get(name)) for name in NAMES)


def tasks_of(part, options, records):
    """Return the tasks of a part; of one seed or split before the next, so that a part cut short can be compared."""
    size = {"grid": "paper" if options.full else "coarse"}
    folds = {"folds": 10 if options.full else 3, "shared": str(options.shared)}
    if part == "speed":
        return kernel_speed.tasks(options)
    if part == "ndcc":
        what = {"part": "ndcc", "concentration": options.concentration, **size}
        runs = [(m, "default") for m in NDCC_METHODS] + [(m, "true") for m in TRUE_METHODS]
        return [what | {"seed": seed, "method": m, "start": start} for seed in SEEDS for m, start in runs]
    splits = range(options.splits)
    if part == "uci":
        sets = [name for name in options.sets if real(name, options.shared) is not None]
        return [
            {"part": "uci", "data": name, "split": split, "method": m, **size, **folds}
            for split in splits
            for name in sets
            for m in UCI_METHODS
            if name != "Madelon" or split == 0
        ]
    chosen = []
    for split in splits:
        for name in options.figures:
            what = {"part": "ranking", "data": name, "split": split, "concentration": options.concentration}
            what |= {**size, **folds}
            weights = {m: chosen_weights(records, what | {"method": m}) for m in RANKERS}
            if all(z is not None for z in weights.values()):
                chosen += [what | {"method": m} for m in FILTERS]
                chosen += [what | {"method": m, "z": z} for m, z in weights.items()]
    return chosen


def chosen_weights(records, spec):
    """Return the weights at the point that a part before has chosen, or None."""
    for r in records:
        same = r["method"] == spec["method"] and r["grid"] == spec["grid"] if r["part"] in ("ndcc", "uci") else False
        if not same:
            continue
        if r["part"] == "ndcc" and spec["data"] == NDCC:
            if (r["seed"], r["start"], r["concentration"]) == (spec["split"], "default", spec["concentration"]):
                return r["chosen"].get("z")
        elif r["part"] == "uci" and (r["data"], r["split"], r["folds"]) == (spec["data"], spec["split"], spec["folds"]):
            return r["z"]
    return None


def log_of(out, part):
    """Return the part's log."""
    return out.with_name(f"{out.name}.{part}.jsonl")


def run_part(part, options, out, end, records):
    """Run what the part's log does not hold, append each record to it."""
    log = log_of(out, part)
    done = {key(r): r for r in report.read_log(log)} if options.resume else {}
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(r) + "\n" for r in done.values()))
    left = [task for task in tasks_of(part, options, records) if key(task) not in done]
    begin = time.perf_counter()
    with log.open("a") as file:
        for k, record in enumerate(results(part, left, options, end), start=1):
            file.write(json.dumps(record | {"load": report.load()}) + "\n")
            file.flush()
            what = " ".join(str(record[n]) for n in ("size", "data", "seed", "split", "method", "start") if n in record)
            print(f"{part} {k}/{len(left)}: {what}, {time.perf_counter() - begin:.0f} s", flush=True)


def results(part, tasks, options, end):
    """Yield the records of tasks; those whose turn comes after the limit are not started."""
    if part == "speed":  # one at a time
        yield from (kernel_speed.alone(task) for task in tasks if time.monotonic() < end)
    elif options.jobs == 1:
        yield from (one_task(task) for task in tasks if time.monotonic() < end)
    else:
        queue = (joblib.delayed(one_task)(task) for task in tasks if time.monotonic() < end)
        yield from joblib.Parallel(
            n_jobs=options.jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )(queue)


def read_options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--full", action="store_true", help="the paper's grids, tenfold validation, all sets")
    parser.add_argument("--resume", action="store_true", help="run only what the logs beside --out have not")
    parser.add_argument("--page", action="store_true", help="run nothing")
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="of speed, ndcc, uci, ranking; ranking needs two before"
    )
    parser.add_argument("--sets", help="UCI sets, separated by semicolons")
    parser.add_argument("--figures", default=";".join(RANKED), help="sets of the rankings, separated by semicolons")
    parser.add_argument("--splits", type=int, default=SPLITS, help="of each UCI set")
    parser.add_argument("--concentration", type=float, default=1.0, help="of NDCC: the larger, the harder")
    parser.add_argument("--shared", type=Path, default=shared, help="folder with data/ and data-extra/")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds after which no task is started")
    parser.add_argument("--jobs", type=int, default=1, help="processes; timings are taken one at a time")
    parser.add_argument("--note", default="", help="a sentence on the run for the page")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .png")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    options.sets = options.sets.split(";") if options.sets else list(SETS if options.full else SMALL)
    options.figures = options.figures.split(";")
    for given, known in ((options.parts, PARTS), (options.sets, SETS), (options.figures, (NDCC, *SETS))):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(known)}")
    return options


def main():
    """Run the parts, write the page of all that the logs hold."""
    options = read_options()
    name = "kernel_tables_full" if options.full else "kernel_tables"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    facts = report.about(*PACKAGES, jobs=options.jobs, seeds="NDCC 0-4; splits 0-4; folds 0", grids="see above")
    end = time.monotonic() + options.time_limit

    def known():
        return [record for part in PARTS for record in report.read_log(log_of(out, part))]

    for part in [] if options.page else options.parts:
        run_part(part, options, out, end, known())
    records = known()
    facts |= kernel_pages.facts_of(records, {part: len(tasks_of(part, options, records)) for part in PARTS})
    facts |= {"note": options.note} if options.note else {}
    pictures = kernel_pages.draw(records, out)
    text = kernel_pages.page(records, pictures)
    print(text)
    report.write(
        out,
        "Feature weights in an RBF kernel: the tables of Tayal, Coleman and Li",
        f"{__doc__.strip()}\n\n{text}",
        facts,
        records=records,
    )


if __name__ == "__main__":
    main()
