"""The page: its template, and what it says first and last."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from fsmodels.page import evidence, features, told
from fsmodels.page.provenance import Provenance, software
from fsmodels.page.stages import Findings
from fsmodels.page.told import legible, name, names
from fsmodels.selection.recipes import find
from fsmodels.selection.report import facts
from fsmodels.version import __version__

__all__ = ["render"]

SCALES = {
    "standard": "Each feature was brought to mean 0 and deviation 1 for the search. Weights are told for the values as "
    "they stand in the data.",
    "minmax": "Each feature was brought to the range 0 to 1 for the search. Weights are told for the values as they "
    "stand in the data.",
    "none": "None: the search used the values as they stand in the data.",
}
INTERNAL = ("tee", "callback", "memory")  # options that change no answer


def render(done: Findings, origin: Provenance) -> str:
    """Return the page as HTML; whatever is no Markup is escaped."""
    import jinja2

    loader = jinja2.PackageLoader("fsmodels.page")
    page = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    style = Markup(loader.get_source(page, "style.css")[0])
    return page.get_template("report.html").render(_view(done, origin), style=style)


def _view(done: Findings, origin: Provenance) -> dict[str, Any]:
    found, data = done.found, done.found.data
    return {
        "version": __version__,
        "title": Markup("{} of {} features to tell {} from {}").format(
            len(found.selected), data.n_features, told.label(data), told.other_label(data)
        ),
        "data_name": name(data.name),
        "made": origin.made,
        "short": _short(done),
        "question": told.question(found),
        "rules": told.all_rules(found),
        "data": _data(done, origin),
        "notes": [legible(note) for note in origin.notes],
        "features": features.section(found),
        "concepts": None if origin.concepts is None else features.concepts(origin.concepts(found)),
        "errors": evidence.errors(done),
        "certainty": evidence.certainty(done),
        "path": evidence.path(done),
        "what_if": evidence.what_if(done),
        "made_by": _made(done, origin),
    }


def _short(done: Findings) -> list[Markup]:
    lines = [Markup("Selected: {}.").format(names(done.found.table().index))]
    if done.model is not None:
        often, *warnings = told.verdict_on_errors(done)
        lines += [often, *(Markup("<strong>{}</strong>").format(warning) for warning in warnings)]
    else:
        lines.append(Markup("How often it is wrong on new samples is not known. {}").format(done.missing["errors"]))
    lines.append(told.certainty(done)[0])
    if done.stopped:
        lines.append(Markup("This report was stopped by hand before it was complete. What is missing is said below."))
    return lines


def _data(done: Findings, origin: Provenance) -> list[tuple[str, Any]]:
    data = done.found.data
    rows: list[tuple[str, Any]] = [("Data", name(data.name))]
    if origin.files:
        rows.append(("File", name(origin.files[0].path)))
    rows += [("Samples (rows)", f"{data.n_samples:,}"), ("Features (columns)", f"{data.n_features:,}")]
    (one, count, share), (other, rest, others) = told.classes(data)
    rows.append(
        ("Samples by class", Markup("{}: {:,} ({}); {}: {:,} ({})").format(one, count, share, other, rest, others))
    )
    if origin.target is not None:
        rows.append(("Column of the classes", name(origin.target)))
    if origin.dropped is not None:
        rows.append(("Columns left out", names(origin.dropped)))
    if data.aside:
        rows.append(("Kept beside, as no feature", names(data.aside)))
    if data.weighting is not None:
        rows.append(("Weights of samples", legible(data.weighting)))
    if data.categories:
        rows.append(("Columns of categories, made 0 and 1", names(data.categories)))
    if data.imputing is not None:
        rows.append(("Blank cells, filled in", legible(data.imputing)))
    if data.products:
        rows.append(("Products of two features", names(data.products)))
    rows.append(("Scaling", SCALES.get(data.scale.method, data.scale.method)))
    return rows


def _made(done: Findings, origin: Provenance) -> dict[str, Any]:
    found = done.found
    plain = {k: v for k, v in found.parameters.items() if isinstance(v, int | float | str) and not isinstance(v, bool)}
    options = {k: v for k, v in found.result.options.items() if k not in INTERNAL and v is not None}
    rows: list[tuple[str, Any]] = [
        ("Made on", origin.made),
        ("Model", f"{found.name}: {find(found.name).title}"),
        ("Parameters", legible(_listed(plain) or "none")),
        ("Solver", legible(", ".join(part for part in (found.result.solver, _listed(options)) if part))),
        ("Scaling", found.data.scale.method),
        *((key, legible(value)) for key, value in facts(found)),
    ]
    files = [{"name": name(file.path), "size": f"{file.size:,}", "sha256": file.sha256} for file in origin.files]
    if not files:
        given = "data given in memory (their values and labels)"
        files = [{"name": given, "size": "–", "sha256": origin.values}]
    lead = "This call makes the same report again:"
    if origin.of_shell:
        lead = "This command makes the same report again, from the folder that it was run in:"
    versions = ", ".join(f"{what} {version}" for what, version in software(found).items())
    return {"lead": lead, "command": legible(origin.command), "facts": rows, "files": files, "versions": versions}


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in values.items())
