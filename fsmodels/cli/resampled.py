"""Commands ``path``, ``stability`` and ``compare``: several solves, reported by a table, a sentence and a picture."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace
from typing import Any

from fsmodels.cli import request
from fsmodels.cli.commands import COMPARED
from fsmodels.cli.output import ResultFile, complain, show
from fsmodels.cli.request import Task
from fsmodels.errors import ModelError, NoSelection, ParameterError
from fsmodels.evaluation.compare import BUDGET, compare_on
from fsmodels.evaluation.folds import Folds
from fsmodels.evaluation.stability import Stability, stability
from fsmodels.selection import report
from fsmodels.selection.catalogue import find
from fsmodels.selection.curve import SelectionPath, point_text
from fsmodels.selection.path import path
from fsmodels.selection.selection import Selection
from solvers import progress

PICTURES = (".png", ".pdf", ".svg")


def run(args: SimpleNamespace) -> None:
    """Solve, write, draw and report."""
    picture = _checked_picture(args)
    if args.command == "compare" and args.bags is not None:
        raise ParameterError("--bags derives features also from held-out bags: leave it out.")
    if args.command == "compare":
        for name in _models(args):
            find(name)
    command = {"path": _path, "stability": _stability, "compare": _compare}[args.command]
    command(request.read(args), picture)


def _checked_picture(args: SimpleNamespace) -> ResultFile | None:
    """Return the file of --picture. Raises ParameterError: it cannot be drawn, or --choose has no folds."""
    rule, file = getattr(args, "choose", None), args.picture
    if file is not None and file.suffix.lower() not in PICTURES:
        raise ParameterError(f'--picture "{file}" cannot be drawn: give a {", ".join(PICTURES)} file.')
    if rule in ("one-se", "best") and args.folds is None:
        raise ParameterError(f"--choose {rule} needs held-out errors: give --folds 5 with it.")
    return None if file is None else ResultFile(file, [args.json] if args.json else [], option="--picture")


def _path(task: Task, picture: ResultFile | None) -> None:
    args = task.args
    task.announce("each point")
    found = path(task.data, args.model, folds=args.folds, n_jobs=args.n_jobs, progress=task.shows, **task.given)
    solved = any(point.has_solution for point in found.points)
    chosen = None
    if args.folds is not None and found.errors is None:
        complain("Note", "stopped by Ctrl-C before the folds were finished, so there are no held-out errors.")
    if solved and args.choose is not None and (args.choose == "knee" or found.errors is not None):
        chosen = _chosen(found, args.choose)
    content = found.to_dict()
    if chosen is not None:
        content["chosen"] = {"rule": args.choose, **chosen.to_dict()}
    _write(task, content, picture, found, solved)
    if not solved:
        raise NoSelection(f"no point has a solution. The first: {report.headline(found.points[0])}")
    if args.quiet:
        show(report.one_line(chosen) if chosen is not None else _ends(found))
        return
    show(f"\n{found.title}")
    table = found.short()
    show(table.drop(columns="Selected"), "", "Selected")
    points = table.reset_index()[list(table.index.names)].to_dict("records")
    show(*(f"  {point_text(point)}: {names or 'none'}" for point, names in zip(points, table["Selected"], strict=True)))
    if chosen is not None:
        values = " ".join(f"{name}={chosen.parameters[name]:g}" for name in found.index.names)
        show(f"\nChosen by {args.choose}: {values}", *report.report(chosen))
    task.show_files()


def _chosen(found: SelectionPath, rule: str) -> Selection | None:
    """Return the point that a rule chooses; None, with a note, if there is none."""
    try:
        return found.knee() if rule == "knee" else found.choose(rule)
    except (ModelError, ParameterError) as error:
        complain("Note", str(error))
        return None


def _ends(found: SelectionPath) -> str:
    """Return a path as one line."""
    return f"{found.title}: objective {report.number(found['objective'].iloc[0])} to " + report.number(
        found["objective"].iloc[-1]
    )


def _stability(task: Task, picture: ResultFile | None) -> None:
    args, given = task.args, dict(task.given)
    task.announce("each run")
    seed = given.pop("seed", None)
    found = stability(
        task.data, args.model, folds=args.folds, bootstraps=args.bootstraps, n_jobs=args.n_jobs,
        seed=0 if seed is None else seed, progress=task.shows, **given,
    )  # fmt: skip
    _write(task, found.to_dict(), picture, found)
    show(found.sentence)
    if not args.quiet:
        show("", found.short())
        task.show_files()


def _models(args: SimpleNamespace) -> list[str]:
    """Return the models of ``compare``."""
    return [name.strip() for name in (args.models or COMPARED).split(",") if name.strip()]


def _compare(task: Task, picture: ResultFile | None) -> None:
    args = task.args
    models = _models(args)
    given = dict(task.given)
    if not any(find(name).runs_solver for name in models) and "time_limit" not in args.given:
        given.pop("time_limit", None)  # the default, which no model uses
    most, C = given.pop("max_features"), given.pop("C")
    task.announce("each fold of each model", f"{len(models)} models on {args.cv} folds")
    with progress.shown(task.shows):
        found = compare_on(
            task.data, models, given, Folds(args.cv, args.repeats or 1, args.seed or 0, args.n_jobs, args.memory),
            max_features=min(BUDGET, task.data.n_features) if most is None else most, C=1.0 if C is None else C,
        )  # fmt: skip
    solved = bool(found.table()["folds"].sum())
    _write(task, found.to_dict(), picture, found, solved)
    if not solved:
        raise NoSelection(found.sentence)
    show(found.sentence)
    if not args.quiet:
        show("", found.short(), "", *found.given)
        task.show_files()


def _write(task: Task, content: dict[str, Any], picture: ResultFile | None, found: Any, solved: bool = True) -> None:
    """Write the file and, with a solution, the picture. Raises ParameterError: one of them cannot be written."""
    task.write(content | {"data_file": task.facts}, solved=solved)
    if picture is not None and solved:
        _draw(found, picture)


def _draw(found: Any, file: ResultFile) -> None:
    """Draw objective and errors of a path, frequencies of features, or a comparison to a file."""
    from matplotlib.figure import Figure

    if isinstance(found, SelectionPath):
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        for y, ax in zip(("objective", "error"), figure.subplots(1, 2), strict=True):
            found.plot(y, ax)
    else:
        shown = int((found.frequency > 0).sum()) if isinstance(found, Stability) else 15
        figure = Figure(figsize=(6, max(1.6, 0.22 * min(shown, 40) + 0.9)), layout="constrained")
        found.plot(figure.subplots())
    drawn = BytesIO()
    figure.savefig(drawn, format=file.path.suffix.lower().removeprefix("."))
    file.put(drawn.getvalue())
