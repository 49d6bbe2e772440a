"""``fsmodels select``: a selection, its report, and its file."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

from fsmodels.cli import arguments, hints, honest, loading
from fsmodels.cli import asked as questions
from fsmodels.cli.codes import BAD_INPUT, NO_SOLUTION, SOLVED, complain, show
from fsmodels.cli.commands import data_words
from fsmodels.cli.result_file import check_target
from fsmodels.errors import ModelError, NoSelection, ParameterError
from fsmodels.insight.certify import Certified, certify
from fsmodels.selection import report
from fsmodels.selection.recipes import MODELS, find
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import KINDS
from fsmodels.words import listed

COMPARED = "fsp_objective"  # what --certify proves something about
CONCEPTS = 20  # instances shown


def run(asked: SimpleNamespace) -> int:
    """Select, report and write; return the exit code."""
    if asked.certify is not None:
        _check_certify(asked)
    if asked.certificate is not None:
        _check_certificate(asked)
    honest.check(asked)
    task = questions.read(asked)
    file, embedding = task.file, task.embedding
    judgement = honest.judgement(task)
    announce(task)
    try:
        found = select(task.data, asked.model, **task.given, progress=task.shows)
    except NoSelection as error:
        if file is not None and error.selection is not None:
            content = error.selection.to_dict()
            trouble = file.write({**content, "data": {**task.facts, **content["data"]}}, has_solution=False)
            if trouble:
                complain("Note", trouble)
        raise
    against = _certified(task, found) if asked.certify is not None and found.has_solution else None
    held_out = judgement.of(found)

    if file is not None:
        content = found.to_dict()
        content["data"] = {**task.facts, **content["data"]}
        if against is not None:
            content["certified"] = against.to_dict()
        if held_out is not None:
            content["held_out"] = held_out.to_dict()
        if embedding is not None and found.has_solution:
            content["concepts"] = embedding.concepts(found).to_dict("records")
        if trouble := file.write(content, has_solution=found.has_solution):
            complain("Note" if not found.has_solution else "Error", trouble)
            if found.has_solution:
                show(*report.report(found))
                return BAD_INPUT
    if not found.has_solution:
        complain("Error", report.headline(found))
        return NO_SOLUTION
    trouble = "" if asked.certificate is None else _save_certificate(found, asked)
    if asked.quiet:
        show(report.one_line(found), *(part.sentence for part in (against, held_out) if part is not None))
        if trouble:
            complain("Error", trouble)
        return BAD_INPUT if trouble else SOLVED
    show("", *report.report(found))
    if against is not None:
        show("", against.sentence)
    if held_out is not None:
        show(*honest.lines(held_out))
    if embedding is not None:
        table = embedding.concepts(found).to_string(index=False, max_rows=CONCEPTS)
        show("\nSelected instances, of the file:", table)
    if asked.json is not None:
        show(f"\nWritten to {asked.json}")
    if trouble:
        complain("Error", trouble)
        return BAD_INPUT
    if asked.certificate is not None:
        check = shlex.join(["fsmodels", "verify", str(asked.certificate), asked.data, *data_words(asked)])
        show(f"\nProof written to {asked.certificate}; what checks it: {check}")
    show(*hints.next_steps(found, asked))
    return SOLVED


def _check_certify(asked: SimpleNamespace) -> None:
    """Refuse --certify where the model has a bound of its own, or no C to be compared by."""
    recipe = find(asked.model)
    if COMPARED not in recipe.compared:
        able = [name for name, other in MODELS.items() if COMPARED in other.compared]
        raise ParameterError(
            f'--certify holds what {listed(able)} select against the best of fsp-m: leave it out for "{recipe.name}".'
        )
    if not asked.certify > 0:
        raise ParameterError(f"--certify {asked.certify:g} is no time: give seconds above 0.")


def _check_certificate(asked: SimpleNamespace) -> None:
    """Refuse --certificate where there will be none, or where it would replace a file of this run."""
    certifies = find(asked.model).certifies
    if not certifies or asked.signs or asked.fair:
        what = "--sign and --fair" if certifies else f'model "{asked.model}"'
        able = listed(name for name, recipe in MODELS.items() if recipe.certifies)
        raise ParameterError(
            f"--certificate is written for {able} with rows on features, not for {what}: leave it out."
        )
    others = [loading.source(asked)[0], *arguments.files(asked)]
    check_target("--certificate", asked.certificate, [*others, *([asked.json] if asked.json else [])])


def _save_certificate(found: Selection, asked: SimpleNamespace) -> str:
    """Write the proof; return what to tell the user where that failed."""
    try:
        found.certificate.save(asked.certificate)
    except ModelError as error:
        return f"No certificate was written. {error}"
    except OSError as error:
        return f'--certificate "{asked.certificate}" cannot be written ({error.strerror}): give another file.'
    return ""


def _certified(task: questions.Task, found: Selection) -> Certified:
    """Hold a selection against the best of fsp-m under the same side constraints."""
    rows = {kind: task.given[kind] for kind in KINDS if kind in task.given}
    return certify(
        task.data, found.selected, C=found.parameters["C"], time_limit=task.asked.certify, progress=task.shows, **rows
    )


def announce(task: questions.Task) -> None:
    """Say what begins, and how to stop it."""
    if not task.asked.quiet and task.runs_solver:
        limit = task.given.get("time_limit")
        words = "" if limit is None else f" for at most {limit:g} s"
        show(f"Solving {task.asked.model}{words}; Ctrl-C stops and keeps the best so far")
