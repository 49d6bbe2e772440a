"""``fsmodels select``: a selection with its report, held-out error and file, and proposals for the next run.

``--test`` holds out samples before the selection, ``--cv`` selects again on folds.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from types import SimpleNamespace

from fsmodels.cli import arguments, request
from fsmodels.cli.commands import EACH_LIMIT, data_words
from fsmodels.cli.output import ResultFile, complain, show
from fsmodels.cli.request import Task
from fsmodels.errors import ModelError, NoSelection, ParameterError
from fsmodels.evaluation.cross_validate import CrossValidated, over_folds
from fsmodels.evaluation.folds import MEASURES, Folds, HeldOut
from fsmodels.insight.certify import Certified, certify
from fsmodels.selection import report
from fsmodels.selection.catalogue import MODELS, find
from fsmodels.selection.report import has_kernel_weights
from fsmodels.selection.request import Request
from fsmodels.selection.resampling import Resample, held_out_part
from fsmodels.selection.rows import KEYWORDS
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.selection.workers import worker_count
from fsmodels.text import listed
from solvers import SolutionStatus, StopReason, interrupt, progress
from solvers.clock import Clock
from solvers.facts import facts_of

COMPARED = "fsp_objective"  # the objective that --certify compares with its bound
STALLED = 1e-3  # a smaller share of the distance to the objective is no progress of a bound
CONCEPTS = 20  # instances shown
CLOSERS = ("branch-and-cut", "cutting-plane")  # default drivers that close a gap faster than other solvers


def run(args: SimpleNamespace) -> None:
    """Select, write and report. Raises NoSelection: there is no solution."""
    if args.certify is not None:
        _check_certify(args)
    proof = None if args.certificate is None else _certificate_file(args)
    _check_held_out(args)
    task = request.read(args)
    embedding = task.embedding
    part = _held_out(task)
    task.announce()
    with progress.shown(task.shows):
        try:
            with progress.doing("", left=_left(task)):
                found = select(task.data, args.model, **task.given, progress=task.shows)
        except NoSelection as error:
            if error.selection is not None:
                task.write(task.content(error.selection), solved=False)
            raise
        against = _certified(task, found) if args.certify is not None and found.has_solution else None
        held_out = _held_out_error(task, part, found)

    content = task.content(found)
    if against is not None:
        content["certified"] = against.to_dict()
    if held_out is not None:
        content["held_out"] = held_out.to_dict()
    if embedding is not None and found.has_solution:
        content["concepts"] = embedding.concepts(found).to_dict("records")
    try:
        task.write(content, solved=found.has_solution)
    except ParameterError:
        show(*report.report(found))
        raise
    if not found.has_solution:
        raise NoSelection(report.headline(found))
    if args.quiet:
        show(report.one_line(found), *(answer.sentence for answer in (against, held_out) if answer is not None))
    else:
        show("", *report.report(found))
        if against is not None:
            show("", against.sentence)
        if held_out is not None:
            show(*_error_lines(held_out))
        if embedding is not None:
            table = embedding.concepts(found).to_string(index=False, max_rows=CONCEPTS)
            show("\nSelected instances, of the file:", table)
        task.show_files()
    if proof is not None:
        try:
            proof.put(found.certificate.text)
        except ModelError as error:
            raise ParameterError(f"No certificate was written. {error}") from None
        if not args.quiet:
            check = shlex.join(["fsmodels", "verify", str(proof.path), args.data, *data_words(args)])
            show(f"\nProof written to {proof.path}; what checks it: {check}")
    if not args.quiet:
        show(*next_steps(found, args))


def _left(task: Task) -> Callable[[], float | None]:
    """Return a function of the seconds until the time limits of the selection and of all folds after it."""
    args, limit = task.args, task.given.get("time_limit")
    if limit is not None and args.cv is not None:
        count = len(_folds(args).parts(task.data))
        limit += math.ceil(count / worker_count(args.n_jobs, count)) * _fold_limit(args)
    clock = Clock.of_run(limit)
    return lambda: clock.left


def _fold_limit(args: SimpleNamespace) -> float:
    """Return the time limit of a fold of --cv."""
    return float(args.time_limit if "time_limit" in args.given else EACH_LIMIT)


def _check_certify(args: SimpleNamespace) -> None:
    """Raise ParameterError for --certify and a model that has its own bound, or no C for the comparison."""
    spec = find(args.model)
    if COMPARED not in spec.comparison_objectives:
        able = [name for name, other in MODELS.items() if COMPARED in other.comparison_objectives]
        raise ParameterError(
            f'--certify compares selections of {listed(able)} with the best of fsp-m: leave it out for "{spec.name}".'
        )
    if not args.certify > 0:
        raise ParameterError(f"--certify {args.certify:g} is not allowed: give seconds above 0.")


def _certificate_file(args: SimpleNamespace) -> ResultFile:
    """Return the file of --certificate. Raises ParameterError: no proof is possible, or the file of ``ResultFile``."""
    certifies = find(args.model).certifies
    if not certifies or args.signs or args.fair:
        what = "--sign and --fair" if certifies else f'model "{args.model}"'
        able = listed(name for name, spec in MODELS.items() if spec.certifies)
        raise ParameterError(f"--certificate is for {able} with rows on features, not for {what}: leave it out.")
    others = [request.source(args), *arguments.files(args)]
    others += [args.json] if args.json else []
    return ResultFile(args.certificate, others, option="--certificate")


def _certified(task: Task, found: Selection) -> Certified:
    """Compare a selection with the best of fsp-m under the same side constraints."""
    rows = {kind: task.given[kind] for kind in KEYWORDS if kind in task.given}
    return certify(
        task.data, found.selected, C=found.parameters["C"], time_limit=task.args.certify, progress=task.shows, **rows
    )


def _held_out_error(task: Task, part: Resample | None, found: Selection) -> CrossValidated | HeldOut | None:
    """Return the evaluation of a selection on the held-out part or on folds; None without one."""
    args = task.args
    if not found.has_solution or (part is None and args.cv is None):
        return None
    if part is not None:
        return HeldOut.of(found, part)
    if interrupt.pressed():
        complain("Note", "the folds were left out after Ctrl-C.")
        return None
    words = dict(task.given)
    if words.get("time_limit") is not None:
        words["time_limit"] = _fold_limit(args)
    try:
        return over_folds(Request.of(task.data, args.model, **words), _folds(args))
    except ModelError as error:
        complain("Note", f"there is no held-out error. {error}")
    except KeyboardInterrupt:
        complain("Note", "Ctrl-C came before a fold was finished: there is no held-out error.")
    return None


def _folds(args: SimpleNamespace) -> Folds:
    """Return the folds of ``--cv``."""
    return Folds(args.cv, args.repeats or 1, args.seed or 0, args.n_jobs, args.memory)


def _check_held_out(args: SimpleNamespace) -> None:
    """Raise ParameterError for options that exclude each other, before data are read."""
    if args.cv is not None and args.test is not None:
        raise ParameterError("--cv and --test both estimate the error: give one of them.")
    for word in ("repeats", "n_jobs", "memory"):
        if args.cv is None and getattr(args, word) is not None:
            raise ParameterError(f"--{word.replace('_', '-')} is for the folds of --cv: give --cv 5 with it.")
    if args.bags is not None and (args.cv is not None or args.test is not None):
        raise ParameterError(
            "--bags derives features also from held-out bags, so the errors of --cv and --test would be too small: "
            "leave them out."
        )
    if args.test is not None and args.certificate is not None:
        raise ParameterError(
            "--certificate is checked with all samples of the file, and --test selects on a part: give one of them."
        )


def _held_out(task: Task) -> Resample | None:
    """Return the part of ``--test``, and replace the data of the task by its training samples."""
    args = task.args
    held_out = args.cv is not None or args.test is not None
    if held_out and not task.runs_solver and "seed" not in find(args.model).parameters:
        task.given.pop("seed", None)  # the seed is only for the folds
    if args.cv is not None:  # errors come before the selection
        _folds(args).parts(task.data)
    if args.test is None:
        return None
    part = held_out_part(task.data, args.test, args.seed or 0)
    task.data = part.train
    assert part.held_out is not None
    if not args.quiet:
        show(
            f"Held out: {part.held_out.n_samples} samples, drawn with the classes in proportion; the selection is of "
            f"the other {part.learn.n_samples}"
        )
    return part


def _error_lines(error: CrossValidated | HeldOut) -> list[str]:
    """Return the lines of a report on held-out errors."""
    confusion = ["", error.confusion.to_string()]
    if isinstance(error, HeldOut):
        return ["", error.sentence, *confusion]
    titles = {name: title for name, (title, _) in MEASURES.items()}
    table = error.summary().loc[list(titles)].rename(index=titles).rename_axis("held out")
    return ["", error.sentence, "", table.to_string(float_format=lambda x: f"{x:.4f}"), *confusion]


def _more_time(found: Selection, limit: float) -> str:
    """Return the proposal of a longer run, or why it will not help: the bound has stopped."""
    table = found.result.iterations
    early = table[table["Time"] <= 0.5 * found.seconds]["Bound"].dropna() if len(table) else table
    if len(early) and found.bound is not None and found.objective is not None:
        before = early.iloc[-1]
        if found.bound - before <= STALLED * (found.objective - before):
            weaker = ", and a smaller -C gives a stronger bound" if found.parameters.get("C") is not None else ""
            return f"not more time: the bound did not rise in the second half of the run{weaker}"
    return f"--time-limit {5 * limit:g}: more time"


def next_steps(found: Selection, args: SimpleNamespace) -> list[str]:
    """Return proposals for the next run: a heading, and options with reasons, depending on how the run ended.

    In all comparisons the default drivers closed more of the gap in the same time than any other solver: fsp-m in
    ``benchmarks/results/fsp_real.md`` and ``fsp_exact.md``, gmeb with rows in ``gmeb_rows.md`` (at most a quarter of
    SCIP's time), fs and fsl on wpbc24 and ionosphere at penalty 0.05 in 15 s (gaps of 12% to 17%, by SCIP 100%). No
    other solver helped after these had stopped. Five times the time reduced the gap of fsp-m on spambase with five
    features from 36% to 14%.
    """
    steps: list[str] = []
    spec, limit = MODELS[found.name], found.result.options.get("time_limit")
    if spec.runs_solver and found.status is not SolutionStatus.OPTIMAL:
        facts = facts_of(found.model)
        own = None if facts is None else facts.default_solver
        left = found.stop_reason is not StopReason.INTERRUPTED  # more time alone may help after Ctrl-C
        if own in CLOSERS and args.solver and found.result.solver != own and left:
            steps.append(f"no --solver: the model's own driver, {own}, proves more in the same time")
        if limit and found.stop_reason is StopReason.TIME_LIMIT:
            steps.append(_more_time(found, limit))
    k, price = found.parameters.get("max_features"), found.parameters.get("penalty")
    by_columns = found.parameters.get("count") == "columns"
    if k is not None and k < (len(found.data.columns) if by_columns else found.data.n_features):
        steps.append(f"--max-features {k + 1}: one more {'column' if by_columns else 'feature'}")
    elif isinstance(price, float) and price > 0:
        if has_kernel_weights(found) and len(found.selected) == found.data.n_features:
            steps.append(f"--penalty {2 * price:g}: a higher price for fewer features")
        else:
            steps.append(f"--penalty {price / 2:g}: a lower price for more features")
    if not (spec.selects and spec.runs_solver):
        if spec.exact_model == "fs" and price is not None:
            steps.append("--model fs: the best trade of error for features, with a proof")
        else:
            best = max(1, min(len(found.selected), found.data.n_features, 5))
            what = " of a linear classifier" if has_kernel_weights(found) else ""
            steps.append(f"--model fsp-m --max-features {best}: the best few features{what}, with a proof")
    if not args.json:
        steps.append("--json result.json: the result as a file")
    return ["", "What to try next", *(f"  {step}" for step in steps)] if steps else []
