"""``fsmodels certify, near-optimal, necessity, price, verify``: questions beyond one answer, told in a sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fsmodels.certificates.document import verify
from fsmodels.cli import request
from fsmodels.cli.output import BAD_INPUT, NO_SOLUTION, SOLVED, ResultFile, complain, show
from fsmodels.cli.request import Task
from fsmodels.datasets.tables import named
from fsmodels.errors import ParameterError
from fsmodels.insight.certify import certify
from fsmodels.insight.near_optimal import near_optimal
from fsmodels.insight.necessity import necessity
from fsmodels.insight.price import price_of
from fsmodels.selection.report import number, percent
from fsmodels.selection.request import Request
from fsmodels.selection.rows import words_of
from fsmodels.words import check_known_features

WIDTH = 120  # of a printed table


def run(asked: SimpleNamespace) -> int:
    """Ask, report and write; return the exit code."""
    if asked.command == "verify":
        return _verify(asked)
    task = request.read(asked)
    task.announce()
    answer = _price(task) if asked.command == "price" else _asked_of_model(task)
    if task.file is not None:
        content = answer.to_dict()
        content["data_file"] = task.facts
        if trouble := task.file.write(content, has_solution=True):
            complain("Error", trouble)
            return BAD_INPUT
    sentence = answer.sentence
    for name, words in task.rows.items():  # rows of the model by the words of ``select``
        sentence = sentence.replace(f'"{name}"', words)
    show(sentence)
    if not asked.quiet and hasattr(answer, "table"):
        table = answer.table()
        if table.index.name == "row":
            table = table.rename(index=task.rows)
        show("", table.to_string(line_width=WIDTH, float_format=lambda x: f"{x:.6g}"))
    if not asked.quiet and asked.json is not None:
        show(f"\nWritten to {asked.json}")
    return SOLVED


def _asked_of_model(task: Task) -> Any:
    """Answer a question that takes data, a model and a tolerance, as ``select`` does."""
    asked = task.asked
    words = {**task.given, "within": asked.within, "progress": task.shows}
    if asked.command == "certify":
        names = named([asked.features], task.data.features)
        check_known_features(names, task.data.features, "--features")
        return certify(task.data, names, asked.model, **words)
    if asked.command == "necessity":
        return necessity(task.data, asked.model, **words)
    return near_optimal(task.data, asked.model, limit=asked.limit, **words)


def _price(task: Task) -> Any:
    for text in task.asked.rows:
        if not set(text) & set("<>="):
            raise ParameterError(f'--row "{text}" has no relation: to price a row of the model, write --only {text}.')
    options = dict(task.given)
    limit = options.pop("time_limit", None)
    ready = Request.of(task.data, task.asked.model, **options).build()
    task.rows = words_of({**ready.parameters, **(ready.stated or {})})
    names = {words: row for row, words in task.rows.items()}  # as the table tells them
    return price_of(
        ready.model,
        [names.get(row, row) for row in task.asked.only] or None,
        at=task.asked.at or [],
        solver=ready.solver,
        time_limit=limit,
        progress=task.shows,
        **ready.options,
    )


def _verify(asked: SimpleNamespace) -> int:
    file = None
    if asked.json is not None:
        file = ResultFile(asked.json, [request.source(asked)[0], asked.certificate], force=True)
    data = request.loaded(asked, signs=False)[0]
    found = verify(asked.certificate, data)
    words = f"objective {number(found.objective)}, proven within {percent(found.gap)} by {found.parts} parts"
    told = f"The certificate holds: {words}." if found.holds else f"The certificate does not hold. {found.why}"
    if file is not None:
        content = {
            "holds": found.holds, "objective": found.objective, "bound": found.bound, "parts": found.parts,
            "why": found.why, "problem": found.problem,
        }  # fmt: skip
        if trouble := file.write(content, has_solution=True):
            complain("Error", trouble)
            return BAD_INPUT
    if found.holds:
        show(told)
        if not asked.quiet:
            lines = [f"  {key}: {'; '.join(v) if key == 'rows' else v}" for key, v in found.problem.items()]
            show("Problem verified:", *lines)
        return SOLVED
    complain("Error", told)
    return NO_SOLUTION
