"""The table of models by name, ``MODELS``, from the folders that declare them.

The signature of a builder defines the parameters of its model, and the structure that the builder attaches defines the
default solver. A new formulation needs one new specification in its folder.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from fsmodels.baselines import specs as baselines
from fsmodels.errors import ParameterError
from fsmodels.models.concave import specs as concave
from fsmodels.models.fsp import specs as fsp
from fsmodels.models.gmeb import specs as gmeb
from fsmodels.models.kernel import specs as kernel
from fsmodels.models.multivariate import specs as multivariate
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.text import built_model, listed, short

FAMILIES = (fsp, concave, gmeb, multivariate, kernel, baselines)
REFERENCE = re.compile(r"as (?:for|in) ``([\w.]+)``", re.IGNORECASE)  # of a docstring to another function
MODELS: dict[str, ModelSpec] = {spec.name: spec for family in FAMILIES for spec in family.SPECS}


def find(name: str) -> ModelSpec:
    """Return the model with a name. Raises ParameterError, with the nearest name and the list of models."""
    if isinstance(name, str) and name in MODELS:
        return MODELS[name]
    if advice := built_model(name):
        raise ParameterError(advice)
    word = str(name).lower()
    near = [known for known in MODELS if known.startswith(word)] or difflib.get_close_matches(word, MODELS, 1, 0.7)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    plain = word.replace("_", "-").replace(" ", "-")
    if nearest := next((known for known, spec in MODELS.items() if plain in spec.aliases), ""):
        hint = f'For {short(str(name))}, see "{nearest}". '
    raise ParameterError(f'Model "{short(str(name))}" is not known. {hint}Models: {", ".join(MODELS)}.')


def used_parameters(spec: ModelSpec, given: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parameters for the builder; None counts as not given.

    ``others``: further keywords, one of which may be a misspelt parameter. Raises ParameterError: a parameter that the
    model does not use, or a missing one.
    """
    known = spec.parameters
    for name, value in given.items():
        if value is not None and name not in known:
            users = [other for other, r in MODELS.items() if name in r.parameters]
            raise ParameterError(
                f'Model "{spec.name}" does not use {name}: it takes {listed(n for n in known if n in PARAMETERS)}. '
                f"Models that use {name}: {', '.join(users)}.",
                parameter=name,
            )
    for name, required in known.items():
        other = spec.alternatives.get(name)
        if required and given.get(name) is None and (other is None or given.get(other) is None):
            what = meaning(spec, name)
            near = difflib.get_close_matches(name, list(others), n=1, cutoff=0.75)
            hint = f' "{near[0]}" is no parameter of it: did you mean {name}?' if near else ""
            rival = f"; or {other}, {meaning(spec, other)}" if other else ""
            raise ParameterError(f'Model "{spec.name}" needs {name}: {what}{rival}.{hint}', parameter=name)
    used = {name: given[name] for name in known if given.get(name) is not None}
    for name in spec.reported_defaults:
        if name in known:
            used.setdefault(name, spec.default(name))
    return used


def meaning(spec: ModelSpec, parameter: str) -> str:
    """Return the first clause about a parameter in the docstring of the builder, else the help of its option."""
    known = PARAMETERS.get(parameter)
    text = documented(spec.build, parameter)[1] or (known.help if known else "see its documentation")
    clause = re.split(r"[.;] |[.;]$", text.replace("``", ""))[0]
    return clause[:1].lower() + clause[1:] if clause[1:2].islower() else clause


def documented(function: Callable[..., Any], name: str) -> tuple[str, str]:
    """Return the type and the description of a parameter from the docstring of a function; "" if there is none.

    The description is in the numpydoc section, in a sentence after ``name``:, or in the docstring of a function to
    which "as for" or "as in" refers.
    """
    text = inspect.getdoc(function) or ""
    kind, body = _entry(text, name)
    meaning = "" if REFERENCE.match(body) else body
    if not meaning and (sentence := re.search(rf"``{name}``: ([^`]+?\.)(?=\s|$)", text)):
        meaning = " ".join(sentence.group(1).split())
    for path in [*REFERENCE.findall(body), *REFERENCE.findall(text)]:
        if kind and meaning:
            break
        other = attrgetter(path)(sys.modules[inspect.unwrap(function).__module__])
        found = documented(other, name)
        kind, meaning = kind or found[0], meaning or found[1]
    return kind, meaning


def _entry(text: str, name: str) -> tuple[str, str]:
    """Return type and text of a parameter in the section Parameters of a docstring."""
    if section := re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE):
        for head, body in re.findall(r"^(\S[^\n]*)\n((?:(?: +[^\n]*)?\n?)*)", section.group(1), re.MULTILINE):
            names, _, kind = head.partition(" : ")
            if name in names.split(", "):
                return kind.strip(), " ".join(body.split())
    return "", ""
