"""The page of a model for a notebook or a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyomo.core.base.block import BlockData

from solvers.errors import ModelError
from solvers.facts.base import facts_of
from solvers.html import Raw, escaped, mathematics, paragraph, table
from solvers.shown.statement import Equation, statement

__all__ = ["ShownModel", "show", "shows_itself"]


@dataclass(frozen=True, repr=False, eq=False)
class ShownModel:
    """A model as it stands: equation by equation in Jupyter, a line a component in a terminal.

    Attributes
    ----------
    model : pyo.ConcreteModel
    equations : list of Equation
        ``kind``, ``name``, ``latex``, ``size`` (members that are switched on), ``doc``, ``remark`` and ``active``: read
        when first asked for.
    """

    model: Any

    @cached_property
    def equations(self) -> list[Equation]:
        """The lines of the page."""
        return statement(self.model)

    @property
    def headline(self) -> str:
        """Name and size."""
        rows = sum(line.size for line in self.equations if line.kind == "rows")
        variables = sum(line.size for line in self.equations if line.kind == "variables")
        binary = sum(line.size for line in self.equations if r"\{0, 1\}" in line.latex and line.kind == "variables")
        whole = f", {binary:,} of them 0/1" if binary else ""
        return f"{variables:,} variables{whole}, {rows:,} rows."

    @property
    def unstated(self) -> str:
        """Which rows the model leaves to a driver; empty where it states all."""
        facts = facts_of(self.model)
        return "" if facts is None or not facts.implicit else f"Rows besides these are left to {facts.implicit}."

    def __repr__(self) -> str:
        lines = [f"{self.model.name}: {self.headline}", *([self.unstated] if self.unstated else [])]
        for line in self.equations:
            words = "; ".join(word for word in (line.doc, line.remark) if word)
            lines.append(f"  {line.kind:<10}  {line.name:<18} {line.size:>7,}  {words}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for line in self.equations:
            said = mathematics(line.latex) if line.latex else ""
            remark = f"<b>{escaped(line.remark)}</b>" if line.remark else ""
            words = [escaped(line.doc), remark]
            style = "" if line.active else ' style="opacity: 0.45"'
            rows.append(
                (
                    Raw(f"<span{style}>{said}</span>"),
                    "" if line.kind == "parameters" and line.size == 1 else f"{line.size:,}",
                    Raw(f"<code>{escaped(line.name)}</code>"),
                    Raw("; ".join(word for word in words if word)),
                )
            )
        note = paragraph(self.unstated) if self.unstated else ""
        body = table(rows, ("", "size", "component", ""), right=[1])
        return f"{paragraph(self.headline, f'{self.model.name}:')}{note}{body}"

    def _repr_latex_(self) -> str:
        lines = [line.latex for line in self.equations if line.kind in ("objective", "rows", "other") and line.latex]
        return "$$\\begin{array}{l} " + r" \\ ".join(lines) + " \\end{array}$$"


def show(model: Any) -> ShownModel:
    r"""Show a model as mathematics: its objective and rows as they stand now, with sizes, domains and parameters.

    All is read from the live model: rows that were added, changed or switched off stand there and are marked, of any
    Pyomo model. In Jupyter a model of this package that ends a cell is shown so without being asked.

    Parameters
    ----------
    model : pyo.ConcreteModel

    Returns
    -------
    ShownModel
        ``print`` gives a line a component, Jupyter rendered mathematics.

    Raises
    ------
    ModelError
        What is given is no model.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> from solvers import show
    >>> model = pyo.ConcreteModel("knapsack")
    >>> model.x = pyo.Var(range(5), domain=pyo.Binary, doc="packed")
    >>> model.weight = pyo.Constraint(expr=sum((k + 2) * model.x[k] for k in range(5)) <= 7)
    >>> print(show(model))
    knapsack: 5 variables, 5 of them 0/1, 1 rows.
      rows        weight                   1
      variables   x                        5  packed
    >>> show(model).equations[0].latex
    '\\sum_{k} a_{k} \\, x_{k} \\le 7'
    """
    if not isinstance(model, BlockData):
        raise ModelError(f"show needs a Pyomo model and got {type(model).__name__}: give what a builder returned.")
    return ShownModel(model)


def shows_itself(model: Any) -> bool:
    """Tell whether a model is shown without being asked: one that a builder attached facts to."""
    return facts_of(model) is not None
