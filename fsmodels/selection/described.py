"""``fs.describe("fsmulti")``: what a model minimises, takes and can prove, from its recipe and the docstrings alone."""

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
from fsmodels.models.recipe import Recipe
from fsmodels.selection import docstrings
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS, find
from solvers import Takers, html, takers
from solvers.shared_state import without_warnings

WIDTH = 100
TRIED = {"max_features": 1, "penalty": 0.5, "C": 1.0, "R_plus": 1.0, "R_minus": 1.0}  # of the small model that is read


@dataclass(frozen=True)
class Told:
    """A parameter: its option on the command line ("" for none), values or type, default as text, and what it is."""

    name: str
    flag: str
    kind: str
    default: str
    text: str


@dataclass(frozen=True, repr=False)
class Description:
    """A model by name, described: print it, or let Jupyter show it.

    Attributes
    ----------
    name, title : str
    equations : list of str
        The problem as plain text; ``latex`` is the same as LaTeX.
    parameters : list of Told
        ``name``, ``flag``, ``kind``, ``default`` and ``text`` of each.
    solvers : Takers or None
        Who solves it; None where the method runs no solver.
    weights : str
        Whether ``class_weight`` and ``sample_weight`` of ``select`` are honoured, or refused.
    classes, certificate, source : str
        Of the formulation's page: its class, what can be proven of an answer, and the paper.
    page : str
        The module whose docstring is that page.
    """

    name: str

    @property
    def _recipe(self) -> Recipe:
        return MODELS[self.name]

    @property
    def title(self) -> str:
        """One line."""
        return self._recipe.title

    @property
    def page(self) -> str:
        """The module with the page."""
        return self._recipe.page if "." in self._recipe.page else f"fsmodels.models.{self._recipe.page}"

    @cached_property
    def _sections(self) -> dict[str, str]:
        return docstrings.sections(importlib.import_module(self.page).__doc__ or "")

    @cached_property
    def _rows(self) -> list[str]:
        return docstrings.rows(self._sections["Problem"], self._recipe.numbers)

    @property
    def latex(self) -> str:
        """The problem as LaTeX; "" where it is told in words."""
        rows = " \\\\\n".join(self._rows)
        return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}" if rows else ""

    @property
    def equations(self) -> list[str]:
        """The problem as plain text."""
        if self._rows:
            return [docstrings.plain(row) for row in self._rows]
        parts = re.split(r"\n\s*\n", self._sections["Problem"])
        own = [part for part in parts if all(number in part for number in self._recipe.numbers)]
        lines = [line for part in own for line in part.splitlines()]
        return [re.sub(r":math:`([^`]*)`", lambda m: docstrings.plain(m[1]), line).replace("``", "") for line in lines]

    @property
    def classes(self) -> str:
        """The class of the problem."""
        return " ".join(self._sections.get("Class", "").split())

    @property
    def certificate(self) -> str:
        """What can be proven of an answer."""
        return " ".join(self._sections["Certificate"].split())

    @property
    def weights(self) -> str:
        """Whether class_weight and sample_weight are honoured."""
        return "class_weight and sample_weight are honoured" if self._recipe.weighs else "refused"

    @property
    def source(self) -> str:
        """The paper."""
        return " ".join(self._sections["Source"].split())

    @cached_property
    def parameters(self) -> list[Told]:
        """What it takes."""
        given = inspect.signature(self._recipe.build).parameters
        return [self._told(name, given[name].default) for name in self._recipe.parameters]

    def _told(self, name: str, default: Any) -> Told:
        known = PARAMETERS.get(name)
        build = self._recipe.build
        kind, meaning = docstrings.parameter(build, name)
        either = self._recipe.instead
        rival = either.get(name) or next((mine for mine, other in either.items() if other == name), None)
        needed = "needed" if rival is None else f"this or {rival}"
        text = meaning or (known.help if known else "")
        is_needed = default is inspect.Parameter.empty or rival is not None
        flag = known.flag if known and known.is_switch == isinstance(default, bool) else ""  # not of another kind
        return Told(name, flag, kind, needed if is_needed else repr(default), text.replace("``", ""))

    @cached_property
    def solvers(self) -> Takers | None:
        """Who solves it, read off a small model of it."""
        recipe = self._recipe
        if not recipe.runs_solver:
            return None
        rng = np.random.default_rng(0)
        data = Dataset.from_arrays(rng.normal(size=(8, 3)), [0, 1] * 4).scaled("standard")
        given = {name: TRIED[name] for name, needed in recipe.parameters.items() if needed}
        for first in recipe.instead:
            given.setdefault(first, TRIED[first])
        with without_warnings(Warning):
            own = takers(recipe.model(data, given))
            whole = takers(recipe.model(data, recipe.suited(given, data, "scip", {})))
        return Takers(own.default, own.drivers, whole.whole, whole.local)

    def _by_whom(self) -> list[str]:
        if self.solvers is None:
            return ["a method of its own, which runs no solver"]
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
            "Solved by": self._by_whom(),
            "Class": [self.classes],
            "Certificate": [self.certificate],
            "To read on": [f"help(fs.{module})", self.source],
        }
        return {heading: lines for heading, lines in parts.items() if any(lines)}

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.title}", "", "Problem", *(f"    {line}" for line in self.equations)]
        lines += ["", "Parameters"]
        for told in self.parameters:
            head = f"    {told.name}" + (f" ({told.flag})" if told.flag else "")
            default = told.default if told.default.startswith(("needed", "this or")) else f"default {told.default}"
            lines.append(f"{head}: {default}" + (f"; {told.kind}" if told.kind else ""))
            lines += _wrapped(told.text, 8)
        for heading, texts in self._parts().items():
            lines += ["", heading, *(line for text in texts for line in _wrapped(text, 4))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        problem = f"$$\n{escape(self.latex)}\n$$" if self.latex else "<br>".join(map(escape, self.equations))
        cells = [
            (html.code(told.name), html.code(told.flag), told.default, told.kind, told.text) for told in self.parameters
        ]
        parts = "".join(html.paragraph("; ".join(texts), bold=heading) for heading, texts in self._parts().items())
        table = html.table(cells, ("parameter", "option", "default", "values", ""))
        return f"{html.paragraph(self.title, bold=self.name)}{problem}{table}{parts}"


@dataclass(frozen=True, repr=False)
class Descriptions:
    """All models by name, a line each; ``[name]`` describes one."""

    def __getitem__(self, name: str) -> Description:
        return describe(name)

    def __iter__(self) -> Any:
        return iter(MODELS)

    def __len__(self) -> int:
        return len(MODELS)

    def __repr__(self) -> str:
        width = max(map(len, MODELS))
        lines = [f"{name:<{width}}  {recipe.title}" for name, recipe in MODELS.items()]
        return "\n".join([*lines, "", 'fs.describe("fsp-m") says more of one of them.'])

    def _repr_html_(self) -> str:
        return html.table(((html.code(name), recipe.title) for name, recipe in MODELS.items()), ("model", "what it is"))


def describe(model: str | None = None) -> Any:
    """Describe a model by name: its problem, parameters, solvers, what can be proven, and where to read.

    Parameters
    ----------
    model : str, optional
        One of ``recipes.MODELS``; by default all of them, a line each.

    Returns
    -------
    Description or Descriptions
        Print it, or let Jupyter show it.

    Raises
    ------
    ParameterError
        If the model is not known, with the nearest name and the list.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.describe("svm")
    >>> found.equations[0]
    "min over w, b, xi:  1/2 w'w + C sum_i xi_i   (1)"
    >>> [told.name for told in found.parameters]
    ['C', 'loss', 'sigma']
    """
    return Descriptions() if model is None else Description(find(model).name)


def _wrapped(text: str, indent: int) -> list[str]:
    space = " " * indent
    plain = text.replace("``", "")
    return textwrap.wrap(plain, WIDTH, initial_indent=space, subsequent_indent=space, break_on_hyphens=False)
