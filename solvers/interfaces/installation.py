"""Installed solvers: their versions, and the names and values of their options.

Programs run at most once per process. Measured with cyipopt 1.7.0 and Ipopt 3.14.11, glpsol 5.0, cbc 2.10.8.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable, Container
from contextlib import suppress
from functools import cache
from tempfile import NamedTemporaryFile
from typing import Any

from pyomo.common.fileutils import Executable, Library
from pyomo.common.tee import capture_output

from solvers.shared_state import search_path_only

_INVALID_OPTION = -12  # Ipopt's return code
_QUIET: dict[str, Container[Any]] = {"print_level": range(6), "print_options_documentation": ["no"]}

for registry in (Executable, Library):
    registry._manager._find = search_path_only(registry._manager._find)


def package(module: str, *distributions: str) -> Callable[[], str | None]:
    """Return a function that returns the version of a Python package, or None.

    Other distributions than those listed may provide the module; the search for them takes 0.4 s. A module without
    metadata has the version "unknown".
    """

    def version() -> str | None:
        if importlib.util.find_spec(module) is None:
            return None
        for distribution in distributions:
            with suppress(importlib.metadata.PackageNotFoundError):
                return importlib.metadata.version(distribution)
        others = importlib.metadata.packages_distributions().get(module, [])
        return importlib.metadata.version(others[0]) if others else "unknown"

    return version


def executable(command: str, flag: str, pattern: str) -> Callable[[], str | None]:
    """Return a function that returns the version of a program on the PATH, or None."""

    def version() -> str | None:
        text = _output(command, flag)
        if text is None:
            return None
        found = re.search(pattern, text, re.MULTILINE)
        return found.group(1) if found else "unknown"

    return version


def _output(command: str, flag: str) -> str | None:
    """Return the output of a program on the PATH, or None. It runs once per process."""
    path = shutil.which(command)
    return None if path is None else _output_of(path, flag)


@cache
def _output_of(path: str, flag: str) -> str | None:
    try:
        done = subprocess.run([path, flag], capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr


class _Square:
    """Problem min x**2 in the form of cyipopt, for the check of options."""

    def objective(self, x: Any) -> float:
        return float(x[0] ** 2)

    def gradient(self, x: Any) -> Any:
        return 2 * x

    def constraints(self, x: Any) -> list[float]:
        return []

    def jacobian(self, x: Any) -> list[float]:
        return []

    def hessianstructure(self) -> tuple[list[int], list[int]]:
        return [0], [0]

    def hessian(self, x: Any, multipliers: Any, factor: float) -> list[float]:
        return [2 * factor]


def cyipopt_accepts(name: str, value: Any) -> Any:
    """Return the value of an option in the type of Ipopt: an integer becomes a float for a real option.

    The exceptions of cyipopt name neither the rejected option nor the reason. Ipopt prints them, for an unusable linear
    solver only during the solve. Therefore the option is tested on a problem of one variable. cyipopt holds the GIL:
    if Ipopt prints more than Pyomo's pipe holds between two calls, both wait forever.
    """
    import cyipopt

    if value not in _QUIET.get(name, [value]):
        raise ValueError("Ipopt would print too much and block: set output_file and file_print_level instead.")

    for attempt in [value, float(value)] if type(value) is int else [value]:
        with capture_output(capture_fd=True) as output:
            problem = cyipopt.Problem(n=1, m=0, problem_obj=_Square(), lb=[-1], ub=[1], cl=[], cu=[])
            try:
                problem.add_option(name, attempt)
            except TypeError:
                continue
            if problem.solve([0.5])[1]["status"] != _INVALID_OPTION:
                return attempt
    text = output.getvalue().split("Exception message:")[-1].strip() or "not accepted"
    raise ValueError(" ".join(text.split("\n\nEXIT")[0].split()))


@cache
def scip_options() -> list[str]:
    """Return SCIP's parameters."""
    import pyscipopt

    return list(pyscipopt.Model().getParams())


@cache
def highs_options() -> list[str]:
    """Return HiGHS' options."""
    from solvers.interfaces.highs import quiet_highs

    highs = quiet_highs()
    with NamedTemporaryFile("r", suffix=".opt") as file:
        highs.writeOptions(file.name)
        return [line.split("=")[0].strip() for line in file if "=" in line and not line.startswith("#")]


@cache
def gurobi_options() -> list[str]:
    """Return Gurobi's parameters."""
    import gurobipy

    return [name for name in dir(gurobipy.GRB.Param) if not name.startswith("_")]


@cache
def ipopt_options() -> list[str]:
    """Return the options of the Ipopt family that can be set on a command line."""
    from pyomo.contrib.solver.solvers.ipopt import ipopt_command_line_options

    return sorted(ipopt_command_line_options)


def cbc_options() -> list[str]:
    """Return all spellings of cbc's commands: ``ratio(Gap)`` can be shortened to any prefix from ``ratio`` on."""
    spellings = []
    for stem, rest in re.findall(r"([A-Za-z]\w*)(?:\((\w+)\))?", _output("cbc", "-?") or ""):
        spellings += [stem + rest[:k] for k in range(len(rest) + 1)]
    return sorted({s.lower() for s in spellings})


def glpk_options() -> list[str]:
    """Return glpsol's long options."""
    return re.findall(r"--(\w+)", _output("glpsol", "--help") or "")
