r"""Linear rows over the features of a model, with a text form.

A row relates switches and weights of features. A name alone is the switch sigma of a feature, 1 if it is selected;
``w[name]`` is its weight for the scaled data::

    slope <= oldpeak                slope only together with oldpeak
    2 thal + ca <= 2                coefficients, with or without *
    1 <= age + sex + chol <= 2      one or two of three features
    w[age] >= 0                     the weight of age is not negative
    `mean radius` + area <= 1       other names in backticks, as in DataFrame.query

The relations are ``<=``, ``>=`` and ``==``. Both sides may have names and constants. A backtick
inside a name is doubled.

``fs.select(data, rows=["slope <= oldpeak"])`` and ``--row "slope <= oldpeak"`` accept the text. ``parse`` returns the
constraint for a built model.

Examples
--------
>>> import fsmodels as fs
>>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
>>> model.mine = fs.rows.parse("sgpt <= sgot", model)
>>> print(model.mine.expr)
sigma[sgpt]  <=  sigma[sgot]
>>> str(fs.rows.Row.parse("2*sgpt + mcv<=2", ["mcv", "sgpt"]))
'2 sgpt + mcv <= 2'
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import pyomo.environ as pyo

from fsmodels.errors import DataError, InfeasibleParameter, ModelError, ParameterError
from fsmodels.text import check_known_features

__all__ = ["Row", "parse"]
__dir__ = __all__.copy  # what <TAB> offers

NAME = r"[^\W\d]\w*"
QUOTED = rf"(?:{NAME}|`(?:[^`]|``)+`)"
TERM = re.compile(
    r"\s*(?P<sign>[-+])?\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<times>\*)?)?\s*"
    rf"(?:(?P<variable>w|sigma)\s*(?P<open>\[)\s*(?P<inside>{QUOTED})?\s*(?P<close>\])?|(?P<name>{QUOTED}))?\s*"
)
RELATION = re.compile("<=|>=|==|<|>|!=|=")
INSTEAD = {
    "<": "strict inequalities are not supported: write <=",
    ">": "strict inequalities are not supported: write >=",
    "=": "an equation is written ==",
    "!=": "!= is not linear: use <=, >= or ==",
    "*": "a coefficient comes before the name: write 2 name",
    "(": "parentheses are not supported: multiply out",
    ")": "parentheses are not supported: multiply out",
    "/": "division is not supported: write a decimal number",
    "`": "the closing backtick is missing: write `name`",
}


class Term(NamedTuple):
    """A coefficient times ``sigma`` or ``w`` of a feature; a constant if ``variable`` is empty."""

    coefficient: float
    variable: str = ""
    feature: str = ""


Expression = tuple[Term, ...]


@dataclass(frozen=True)
class Row:
    """A linear relation over switches and weights of features.

    ``sides``: two sums of terms, or three of which the first and the last are constant. ``relation``: "<=", ">=" or
    "==", between consecutive sides.
    """

    sides: tuple[Expression, ...]
    relation: str

    @staticmethod
    def parse(text: str, features: Iterable[str]) -> Row:
        """Return the row of a text.

        Raises ParameterError: a syntax error; the message contains the position. Raises DataError: a name is not a
        feature.

        >>> Row.parse("a < b", ["a", "b"])
        Traceback (most recent call last):
        ...
        fsmodels.errors.ParameterError: Row "a < b", position 3: strict inequalities are not supported: write <=.
        """
        return _Parser(text, list(features)).row()

    @staticmethod
    def of(
        terms: Mapping[str, float], relation: str, other: Mapping[str, float] | float = 0.0, variable: str = "sigma"
    ) -> Row:
        """Return the row between coefficients by feature and a number or further coefficients."""
        sides = [
            tuple(Term(float(c), variable, name) for name, c in side.items())
            if isinstance(side, Mapping)
            else (Term(float(side)),)
            for side in (terms, other)
        ]
        return Row(tuple(sides), relation)

    @property
    def on_sigma(self) -> bool:
        """True if the row contains a switch."""
        return any(term.variable == "sigma" for side in self.sides for term in side)

    @property
    def on_weights(self) -> bool:
        """True if the row contains a weight."""
        return any(term.variable == "w" for side in self.sides for term in side)

    def __str__(self) -> str:
        return f" {self.relation} ".join(map(_text, self.sides))

    def renamed(self, names: Mapping[str, str]) -> Row:
        """Return the row on the switches of other features, by the names of the present ones."""
        sides = ((t._replace(feature=names.get(t.feature, t.feature)) for t in side) for side in self.sides)
        return Row(tuple(map(tuple, sides)), self.relation)

    def restricted(self, features: Collection[str]) -> Row | None:
        """Return the row on the weights of a classifier that uses exactly these features; None if it is constant."""
        sides = []
        for side in self.sides:
            selected = sum(
                t.coefficient for t in side if t.variable != "w" and (not t.variable or t.feature in features)
            )
            terms = tuple(term for term in side if term.variable == "w" and term.feature in features)
            sides.append((*terms, Term(selected)) if selected or not terms else terms)
        row = Row(tuple(sides), self.relation)
        return row if row.on_weights else None

    def expression(self, variables: Mapping[str, Any]) -> Any:
        """Return the relational expression on the variables of a model, by "sigma" and "w".

        Continuous switches (r of FSL) become binary if rounding them down could violate the row.
        """
        for name in self._violated_by_rounding() if "sigma" in variables else ():
            if not binary(variables["sigma"][name]):
                variables["sigma"][name].domain = pyo.Binary
        sides = [
            pyo.quicksum(_product(term, variables[term.variable][term.feature]) for term in side if term.variable)
            + math.fsum(term.coefficient for term in side if not term.variable)
            for side in self.sides
        ]
        if self.relation == "==":
            return sides[0] == sides[1]
        return pyo.inequality(*(sides if self.relation == "<=" else reversed(sides)))

    def _violated_by_rounding(self) -> set[str]:
        """Return the switches that must be binary if fractions of sigma are rounded down to 0.

        Let the row be ``sum of a_j sigma_j <= d``. Rounding cannot violate it if no a_j is negative, if all positive
        a_j together are at most d, if the row forces each sigma_j with a_j < 0 to 1, or if it is ``sum of
        a_j sigma_j <= c sigma_k`` with each a_j >= c > 0.
        """
        names: set[str] = set()
        for one, other in pairwise(self.sides):
            for sign in {"<=": (1,), ">=": (-1,), "==": (1, -1)}[self.relation]:
                total, limit = _difference(one, other)
                switched = {name: sign * c for (variable, name), c in total.items() if variable == "sigma"}
                negative = {name: c for name, c in switched.items() if c < 0}
                least = -sum(negative.values())
                positive = [c for c in switched.values() if c > 0]
                safe = sum(positive) <= sign * limit or sign * limit <= -least
                safe |= not limit and len(negative) == 1 and all(c >= least for c in positive)
                if self.on_weights or not safe:
                    names |= negative.keys()
        return names


def _difference(one: Expression, other: Expression) -> tuple[dict[tuple[str, str], float], float]:
    """Return the coefficients of ``one - other`` by variable and feature, and the constant of ``other - one``."""
    total: dict[tuple[str, str], float] = {}
    for sign, side in ((1, one), (-1, other)):
        for term in side:
            key = (term.variable, term.feature)
            total[key] = total.get(key, 0.0) + sign * term.coefficient
    return total, -total.pop(("", ""), 0.0)


def _product(term: Term, variable: Any) -> Any:
    return variable if term.coefficient == 1 else term.coefficient * variable


def _text(side: Expression) -> str:
    """Return a side of a row as text that ``Row.parse`` reads."""
    words = ""
    for term in side:
        sign = ("-" if not words else " - ") if term.coefficient < 0 else (" + " if words else "")
        name = term.feature if re.fullmatch(NAME, term.feature) else f"`{term.feature.replace('`', '``')}`"
        name = f"w[{name}]" if term.variable == "w" else name
        size = abs(term.coefficient)
        number = repr(size).removesuffix(".0") if size != 1 or not term.variable else ""
        words += sign + " ".join(part for part in (number, name if term.variable else "") if part)
    return words


class _Parser:
    """Parser of one row."""

    def __init__(self, text: str, features: Sequence[str]) -> None:
        if not isinstance(text, str):
            raise ParameterError(f'rows: got {type(text).__name__}: give text, for example "slope <= oldpeak".')
        self.text, self.features = text, features

    def row(self) -> Row:
        """Return the row. Raises ParameterError, DataError."""
        sides: list[list[Term]] = [[]]
        relations, at = [], 0
        while True:
            term, end = self._term(at)
            sides[-1].append(term)
            if end == len(self.text):
                break
            if relation := RELATION.match(self.text, end):
                if relation[0] in INSTEAD:
                    raise self._error(INSTEAD[relation[0]], end)
                relations.append(relation[0])
                sides.append([])
                end = relation.end()
            elif self.text[end] not in "+-":
                missing = "a sign (+ or -) or a relation (<=, >= or ==) is missing" + self._backticks(at)
                raise self._error(self._instead(end) or missing, end)
            at = end
        if not relations:
            raise self._error("there is no relation: write <=, >= or == and the other side", len(self.text))
        row = Row(tuple(map(tuple, sides)), relations[0])
        constant = [not any(term.variable for term in side) for side in sides]
        chain = constant == [True, False, True] and relations in (["<="] * 2, [">="] * 2)
        if len(sides) > 2 and not chain:
            raise self._error("a chain has the form 1 <= a + b <= 2: write several rows", 0)
        ends = [sum(term.coefficient for term in row.sides[k]) for k in (0, -1)]
        if chain and (ends[0] > ends[1] if row.relation == "<=" else ends[0] < ends[1]):
            raise InfeasibleParameter(f"{self._where(0)}: no number is between {ends[0]:g} and {ends[1]:g}.")
        if not any(any(_difference(one, other)[0].values()) for one, other in pairwise(row.sides)):
            raise self._error("no feature remains in the row", 0)
        return row

    def _term(self, at: int) -> tuple[Term, int]:
        """Return the term at a position, and the position after it."""
        found = TERM.match(self.text, at)
        assert found is not None  # the pattern also matches empty text
        part, end = found.groupdict(), found.end()
        sign, number = -1.0 if part["sign"] == "-" else 1.0, float(part["number"] or 1)
        if not math.isfinite(number):
            raise self._error("the number is too large", found.start("number"))
        if part["open"] and not part["inside"]:
            raise self._error("a feature is missing", found.end("open"))
        if part["open"] and not part["close"]:
            raise self._error(f"the ] after {part['variable']}[{part['inside']} is missing", end)
        quoted = part["inside"] or part["name"]
        if quoted:
            name = quoted[1:-1].replace("``", "`") if quoted.startswith("`") else quoted
            start = found.start("inside" if part["inside"] else "name")
            if name not in self.features:
                if hint := self._backticks(start):
                    raise DataError(f'{self._where(start)}: "{name}" is not a feature of the data{hint}.')
                check_known_features([name], self.features, self._where(start))
            return Term(sign * number, part["variable"] or "sigma", name), end
        if not part["number"] or part["times"]:
            missing = "a feature is missing" if part["number"] else "a feature or a number is missing"
            raise self._error(self._instead(end) or missing, end)
        return Term(sign * number), end

    def _instead(self, at: int) -> str:
        """Return the advice for a character that is not allowed; "" for other characters."""
        character = self.text[at : at + 1]
        if character in ("*", "(", ")", "/", "`"):
            return INSTEAD[character]
        allowed = not character or character.isalnum() or character in "_.+-<>=!"
        return "" if allowed else f'"{character}" is not allowed'

    def _backticks(self, at: int) -> str:
        """Return a hint if the text continues with a feature that needs backticks."""
        text = self.text[at:].lstrip("+- ")
        names = (name for name in self.features if not re.fullmatch(NAME, name) and text.startswith(name))
        return next((f": write `{name}` in backticks" for name in names), "")

    def _where(self, at: int) -> str:
        return f'Row "{self.text}", position {at + 1}'

    def _error(self, what: str, at: int) -> ParameterError:
        return ParameterError(f"{self._where(at)}: {what}.")


def parse(text: str, model: pyo.ConcreteModel) -> pyo.Constraint:
    """Return the constraint of a text, to be assigned to the model.

    Raises ParameterError, DataError, ModelError: as ``Row.parse``; the model has no switches or weights of features.

    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.mine = fs.rows.parse("2 sgpt + mcv <= 2", model)
    >>> model.up = fs.rows.parse("w[drinks] >= 0", model)
    """
    variables = model.component("sigma") if isinstance(model, pyo.ConcreteModel) else None
    row = Row.parse(text, [str(name) for name in (weights(model) if variables is None else variables)])
    return constraint(model, row, str(row))


def constraint(model: pyo.ConcreteModel, rows: Row | Mapping[Any, Row], doc: str) -> pyo.Constraint:
    """Return the constraint of one row, or the indexed constraint of several.

    Raises ModelError: the model has no switches or weights.
    """
    variables = _variables(model, [rows] if isinstance(rows, Row) else rows.values())
    if isinstance(rows, Row):
        return pyo.Constraint(expr=rows.expression(variables), doc=doc)

    def rule(m: pyo.ConcreteModel, *index: Any) -> Any:
        return rows[index if len(index) > 1 else index[0]].expression(variables)

    return pyo.Constraint(list(rows), rule=rule, doc=doc)


def _variables(model: pyo.ConcreteModel, rows: Iterable[Row]) -> dict[str, Any]:
    """Return the variables of a model that rows use, by kind. Raises ModelError, DataError: they do not exist."""
    rows = list(rows)
    found = {"sigma": switches(model)} if any(row.on_sigma for row in rows) else {}
    found |= {"w": weights(model)} if any(row.on_weights for row in rows) else {}
    for row in rows:
        for term in (term for side in row.sides for term in side if term.variable):
            if term.feature not in found[term.variable]:
                check_known_features([term.feature], list(found[term.variable]), f'Row "{row}"')
    return found


def switches(model: pyo.ConcreteModel) -> Any:
    """Return ``model.sigma``. Raises ModelError: it does not exist, or its values do not define a selection."""
    advice = "use fsp_m or fsp_lambda, or state the constraint on other variables of the model."
    sigma = _component(model, "sigma", f"has no sigma, so there is no selection to constrain: {advice}")
    scaling = next((s for s in sigma.values() if not binary(s)), None)
    if scaling is not None and not _is_step(model):
        raise ModelError(
            f'sigma of model "{model.name}" is not binary ("{scaling.name}" is continuous), so rows on it do not '
            "restrict the selection: use fsp_m, fsp_lambda or fs, where sigma is binary."
        )
    return sigma


def weights(model: pyo.ConcreteModel) -> Any:
    """Return ``model.w``. Raises ModelError: it does not exist."""
    return _component(model, "w", "has no weights w of features to constrain: use a linear model, such as fsp_m.")


def _component(model: Any, name: str, message: str) -> Any:
    found = model.component(name) if isinstance(model, pyo.ConcreteModel) else None
    if found is None:
        raise ModelError(f'Model "{getattr(model, "name", type(model).__name__)}" {message}')
    return found


def binary(s: Any) -> bool:
    """Return True if a switch is a binary variable, fixed or free."""
    return s.is_variable_type() and s.is_integer() and s.bounds in ((0, 1), (0, 0), (1, 1))


def _is_step(model: pyo.ConcreteModel) -> bool:
    """Return True if the complementarity constraints (13) of FSL set sigma to 1 for used features."""
    return all(model.component(name) is not None for name in ("r", "step_where_used", "used_where_step"))
