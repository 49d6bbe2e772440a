"""Rows that ``select`` stated, in the words that asked for them: messages of solvers name components of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fsmodels.selection.sides import KINDS, ONCE

__all__ = ["as_words", "words_of"]

ROW = re.compile(r'"([^"]+)"')


def as_words(text: str, parameters: Mapping[str, Any]) -> str:
    """Return a message with ``force_in=["a"]`` for ``"force_in[a]"``, and so on; the rest as it is.

    ``parameters``: of a selection, with its side constraints.
    """
    words = dict(_rows(parameters))
    told = ROW.sub(lambda found: words.get(found[1], found[0]), text)
    return told if told == text else told.replace("Relax or deactivate one", "Relax or leave out one")


def words_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return component of the model -> the words of ``select`` for it."""
    return {row: words for row, words in _rows(parameters) if "[" not in row}


def _rows(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each row, or of all of a component, and the words of ``select`` for it."""
    if (most := parameters.get("max_features")) is not None:
        yield "cardinality", f"max_features={most}"
    met: dict[str, int] = {}
    for kind in KINDS:
        told = parameters.get(kind)
        if not told or (kind == "budget" and not isinstance(told, list)):
            continue
        for one in [told] if kind in ONCE else told:
            base = _name(kind, one)
            met[base] = met.get(base, 0) + 1
            name = base if met[base] == 1 else f"{base}_{met[base]}"
            yield from _of(kind, name, one)


def _name(kind: str, told: Any) -> str:
    """Return what ``sides`` calls it."""
    if kind in ("requires", "excludes"):
        return f"{kind}_{told[0]}_{told[1]}"
    return f"fair_{told['by']}" if kind == "fair" else kind


def _of(kind: str, name: str, told: Any) -> Iterator[tuple[str, str]]:
    if kind in ("force_in", "force_out"):
        for feature in told:
            yield f"{name}[{feature}]", f'{kind}=["{feature}"]'
        yield name, f"{kind}={list(told)}"
    elif kind in ("requires", "excludes"):
        yield name, f'{kind}=("{told[0]}", "{told[1]}")'
    elif kind == "all_or_none":
        for row in (name, *(f"{name}[{feature}]" for feature in told)):
            yield row, f"{kind}={list(told)}"
    elif kind in ("at_most", "at_least"):
        group = told["features"]
        yield name, f"{kind}=({list(group)}, {told['k']})"
    elif kind == "budget":
        yield name, f"budget=(costs, {told['limit']:g})"
    elif kind == "at_most_of_group":
        for group in dict.fromkeys(told["groups"].values()):
            most = told["most"][group] if isinstance(told["most"], Mapping) else told["most"]
            yield f"{name}[{group}]", f'at_most_of_group "{group}": {most}'
    elif kind == "signs":
        for feature, way in told.items():
            yield f"{name}[{feature}]", f'signs={{"{feature}": "{way}"}}'
