"""Command of a random test, whose cases are drawn from their seeds: run the seeds that are not in the log.

python -m benchmarks NAME --seed 17                            # one case, with all details
python -m benchmarks NAME --from 0 --to 3000 --log LOG.jsonl   # repeat to continue
python -m benchmarks NAME --table --log LOG.jsonl
"""

import argparse
import faulthandler
import json
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

HANG = 120.0  # seconds of a case
BATCH = 500  # seeds of a process
HUNG = {"outcome": "hang", "wrong": ["the process hung or died"]}


def command(description, run, table, last):
    """Run the command: ``run(seed, verbose)`` returns a record, ``table(records)`` a text; ``last`` is a default."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="run one case, and print all details")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=last)
    parser.add_argument("--log", type=Path, default=Path(f"/tmp/soak/{run.__module__.rpartition('.')[2]}.jsonl"))
    parser.add_argument("--table", action="store_true", help="count the outcomes in the log")
    given = parser.parse_args()
    if given.seed is not None:
        print(json.dumps(run(given.seed, verbose=True), indent=1))
    elif given.table:
        print(table(read(given.log)))
    else:
        run_seeds(run, range(given.first, given.last), given.log)


def read(log):
    """Return the records of a log."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def run_seeds(run, seeds, log):
    """Add the records of the seeds that are missing; a case that hangs or ends its process has the record ``HUNG``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    done = {record["seed"] for record in read(log)}
    while missing := [seed for seed in seeds if seed not in done]:
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            for seed in missing[:BATCH]:
                try:
                    record = executor.submit(limited, run, seed).result()
                except BrokenProcessPool:
                    record = {"seed": seed, **HUNG}
                with log.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                done.add(seed)
                if record.get("outcome") == HUNG["outcome"]:
                    break


def limited(run, seed):
    """Return the record of a seed; the process ends if this takes too long."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    try:
        return run(seed)
    finally:
        faulthandler.cancel_dump_traceback_later()


def outcomes(records, labels, counted):
    """Return a table with the number of records by the fields ``labels``: all, by outcome, and those with a value."""
    frame = pd.DataFrame(records).fillna(dict.fromkeys(labels, "unknown"))
    counts = [frame[name].fillna("").astype(bool).rename(name) for name in counted]
    columns = [pd.Series(1, frame.index, name="cases"), *counts, pd.get_dummies(frame["outcome"])]
    table = pd.concat([frame[labels], *columns], axis=1).groupby(labels).sum()
    table.loc[("all",) * len(labels), :] = table.sum()
    return table.astype(int).to_string()
