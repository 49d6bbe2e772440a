"""``fsmodels certify, near-optimal, necessity, price, verify``: questions beyond one answer, told in a sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fsmodels.certificates.document import verify
from fsmodels.cli import request
from fsmodels.cli.output import ResultFile, show
from fsmodels.cli.request import Task
from fsmodels.datasets.tables import named
from fsmodels.errors import NoSelection, ParameterError
from fsmodels.insight.certify import certify
from fsmodels.insight.near_optimal import near_optimal
from fsmodels.insight.necessity import necessity
from fsmodels.insight.price import price_of
from fsmodels.selection.report import number, percent
from fsmodels.selection.request import Request
from fsmodels.selection.rows import words_of
from fsmodels.words import check_known_features

WIDTH = 120  # of a printed table


def run(args: SimpleNamespace) -> None:
    """Answer a question, write the answer and report it."""
    if args.command == "verify":
        _verify(args)
        return
    task = request.read(args)
    task.announce()
    answer = _price(task) if args.command == "price" else _answered(task)
    task.write(answer.to_dict() | {"data_file": task.facts})
    sentence = answer.sentence
    for name, words in task.rows.items():  # rows of the model by the words of ``select``
        sentence = sentence.replace(f'"{name}"', words)
    show(sentence)
    if not args.quiet and hasattr(answer, "table"):
        table = answer.table()
        if table.index.name == "row":
            table = table.rename(index=task.rows)
        show("", table.to_string(line_width=WIDTH, float_format=lambda x: f"{x:.6g}"))
    if not args.quiet:
        task.show_files()


def _answered(task: Task) -> Any:
    """Answer a question that takes data, a model and a tolerance, as ``select`` does."""
    args = task.args
    words = {**task.given, "within": args.within, "progress": task.shows}
    if args.command == "certify":
        names = named([args.features], task.data.features)
        check_known_features(names, task.data.features, "--features")
        return certify(task.data, names, args.model, **words)
    if args.command == "necessity":
        return necessity(task.data, args.model, **words)
    return near_optimal(task.data, args.model, limit=args.limit, **words)


def _price(task: Task) -> Any:
    for text in task.args.rows:
        if not set(text) & set("<>="):
            raise ParameterError(f'--row "{text}" has no relation: to price a row of the model, write --only {text}.')
    options = dict(task.given)
    limit = options.pop("time_limit", None)
    ready = Request.of(task.data, task.args.model, **options).build()
    task.rows = words_of({**ready.parameters, **(ready.stated or {})})
    names = {words: row for row, words in task.rows.items()}  # as the table tells them
    return price_of(
        ready.model,
        [names.get(row, row) for row in task.args.only] or None,
        at=task.args.at or [],
        solver=ready.solver,
        time_limit=limit,
        progress=task.shows,
        **ready.options,
    )


def _verify(args: SimpleNamespace) -> None:
    """Check a certificate. Raises NoSelection: it does not hold."""
    file = None
    if args.json is not None:
        file = ResultFile(args.json, [request.source(args), args.certificate], force=True)
    data = request.loaded(args, signs=False)[0]
    found = verify(args.certificate, data)
    if file is not None:
        content = {
            "holds": found.holds, "objective": found.objective, "bound": found.bound, "parts": found.parts,
            "why": found.why, "problem": found.problem,
        }  # fmt: skip
        file.write(content, has_solution=True)
    if not found.holds:
        raise NoSelection(f"The certificate does not hold. {found.why}")
    words = f"objective {number(found.objective)}, proven within {percent(found.gap)} by {found.parts} parts"
    show(f"The certificate holds: {words}.")
    if not args.quiet:
        lines = [f"  {key}: {'; '.join(v) if key == 'rows' else v}" for key, v in found.problem.items()]
        show("Problem verified:", *lines)
