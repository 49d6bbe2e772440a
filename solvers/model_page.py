r"""The display of a model in a notebook or a terminal: its components, as LaTeX or text, and the changes of the user.

The ``doc`` of a builder's row or objective contains its equation between ``\(`` and ``\)``. Components that the user
has changed or added, and those of other models, are shown by their first row as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.block import BlockData
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.facts.base import facts_of
from solvers.html import Raw, code, escaped, mathematics, paragraph, split_doc, table

__all__ = ["Equation", "ShownModel", "show"]

KINDS = {
    pyo.Objective: "objective",
    pyo.Constraint: "rows",
    Disjunction: "other",
    Complementarity: "other",
    pyo.SOSConstraint: "other",
    pyo.LogicalConstraint: "other",
    pyo.Var: "variables",
    pyo.Param: "parameters",
}
SHOWN = 3  # changed rows
BEGIN, END = 80, 30  # characters of a long row
GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega"
)
SIGNS = {"plus": "+", "minus": "-"}
SENSES = {pyo.minimize: "min", pyo.maximize: "max"}


@dataclass(frozen=True)
class Equation:
    """One line: name, LaTeX or text, number of members, the text of the builder, and the changes of the user."""

    kind: str  # "objective", "rows", "variables", "parameters", "other"
    name: str
    latex: str
    text: str
    size: int
    doc: str = ""
    remark: str = ""
    active: bool = True


@dataclass(frozen=True, repr=False, eq=False)
class ShownModel:
    """The display of a model: a line for each component.

    Attributes
    ----------
    model : pyo.ConcreteModel
    equations : list of Equation
        ``kind``, ``name``, ``latex``, ``text`` (of rows without LaTeX), ``size`` (members that are switched on),
        ``doc``, ``remark`` and ``active``; read when first used.
    """

    model: Any

    @cached_property
    def equations(self) -> list[Equation]:
        """The lines of the page."""
        return list(_equations(self.model))

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
        """The rows that the model leaves to a driver; "" if it states all rows."""
        facts = facts_of(self.model)
        return "" if facts is None or not facts.implicit else f"Further rows are left to {facts.implicit}."

    def __repr__(self) -> str:
        lines = [f"{self.model.name}: {self.headline}", *([self.unstated] if self.unstated else [])]
        for line in self.equations:
            text = _join(*line.text.splitlines(), line.doc, line.remark, by="; ")
            lines.append(f"  {line.kind:<10}  {line.name:<18} {line.size:>7,}  {text}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for line in self.equations:
            shown = [mathematics(line.latex)] if line.latex else []
            shown += [code(text) for text in line.text.splitlines()]
            remark = f"<b>{escaped(line.remark)}</b>" if line.remark else ""
            style = "" if line.active else ' style="opacity: 0.45"'
            rows.append(
                (
                    Raw(f"<span{style}>{'<br>'.join(shown)}</span>"),
                    "" if line.kind == "parameters" and line.size == 1 else f"{line.size:,}",
                    code(line.name),
                    Raw(_join(escaped(line.doc), remark, by="; ")),
                )
            )
        note = paragraph(self.unstated) if self.unstated else ""
        body = table(rows, ("", "size", "component", ""), right=[1])
        return f"{paragraph(self.headline, f'{self.model.name}:')}{note}{body}"


def show(model: Any) -> ShownModel:
    r"""Show the components of a model, with sizes, domains, parameters and changes.

    The rows of a model of this package are shown as LaTeX, and those that were added, changed or deactivated are
    marked. Added and changed components, and those of other Pyomo models, are shown as text: the first row of each. In
    Jupyter a model of this package at the end of a cell is displayed in this way.

    Parameters
    ----------
    model : pyo.ConcreteModel

    Returns
    -------
    ShownModel
        ``print`` writes one line for each component; Jupyter renders the mathematics.

    Raises
    ------
    ModelError
        If the argument is not a model.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> from solvers import show
    >>> model = pyo.ConcreteModel("knapsack")
    >>> model.x = pyo.Var(range(5), domain=pyo.Binary, doc="packed")
    >>> model.weight = pyo.Constraint(expr=sum((k + 2) * model.x[k] for k in range(5)) <= 7)
    >>> print(show(model))
    knapsack: 5 variables, 5 of them 0/1, 1 rows.
      rows        weight                   1  2*x[0] + 3*x[1] + 4*x[2] + 5*x[3] + 6*x[4] <= 7
      variables   x                        5  packed
    """
    if not isinstance(model, BlockData):
        raise ModelError(f"show needs a Pyomo model and got {type(model).__name__}: give what a builder returned.")
    return ShownModel(model)


def _equations(model: Any) -> Iterator[Equation]:
    """Yield the lines in the order of a page; components of the same name in an indexed block are one line."""
    for ctype, kind in KINDS.items():
        siblings: dict[Any, list[Any]] = {}
        for component in model.component_objects(ctype, descend_into=pyo.Block):
            if kind != "parameters" or component.mutable:
                home = component.parent_block().parent_component()
                siblings.setdefault((id(home), component.local_name), []).append(component)
        for components in siblings.values():
            yield _equation(kind, components, model)


def _equation(kind: str, components: list[Any], model: Any) -> Equation:
    """Return the line of a component, or of its siblings in an indexed block."""
    first, home, facts = components[0], components[0].parent_block(), facts_of(model)
    name = first.name if len(components) == 1 else f"{home.parent_component().name}[...].{first.local_name}"
    parts = [part for component in components for part in component.values()]
    as_built = facts is not None and (home is not model or facts.built_components.get(first.local_name) is first)
    added = "" if as_built or facts is None else "added"
    doc, latex = split_doc(first.doc or "")
    if kind == "variables":
        return Equation(kind, name, _domain(first, parts), "", len(parts), doc, _join(added, _state(first, parts)))
    if kind == "parameters":
        return Equation(kind, name, _values(first), "", len(parts), doc, added)
    changed = [] if facts is None else [part for part in parts if facts.has_changed(part)]
    if not as_built or (changed and len(changed) == len(parts)):
        latex = ""
    elif kind == "objective":
        latex = rf"\{SENSES[first.sense]}\; {latex}"
    text = [_text(part) for part in changed[:SHOWN] or ([] if latex else parts[:1])]
    if not as_built and first.is_indexed() and all(s.parent_block() for s in first.index_set().subsets()):
        text.append(f"for each of {first.index_set()}")
    active = sum(part.active for part in parts)
    off = _count(len(parts) - active, len(parts), "switched off")
    remark = _join(added, _count(len(changed), len(parts), "changed"), off)
    return Equation(kind, name, latex, "\n".join(text), active, doc, remark, bool(active) or not parts)


def _text(part: Any) -> str:
    """Return a row, objective or other component as text; long text is shortened in the middle."""
    if part.ctype is Disjunction:
        rows = ([str(row.expr) for row in each.component_data_objects(pyo.Constraint)] for each in part.disjuncts)
        text = " or ".join(f"[{', '.join(each)}]" for each in rows)
    elif part.ctype is pyo.SOSConstraint:
        text = f"SOS{part.level}({', '.join(v.name for v in part.variables)})"
    elif part.ctype is Complementarity:
        text = " _|_ ".join(map(str, part._args))
    else:
        text = f"{SENSES[part.sense] if part.ctype is pyo.Objective else ''} {part.expr}"
    text = " ".join(text.split())
    return text if len(text) <= BEGIN + END else f"{text[:BEGIN]} ... {text[-END:]}"


def _domain(v: Any, parts: list[Any]) -> str:
    """Return the domain of variables as LaTeX."""
    letter, power = symbol(v.local_name), f"^{{{len(parts)}}}" if v.is_indexed() else ""
    if not parts:
        return letter
    if all(part.is_binary() for part in parts):
        return rf"{letter} \in \{{0, 1\}}{power}"
    bounds = {(part.lb, part.ub) for part in parts}
    low, high = map(number, bounds.pop()) if len(bounds) == 1 else ("l", "u")
    limits = rf"{letter} \le {high}" if high else rf"{letter} \ge {low}" if low else ""
    limits = rf"{low} \le {limits}" if low and high else limits
    integer = all(part.is_integer() for part in parts)
    member = rf"{letter} \in \mathbb{{{'Z' if integer else 'R'}}}{power}" if integer or not limits else ""
    return _join(limits, member, by=r",\; ")


def _state(v: Any, parts: list[Any]) -> str:
    """Return the number of fixed variables, and the component to which a reference refers."""
    fixed = sum(part.fixed for part in parts)
    remark = _count(fixed, len(parts), "fixed")
    if fixed and len(parts) == 1:
        remark = f"fixed at {pyo.value(parts[0], exception=False)}"
    if v.is_reference() and parts and parts[0].parent_block().ctype is not Disjunct:
        remark = _join(f"another name for {parts[0].parent_component().name}", remark)
    return remark


def _values(p: Any) -> str:
    """Return the value of a parameter, or the range of its values, as LaTeX."""
    letter, values = symbol(p.local_name), [pyo.value(part, exception=False) for part in p.values()]
    if not values or not all(isinstance(value, int | float) for value in values):
        return letter
    low, high = number(min(values)), number(max(values))
    return f"{letter} = {low}" if low == high else rf"{low} \le {letter} \le {high}"


def _count(count: int, of: int, what: str) -> str:
    """Return "what" if the count is all, "1 of 6 what" if it is a part, and "" for 0."""
    return "" if not count else what if count == of else f"{count} of {of} {what}"


def _join(*texts: str, by: str = ", ") -> str:
    return by.join(text for text in texts if text)


def symbol(name: str) -> str:
    r"""Return the name of a component as LaTeX; names that are not letters are upright.

    >>> symbol("sigma"), symbol("R_plus"), symbol("w_s"), symbol("only_selected")
    ('\\sigma', 'R_{+}', 'w_{s}', '\\mathrm{only\\_selected}')
    """
    head, _, tail = name.partition("_")
    if tail and "_" not in tail and (head in GREEK.split() or len(head) == 1):
        return f"{symbol(head)}_{{{SIGNS.get(tail) or symbol(tail)}}}"
    if name in GREEK.split():
        return f"\\{name}"
    if name.isdigit() or (len(name) == 1 and name.isalpha()):
        return name
    text = "".join(c if c.isalnum() else r"\_" if c == "_" else r"\ " for c in name)
    return rf"\mathrm{{{text}}}"


def number(x: float | None) -> str:
    r"""Return a number as LaTeX, "" for None.

    >>> number(0.5), number(-3.0), number(2.5e-9)
    ('0.5', '-3', '2.5 \\cdot 10^{-9}')
    """
    mantissa, _, power = ("" if x is None else f"{x:.4g}").partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa
