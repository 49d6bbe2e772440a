"""The command ``app``: the explorer in the browser."""

from __future__ import annotations

from types import SimpleNamespace

from fsmodels.checks import import_extra
from fsmodels.cli import arguments, request

READING = ("target", "positive", "drop", *request.TABLE_OPTIONS, "one_hot", "impute")  # options of Dataset.from_csv
UNWRITTEN = ("bags", "interactions", "sample_weight", "class_weight", "fair")  # options that to_python has no code for


def run(args: SimpleNamespace) -> None:
    """Serve the explorer until Ctrl-C."""
    server = import_extra("fsmodels.app.server", "app")
    task = request.read(args)
    given = dict(task.given)
    if "time_limit" not in args.given:  # a person stops a solve
        given.pop("time_limit", None)
    server.serve(task.data, args.model, given, load_expression(args), browser=not args.no_browser)


def load_expression(args: SimpleNamespace) -> str:
    """Return the Python expression that loads the data of a command; "" if it takes more than one call."""
    path = request.source(args)
    if request.is_svmlight(path) or args.given.intersection(UNWRITTEN):
        return ""
    options = {name: getattr(args, name) for name in READING if name in args.given}
    names = "" if args.class_names is None else f".with_class_names{(*arguments.class_names(args.class_names),)}"
    if args.data != str(path):
        return f'fs.load_dataset("{args.data}"){names}' if not options else ""
    return f"fs.Dataset.from_csv({', '.join([repr(str(path)), *(f'{k}={v!r}' for k, v in options.items())])}){names}"
