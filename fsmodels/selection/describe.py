"""``fs.describe``: objective, parameters and guarantees of a model, from its specification and the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.catalogue import MODELS, documented, find
from fsmodels.selection.parameters import PARAMETERS
from solvers import Takers, html, takers
from solvers.shared_state import without_warnings

WIDTH = 100
TRIED = {"max_features": 1, "penalty": 0.5, "C": 1.0, "R_plus": 1.0, "R_minus": 1.0}  # of the small model that is read


@dataclass(frozen=True)
class ParameterDescription:
    """Parameter: its option on the command line ("" for none), values or type, default as text, and description."""

    name: str
    flag: str
    kind: str
    default: str
    text: str


@dataclass(frozen=True, repr=False)
class Description:
    """Description of a model; its representation is the text for a terminal or a notebook.

    Attributes
    ----------
    name, title : str
    equations : list of str
        The problem as plain text; ``latex`` is the same as LaTeX, empty if the page describes the problem in words.
    parameters : list of ParameterDescription
        ``name``, ``flag``, ``kind``, ``default`` and ``text`` of each.
    solvers : Takers or None
        Solvers and drivers of the model; None if the method runs no solver.
    weights : str
        Whether ``class_weight`` and ``sample_weight`` of ``select`` are used or rejected.
    classes, certificate, source : str
        The class of the formulation, the possible proof, and the paper.
    page : str
        The module whose docstring describes the formulation.
    """

    name: str
    title: str
    equations: list[str]
    latex: str
    parameters: list[ParameterDescription]
    weights: str
    classes: str
    certificate: str
    source: str
    page: str

    @cached_property
    def solvers(self) -> Takers | None:
        """Solvers and drivers that solve a small model of this kind."""
        spec = MODELS[self.name]
        if not spec.runs_solver:
            return None
        rng = np.random.default_rng(0)
        data = Dataset.from_arrays(rng.normal(size=(8, 3)), [0, 1] * 4).scaled("standard")
        given = {name: TRIED[name] for name, needed in spec.parameters.items() if needed}
        for first in spec.alternatives:
            given.setdefault(first, TRIED[first])
        with without_warnings(Warning):
            own = takers(spec.build_model(data, given))
            whole = takers(spec.build_model(data, spec.choose_form(given, data, "scip", {})))
        return Takers(own.default, own.drivers, whole.whole, whole.local)

    def _solver_lines(self) -> list[str]:
        if self.solvers is None:
            return ["its own method, which runs no solver"]
        found = self.solvers
        others = [name for name in found.drivers if name != found.default]
        whole = [name for name in found.whole if name != found.default]
        local = [name for name in found.local if name != found.default]
        lines = [f"default {found.default}"]
        lines += [f"drivers {', '.join(others)}"] if others else []
        lines += [f"whole model: {', '.join(whole)}"] if whole else []
        lines += [f"local, without a proof: {', '.join(local)}"] if local else []
        return lines

    def _parts(self) -> dict[str, list[str]]:
        """Return the paragraphs below each heading that follows the parameters."""
        module = self.page.removeprefix("fsmodels.models.").removeprefix("fsmodels.")
        parts = {
            "Weights of samples": [self.weights],
            "Solved by": self._solver_lines(),
            "Class": [self.classes],
            "Certificate": [self.certificate],
            "To read on": [f"help(fs.{module})", self.source],
        }
        return {heading: lines for heading, lines in parts.items() if any(lines)}

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.title}", "", "Problem", *(f"    {line}" for line in self.equations)]
        lines += ["", "Parameters"]
        for parameter in self.parameters:
            head = f"    {parameter.name}" + (f" ({parameter.flag})" if parameter.flag else "")
            default = (
                parameter.default
                if parameter.default.startswith(("needed", "this or"))
                else f"default {parameter.default}"
            )
            lines.append(f"{head}: {default}" + (f"; {parameter.kind}" if parameter.kind else ""))
            lines += _wrapped(parameter.text, 8)
        for heading, texts in self._parts().items():
            lines += ["", heading, *(line for text in texts for line in _wrapped(text, 4))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        problem = f"$$\n{escape(self.latex)}\n$$" if self.latex else "<br>".join(map(escape, self.equations))
        cells = [
            (html.code(parameter.name), html.code(parameter.flag), parameter.default, parameter.kind, parameter.text)
            for parameter in self.parameters
        ]
        parts = "".join(html.paragraph("; ".join(texts), bold=heading) for heading, texts in self._parts().items())
        table = html.table(cells, ("parameter", "option", "default", "values", ""))
        return f"{html.paragraph(self.title, bold=self.name)}{problem}{table}{parts}"


@dataclass(frozen=True, repr=False)
class Descriptions:
    """Titles of all models by name; ``[name]`` describes one model."""

    def __getitem__(self, name: str) -> Description:
        return describe(name)

    def __iter__(self) -> Any:
        return iter(MODELS)

    def __len__(self) -> int:
        return len(MODELS)

    def __repr__(self) -> str:
        width = max(map(len, MODELS))
        lines = [f"{name:<{width}}  {spec.title}" for name, spec in MODELS.items()]
        return "\n".join([*lines, "", 'fs.describe("fsp-m") describes one of them.'])

    def _repr_html_(self) -> str:
        return html.table(((html.code(name), spec.title) for name, spec in MODELS.items()), ("model", "what it is"))


def describe(model: str | None = None) -> Any:
    """Describe a model by name: its problem, parameters, solvers, proof, and source.

    Parameters
    ----------
    model : str, optional
        One of ``catalogue.MODELS``; by default the titles of all models.

    Returns
    -------
    Description or Descriptions
        Print it, or let Jupyter show it.

    Raises
    ------
    ParameterError
        The model is unknown.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.describe("svm")
    >>> found.equations[0]
    "min over w, b, xi:  1/2 w'w + C sum_i xi_i   (1)"
    >>> [parameter.name for parameter in found.parameters]
    ['C', 'loss', 'sigma']
    """
    if model is None:
        return Descriptions()
    spec = find(model)
    page = spec.page if "." in spec.page else f"fsmodels.models.{spec.page}"
    parts = sections(importlib.import_module(page).__doc__ or "")
    rows = formulas(parts["Problem"], spec.equations)
    lines = " \\\\\n".join(rows)
    return Description(
        name=spec.name,
        title=spec.title,
        equations=[plain(row) for row in rows] or _in_words(parts["Problem"], spec.equations),
        latex=f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}" if rows else "",
        parameters=[_parameter(spec, name) for name in spec.parameters],
        weights="class_weight and sample_weight are honoured" if spec.takes_weights else "refused",
        classes=" ".join(parts.get("Class", "").split()),
        certificate=" ".join(parts["Certificate"].split()),
        source=" ".join(parts["Source"].split()),
        page=page,
    )


def _in_words(problem: str, words: tuple[str, ...]) -> list[str]:
    """Return the lines of the paragraphs that contain these words, for a problem without a formula."""
    own = [part for part in re.split(r"\n\s*\n", problem) if all(word in part for word in words)]
    lines = [line for part in own for line in part.splitlines()]
    return [re.sub(r":math:`([^`]*)`", lambda m: plain(m[1]), line).replace("``", "") for line in lines]


def _parameter(spec: ModelSpec, name: str) -> ParameterDescription:
    known, default = PARAMETERS.get(name), spec.default(name)
    kind, meaning = documented(spec.build, name)
    pairs = [*spec.alternatives.items(), *((other, mine) for mine, other in spec.alternatives.items())]
    rival = dict(pairs).get(name)
    text = repr(default)
    if default is inspect.Parameter.empty or rival is not None:
        text = "needed" if rival is None else f"this or {rival}"
    flag = known.flag if known and known.is_switch == isinstance(default, bool) else ""  # not of another kind
    meaning = meaning or (known.help if known else "")
    return ParameterDescription(name, flag, kind, text, meaning.replace("``", ""))


def _wrapped(text: str, indent: int) -> list[str]:
    space, text = " " * indent, text.replace("``", "")
    return textwrap.wrap(text, WIDTH, initial_indent=space, subsequent_indent=space, break_on_hyphens=False)


def sections(text: str) -> dict[str, str]:
    r"""Return heading -> text of a page whose headings are separate lines with indented text below.

    >>> sections("A model.\n\nProblem\n    min x\n\n    x >= 0\nClass\n    LP.\n")
    {'Problem': 'min x\n\nx >= 0', 'Class': 'LP.'}
    """
    found: dict[str, list[str]] = {}
    heading = ""
    for line in inspect.cleandoc(text).splitlines():
        if line and not line.startswith(" "):
            heading = line.strip()
        elif heading:
            found.setdefault(heading, []).append(line)
    bodies = {name: inspect.cleandoc("\n" + "\n".join(lines)) for name, lines in found.items()}
    return {name: body for name, body in bodies.items() if body}


_ROWS = re.compile(r"^\.\. math::[^\n]*\n((?:[ \t]+[^\n]*\n|\n)*)", re.MULTILINE)
_TAG = re.compile(r"&&(.*)$", re.DOTALL)
_FIRST = re.compile(r"\\(?:min|max)(?![a-z])")

_WORDS = {
    r"\le": "<=", r"\ge": ">=", r"\in": "in", r"\forall": "for all", r"\infty": "inf", r"\quad": "  ", r"\qquad": "   ",
    r"\ldots": "...", r"\perp": "_|_", r"\top": "'", r"\epsilon": "eps", r"\cdot": ".", r"\lVert": "||",
    r"\rVert": "||", r"\textstyle": "", r"\neq": "!=", r"\ne": "!=",
}  # fmt: skip
_NEXT = re.compile(r"\\([a-zA-Z]+)")


def formulas(text: str, tags: tuple[str, ...]) -> list[str]:
    """Return the rows of LaTeX with one of these tags, and those up to the next problem of the same display.

    ``text``: the section Problem of a page. ``tags``: texts after ``&&``, in the order of the result.
    """
    blocks = [part for block in _ROWS.findall(text + "\n") for part in re.split(r"\n\s*\n", block)]
    found: list[str] = []
    for tag in tags:
        for block in blocks:
            taking = False
            for row in re.split(r"\\\\(?:\[[^]]*\])?", block):
                row = " ".join(row.split())
                taking = tag in _tag(row) or (taking and not _FIRST.search(row))
                if taking and row and row not in found:
                    found.append(row)
    return found


def _tag(row: str) -> str:
    """Return the tag of a row, "" for none."""
    tag = _TAG.search(row)
    return tag.group(1).strip() if tag else ""


def plain(row: str) -> str:
    r"""Return a row as the text of a terminal.

    >>> plain(r"\min_{w, b}\ & \tfrac12 w^\top w + C \sum_i \xi_i && (1)")
    "min over w, b:  1/2 w'w + C sum_i xi_i   (1)"
    """
    tag = _tag(row)
    text = _TAG.sub("", row).replace("&", "")
    text = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\t?frac(\d)(\d)", r"\1/\2 ", text)
    text = re.sub(r"\\tfrac(\d)([a-z])", r"\1/\2 ", text)
    for _ in range(3):  # within one another
        text = re.sub(r"\\sqrt\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", r"sqrt(\1)", text)
        text = re.sub(r"\\t?frac\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", r"(\1)/(\2)", text)
    text = re.sub(r"\\(?:tilde|bar)\{?(\w)\}?|\\(?:tilde|bar) (\w)", lambda m: f"{m[1] or m[2]}~", text)
    text = re.sub(r"\\(min|max)_(?:\{([^{}]*)\}|(\\?\w+))", lambda m: f"{m[1]} over {m[2] or m[3]}:  ", text)
    text = (
        text.replace(r"\{", "\x01").replace(r"\}", "\x02").replace(r"\;", " ").replace("\\ ", " ").replace(r"\,", " ")
    )
    text = re.sub(r"\^\s*\\top", "'", text)
    text = _NEXT.sub(lambda m: _WORDS.get(m[0], m[1]), text)
    text = re.sub(r"\^\{([^{}]*)\}", lambda m: f"^({m[1]})" if len(m[1]) > 1 else f"^{m[1]}", text)
    text = re.sub(r"_\{([^{}]*)\}", lambda m: f"_{m[1]}" if len(m[1].replace(" ", "")) <= 2 else f"_({m[1]})", text)
    text = text.replace("{", "").replace("}", "").replace("\x01", "{").replace("\x02", "}")
    text = re.sub(
        r"(?<=\w)' +(?=[a-zA-Z(])", "'", re.sub(r"(?<=\d) +(?=\S)", " ", re.sub(r" {2,}", "  ", text))
    ).strip()
    tag = re.sub(r"\\text\{([^{}]*)\}|\\", lambda m: m[1] or "", tag).replace("{", "").replace("}", "")
    return f"{text}   {tag if tag.startswith('(') else f'({tag})'}" if tag else text
