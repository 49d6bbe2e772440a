"""Replacements for objects of Pyomo that all expression walks of a process share.

Pyomo 6.10 walks expressions with one visitor per process and keeps the parts of the last dense row in an attribute of
its class. Two threads that read two models mix up variables and coefficients, without an error. Importing this module
replaces, for the whole process:

- the visitors of ``identify_variables``, ``identify_mutable_parameters`` and ``evaluate_expression``, and those that
  collect the components of a row for persistent interfaces (highs, gurobi, APPSI): each call has a new one;
- the class of intermediate results that ``generate_standard_repn`` assigns to a global variable, with or without
  quadratic terms: both are the same class, as ``quadratic=False`` reads no attribute that only one of them has;
- the properties ``constant``, ``linear_coefs`` and ``linear_vars`` of ``LinearExpression``, which test the attribute
  of the class and then read it again: they read it once.

Pyomo's temporary files and pauses of the garbage collector are per thread already. Interfaces that redirect the output
of the process run one at a time (``SolverSpec.serialised``). Stale flags of variables are shared by the process, and
nothing here reads them. ``shared_state`` contains the changes of the process that a run makes.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from pyomo.core.expr import visitor as walks
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn import standard_repn

COLLECTORS = {  # module with a visitor -> the method of the visitor that walks
    "pyomo.contrib.appsi.utils.collect_vars_and_named_exprs": "dfs_postorder_stack",
    "pyomo.contrib.observer.component_collector": "walk_expression",
    "pyomo.contrib.solver.common.util": "dfs_postorder_stack",
}


class _Variables(threading.local):
    """Visitor of ``identify_variables``, which assigns both attributes before it walks."""

    _include_fixed, _cache = False, None

    def walk_expression(self, expression: Any) -> Any:
        return walks.IdentifyVariableVisitor(self._include_fixed, self._cache).walk_expression(expression)


class _Parameters:
    """Visitor of ``identify_mutable_parameters``."""

    def walk_expression(self, expression: Any) -> Any:
        return walks.IdentifyMutableParamVisitor().walk_expression(expression)


class _Value(threading.local):
    """Visitor of ``evaluate_expression``, which assigns the attribute before it walks."""

    exception = True

    def dfs_postorder_stack(self, expression: Any) -> Any:
        return walks._EvaluationVisitor(self.exception).dfs_postorder_stack(expression)


def _collector(visitor: Any, method: str) -> Any:
    """Return a collector that walks with a new visitor and keeps the attributes of the last one of its thread."""

    def walk(self: Any, expression: Any) -> None:
        new = type(visitor)()
        getattr(new, method)(expression)
        self.__dict__.update(vars(new))

    return type(type(visitor).__name__, (threading.local,), {method: walk})()


def _part(place: int, doc: str) -> property:
    """Return a property of a dense row that reads the attribute of the class once."""

    def read(row: LinearExpression) -> Any:
        while (held := LinearExpression._cache)[0] is not row:
            row._build_cache()
        return held[place]

    return property(read, doc=doc)


for _name, _method in COLLECTORS.items():
    _module: Any = import_module(_name)
    _module._visitor = _collector(_module._visitor, _method)
walks.identify_variables.visitor = _Variables()
walks.identify_mutable_parameters.visitor = _Parameters()
walks.evaluate_expression.visitor_cache = _Value()
standard_repn.ResultsWithoutQuadratics = standard_repn.ResultsWithQuadratics
for _place, _name in enumerate(("constant", "linear_coefs", "linear_vars"), start=1):
    setattr(LinearExpression, _name, _part(_place, f"The {_name} of the expression."))
