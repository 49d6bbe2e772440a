"""A model, component by component: what it says, how many rows that is, and what the user changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.relational_expr import EqualityExpression, RangedExpression
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity

from solvers.facts.base import facts_of
from solvers.shown.families import Letters, family, one
from solvers.shown.symbols import signed, symbol, upright
from solvers.shown.terms import Term, TermReader, indexed

SHOWN = 3  # members written one by one where they are not alike
COMPARED = 20_000  # terms of a family that are read


@dataclass(frozen=True)
class Equation:
    r"""One line: name, LaTeX (lines parted by ``\\``), members, the builder's words, and what the user changed."""

    kind: str  # "objective", "rows", "variables", "parameters", "other"
    name: str
    latex: str
    size: int
    doc: str = ""
    remark: str = ""
    active: bool = True


def statement(model: Any) -> list[Equation]:
    """Return the lines of a model: objectives, rows, other components, variables, parameters."""
    return list(_Statement(model).lines())


class _Statement:
    def __init__(self, model: Any) -> None:
        self.model = model
        names = {c.local_name for c in model.component_objects((pyo.Var, pyo.Param), descend_into=True)}
        self.letters = Letters({symbol(name) for name in names})
        self.reader = TermReader(_aliases(model))
        facts = facts_of(model)
        certificate = getattr(facts, "certificate", None)
        built = getattr(certificate, "built", None) or getattr(facts, "built", None)
        self.built = built
        self.rows = {} if built is None else built.said_by_rows()
        self.whole = getattr(certificate, "built", None) is not None  # all rows are remembered

    def lines(self) -> Iterator[Equation]:
        """Return the lines in the order of a page."""
        for objective in self._components(pyo.Objective):
            yield self._objective(objective)
        for row in self._components(pyo.Constraint):
            yield self._rows(row)
        for choice in self._components(Disjunction):
            yield self._disjunction(choice)
        for pair in self._components(Complementarity):
            yield self._line(pair, lambda part: [_relation(side) for side in part._args])
        for ordered in self._components(pyo.SOSConstraint):
            yield self._line(ordered, lambda part: [((), [v]) for v in part.variables])
        for logical in self._components(pyo.LogicalConstraint):
            said = [rf"\mathrm{{{upright(part.expr)}}}" for part in self._members(logical)[:SHOWN]]
            yield self._listed("other", logical, r" \\ ".join(said))
        for v in self._components(pyo.Var):
            yield self._variables(v)
        for p in self._components(pyo.Param):
            if p.mutable:
                yield self._parameter(p)

    def _components(self, kind: Any) -> Iterator[Any]:
        """Return components of a kind in the model's order, those of an indexed block once."""
        met: set[tuple[int, str]] = set()
        for c in self.model.component_objects(kind, descend_into=pyo.Block, sort=False):
            block = c.parent_block()
            home = block.parent_component() if block is not None else None
            key = (id(home), c.local_name)
            if home is not None and home.is_indexed():
                if key in met:
                    continue
                met.add(key)
            yield c

    def _siblings(self, component: Any) -> list[Any]:
        """Return a component with those of the same name in the other members of its block."""
        home = component.parent_block().parent_component() if component.parent_block() is not None else None
        if home is None or not home.is_indexed() or home is component:
            return [component]
        found = [block.component(component.local_name) for block in home.values()]
        return [c for c in found if c is not None and c.ctype is component.ctype]

    def _members(self, component: Any) -> list[Any]:
        return [part for c in self._siblings(component) for part in c.values()]

    def _name(self, component: Any) -> str:
        home = component.parent_block().parent_component() if component.parent_block() is not None else None
        if home is not None and home.is_indexed():
            return f"{home.name}[...].{component.local_name}"
        return str(component.name)

    def _objective(self, objective: Any) -> Equation:
        parts = self._members(objective)
        senses = {pyo.minimize: r"\min", pyo.maximize: r"\max"}
        told = [rf"{senses[part.sense]}\; {one(self.terms(part.expr), self.letters)}" for part in parts[:SHOWN]]
        remark = ""
        if self.built is not None and parts and parts[0] is self.built.objective:
            remark = "" if parts[0].expr is self.built.cost else "changed"
        elif self.built is not None:
            remark = "added"
        off = not any(part.active for part in parts)
        return Equation(
            "objective", self._name(objective), r" \\ ".join(told), len(parts), objective.doc or "",
            _and(remark, "switched off" if off else ""), not off,
        )  # fmt: skip

    def terms(self, expression: Any) -> list[Term]:
        """Read an expression."""
        return self.reader.terms(expression)

    def _rows(self, row: Any) -> Equation:
        """Return rows; those that the user changed stand beside what is left of the family."""
        parts = self._members(row)
        remark = ""
        if self.whole and parts and not any(id(part) in self.rows for part in parts):
            remark = "added"
        changed = [part for part in parts if id(part) in self.rows and part.expr is not self.rows[id(part)]]
        if not changed:
            return self._listed("rows", row, self._written([part for part in parts if part.active] or parts), remark)
        alone = {id(part) for part in changed}
        kept = [part for part in parts if part.active and id(part) not in alone]
        told = [self._written(kept)] if kept else []
        told += [self._alone(part) for part in changed[:SHOWN]]
        more = rf"\quad \cdots\; ({len(changed)}\ \mathrm{{changed}})" if len(changed) > SHOWN else ""
        remark = "changed" if len(changed) == len(parts) else f"{len(changed)} of {len(parts)} changed"
        return self._listed("rows", row, r" \\ ".join(told) + more, remark)

    def _listed(self, kind: str, component: Any, latex: str, remark: str = "") -> Equation:
        """Return the line of a component with members that are switched on or off."""
        parts = self._members(component)
        active, off = sum(part.active for part in parts), ""
        if active < len(parts):
            off = f"{len(parts) - active} of {len(parts)} switched off" if active else "switched off"
        doc, remark = component.doc or "", _and(remark, off)
        return Equation(kind, self._name(component), latex, active, doc, remark, bool(active) or not parts)

    def _line(self, component: Any, relations: Callable[[Any], list[tuple[tuple[str, ...], list[Any]]]]) -> Equation:
        """Return the line of pairs that are complementary, or of ordered sets."""
        parts = self._members(component)
        told = []
        for part in parts[:1]:
            sides = [_chain(signs, [one(self.terms(x), self.letters) for x in each]) for signs, each in relations(part)]
            if component.ctype is Complementarity:
                told.append(r" \;\perp\; ".join(sides))
            else:
                told.append(rf"\mathrm{{SOS{part.level}}}\left({', '.join(sides[:6])}\right)")
        more = rf"\quad \cdots\; ({len(parts)}\ \mathrm{{in\ all}})" if len(parts) > 1 else ""
        return self._listed("other", component, "".join(told) + more)

    def _written(self, parts: list[Any]) -> str:
        """Return the equation of rows, as one where they are alike."""
        if not parts:
            return ""
        kinds: dict[Any, tuple[list[Any], list[list[list[Term]]]]] = {}
        for part in self._compared(parts):
            signs, sides = _relation(part.expr)
            read = [self.terms(side) for side in sides]
            kind = kinds.setdefault((signs, *(frozenset(t.shape for t in side if t.shape) for side in read)), ([], []))
            kind[0].append(part)
            kind[1].append(read)
        told: list[str] = []
        for (signs, *_), (alike, members) in kinds.items():
            found = family(members, self.letters)
            if found is None:
                told += [self._alone(part) for part in alike[:SHOWN]]
            else:
                count = len(parts) if len(kinds) == 1 else len(alike)
                told.append(_chain(signs, found[0]) + self._for_all(found[1], count))
        more = rf"\quad \cdots\; ({len(parts)}\ \mathrm{{in\ all}})" if len(told) > SHOWN else ""
        return r" \\ ".join(told[:SHOWN]) + more

    def _compared(self, parts: list[Any]) -> list[Any]:
        """Return the members that are held against one another: all, of very large families some."""
        length = sum(len(self.terms(side)) for side in _relation(parts[0].expr)[1])
        step = -(-len(parts) * length // COMPARED)
        return parts if step <= 1 else [*dict.fromkeys([parts[0], parts[1], *parts[::step], parts[-1]])]

    def _alone(self, part: Any) -> str:
        signs, sides = _relation(part.expr)
        return _chain(signs, [one(self.terms(side), self.letters) for side in sides])

    def _for_all(self, follows: list[str], count: int) -> str:
        if not follows or count == 1:
            return ""
        told = []
        for letter in follows:
            name, size = self.letters.sets.get(letter.rstrip("'"), ("", 0))
            part = rf"\;({count}\ \mathrm{{of}}\ {size})" if len(follows) == 1 and size and count < size else ""
            told.append(rf"{letter} \in \mathrm{{{upright(name)}}}{part}" if name else f"{letter}{part}")
        return r"\quad \forall\, " + r",\; ".join(told)

    def _disjunction(self, choice: Any) -> Equation:
        parts = self._members(choice)
        told = [self._alternatives(part) for part in parts[:1]]
        more = rf"\quad \cdots\; ({len(parts)}\ \mathrm{{in\ all}})" if len(parts) > 1 else ""
        return self._listed("other", choice, "".join(told) + more)

    def _alternatives(self, part: Any) -> str:
        """Return the alternatives of a disjunction."""
        told = []
        for disjunct in part.disjuncts:
            rows = [*disjunct.component_data_objects(pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct))]
            said = [self._alone(row) for row in rows[:SHOWN]]
            if id(flag := disjunct.binary_indicator_var) in self.reader.alias:
                said.insert(0, f"{one(self.terms(flag), self.letters)} = 1")
            told.append(r" \wedge ".join(said) or r"\mathrm{true}")
        return (r" \;\veebar\; " if part.xor else r" \;\vee\; ").join(rf"\left[{text}\right]" for text in told)

    def _variables(self, v: Any) -> Equation:
        parts = self._members(v)
        places = [(c, k) for c in _indexed(v) for k in range(_width(c))]
        letter = indexed(symbol(v.local_name), [self.letters.of((c, k, None)) for c, k in places])
        fixed = sum(part.fixed for part in parts)
        remark = f"{'' if fixed == len(parts) else f'{fixed} of {len(parts)} '}fixed" if fixed else ""
        if fixed and len(parts) == 1:
            remark = f"fixed at {pyo.value(parts[0], exception=False)}"
        if self.built is not None and self.whole:
            known = {id(part) for part in self.built.variables}
            new = parts and not v.is_reference() and not any(id(part) in known for part in parts)
            remark = _and("added" if new else "", remark)
        if v.is_reference() and parts and id(parts[0]) not in self.reader.alias:
            remark = _and(f"another name for {parts[0].parent_component().name}", remark)
        return Equation("variables", self._name(v), _domain(letter, parts), len(parts), v.doc or "", remark)

    def _parameter(self, p: Any) -> Equation:
        values = [pyo.value(part, exception=False) for part in p.values()]
        told = ""
        if values and all(isinstance(v, int | float) for v in values):
            low, high = min(values), max(values)
            told = f" = {signed(low)}" if low == high else rf" \in [{signed(low)}, {signed(high)}]"
        places = [(p, k) for k in range(_width(p))] if p.is_indexed() else []
        letter = indexed(symbol(p.local_name), [self.letters.of((c, k, None)) for c, k in places])
        return Equation("parameters", str(p.name), letter + told, len(p), p.doc or "")


def _aliases(model: Any) -> dict[int, tuple[Any, Any]]:
    """Return the names that references give to variables inside disjuncts."""
    found = {}
    for v in model.component_objects(pyo.Var, descend_into=True):
        if v.is_reference():
            for key, part in v.items():
                if part.parent_block().ctype is Disjunct:
                    found[id(part)] = (v, key)
    return found


def _indexed(v: Any) -> list[Any]:
    """Return the indexed components that a variable's indices are of, blocks first."""
    found: list[Any] = []
    part = v
    while part is not None:
        component = part.parent_component()
        if component.is_indexed():
            found.insert(0, component)
        part = component.parent_block()
    return found


def _width(component: Any) -> int:
    first = next(iter(component), None)
    return len(first) if isinstance(first, tuple) else 1


def _relation(said: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Return the signs and sides of a relation as the model says it, a number on the right."""
    if isinstance(said, RangedExpression):
        return (r"\le", r"\le"), list(said.args)
    left, right = said.args
    if isinstance(said, EqualityExpression):
        return ("=",), [right, left] if _is_number(left) and not _is_number(right) else [left, right]
    return ((r"\ge",), [right, left]) if _is_number(left) and not _is_number(right) else ((r"\le",), [left, right])


def _is_number(side: Any) -> bool:
    return not hasattr(side, "is_potentially_variable") or not side.is_potentially_variable()


def _chain(signs: tuple[str, ...], sides: list[str]) -> str:
    text = sides[0]
    for sign, side in zip(signs, sides[1:], strict=True):
        text += f" {sign} {side}"
    return text


def _domain(letter: str, parts: list[Any]) -> str:
    """Return what values variables may take."""
    if not parts:
        return letter
    if all(part.is_binary() for part in parts):
        return rf"{letter} \in \{{0, 1\}}"
    bounds = {(part.lb, part.ub) for part in parts}
    whole = all(part.is_integer() for part in parts)
    kind = r"\mathbb{Z}" if whole else r"\mathbb{R}"
    if len(bounds) > 1:
        return rf"{letter} \in {kind},\; l \le {letter} \le u"
    ((low, high),) = bounds
    if low is None and high is None:
        return rf"{letter} \in {kind}"
    if low is not None and high is not None:
        said = rf"{signed(low)} \le {letter} \le {signed(high)}"
    else:
        said = rf"{letter} \ge {signed(low)}" if high is None else rf"{letter} \le {signed(high)}"
    return said + (r",\; " + rf"{letter} \in \mathbb{{Z}}" if whole else "")


def _and(*words: str) -> str:
    return ", ".join(word for word in words if word)


__all__ = ["Equation", "statement"]
