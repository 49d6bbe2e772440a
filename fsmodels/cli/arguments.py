"""Values of options: pairs of features, budgets, penalties, typed solver options.

Feature names may contain ``:`` and ``=``, so values are compared with the feature names of the data.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmodels.cli.commands import option_of
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import number
from fsmodels.datasets.tables import read_costs, read_groups
from fsmodels.datasets.weighting import BALANCED
from fsmodels.errors import OptionError, ParameterError
from fsmodels.text import check_known_features, listed

MANY = 100  # ways to read a group


def group(text: str, features: Sequence[str], option: str) -> Any:
    """Read a group ``A:B:C``, for ``--at-most`` and ``--at-least`` after a number; errors as ``names``."""
    if option == "--all-or-none":
        return names(text, features, option)
    number, _, rest = text.partition(":")
    try:
        k = int(number)
    except ValueError:
        k = None
    if k is None or not rest:
        raise ParameterError(
            f'{option} "{text}" is not a number and a group: write K:A:B, for example {option} '
            f"1:{':'.join(features[:2])}."
        )
    return names(rest, features, option), k


def names(text: str, features: Sequence[str], option: str, size: int | None = None) -> list[str]:
    """Split text at ":" into features, ``size`` of them if given; the name of a feature may contain ":".

    Raises ParameterError: no colon between two features, or several possible splits. Raises DataError: a part is no
    feature.
    """
    parts = text.split(":")
    if size == 2 and len(parts) == 1:
        raise ParameterError(f'{option} "{text}" has no ":": write A:B, for example {option} {features[0]}:...')
    known = set(features)
    splits: list[list[list[str]]] = [[[]]]  # for each number of parts, all ways to read them as features
    for end in range(1, len(parts) + 1):
        read = ((start, ":".join(parts[start:end]).strip()) for start in range(end))
        splits.append([[*before, name] for start, name in read if name in known for before in splits[start]][:MANY])
    fitting = [split for split in splits[-1] if size is None or len(split) == size]
    if not fitting:
        plain = [part.strip() for part in (text.split(":", size - 1) if size else parts)]
        check_known_features(plain, features, f"{option} {text}")
        raise ParameterError(f'{option} "{text}" names {len(parts)} features: give {size}.')
    if len(fitting) > 1:
        raise ParameterError(
            f'{option} "{text}" can be read as {listed(" and ".join(split) for split in fitting)}: rename a column.'
        )
    return fitting[0]


def _limited(text: str, option: str, form: str) -> tuple[str, float]:
    """Split ``NAME:NUMBER``. Raises ParameterError: no name, or no number; ``form``: the correct form."""
    name, _, limit = text.rpartition(":")
    number = _number(limit)
    if not name or number is None:
        raise ParameterError(f'{option} "{text}" has no number at its end: write {form}.')
    return name, number


def budget(text: str, features: Sequence[str]) -> tuple[dict[str, float], float]:
    """Read ``COSTS.csv:LIMIT``; errors as ``costs`` and ``_limited``."""
    path, limit = _limited(text, "--budget", "COSTS.csv:LIMIT, for example costs.csv:20")
    return costs(path, features), limit


def costs(path: str, features: Sequence[str]) -> dict[str, float]:
    """Read a file of costs. Raises DataError: the file cannot be read, or a name is no feature."""
    found = read_costs(path)
    check_known_features(found, features, f'Costs file "{path}"')
    return found


def with_interactions(data: Dataset, texts: Sequence[str]) -> Dataset:
    """Return the data with the products of ``--interactions``, ``A:B:C`` or ``all``; errors as ``names``."""
    if not texts:
        return data
    if "all" in texts and "all" not in data.features:
        if len(texts) > 1:
            raise ParameterError("--interactions all includes every pair: leave the others out.")
        return data.with_interactions()
    groups = [names(text, data.features, "--interactions") for text in texts]
    return data.with_interactions(pairs=[pair for group in groups for pair in itertools.combinations(group, 2)])


def signs(texts: Sequence[str], features: Sequence[str]) -> dict[str, str]:
    """Read values ``A:+`` or ``A:-``. Raises ParameterError: another sign, or both. Raises DataError: no feature."""
    found: dict[str, str] = {}
    for text in texts:
        name, _, way = text.rpartition(":")
        if not name or way.strip() not in ("+", "-"):
            example = f"--sign {features[0]}:+"
            raise ParameterError(f'--sign "{text}" has no sign: write A:+ or A:-, for example {example}.')
        check_known_features([name], features, f"--sign {text}")
        if found.setdefault(name, way.strip()) != way.strip():
            raise ParameterError(f'--sign gives "{name}" both signs: keep one, or use --force-out {name}.')
    return found


def fair(text: str) -> tuple[str, float]:
    """Read ``COLUMN:LIMIT``; errors as ``_limited``."""
    form = "COLUMN:LIMIT, for example --fair sex:0.1, where the margin of scores is 1"
    return _limited(text, "--fair", form)


def class_weight(texts: Sequence[str]) -> str | dict[str, float] | None:
    """Read ``balanced``, or ``LABEL:W`` several times. Raises ParameterError: neither."""
    if list(texts) == [BALANCED]:
        return BALANCED
    found: dict[str, float] = {}
    form = f"LABEL:W, for example --class-weight ill:5, or only {BALANCED}"
    for text in texts:
        label, weight = _limited(text, "--class-weight", form)
        if label in found:
            raise ParameterError(f'--class-weight names "{label}" twice: give one weight per class.')
        found[label] = weight
    return found or None


def class_names(text: str) -> list[str]:
    """Read ``POS,NEG``. Raises ParameterError: not two names."""
    found = [part.strip() for part in text.split(",")]
    if len(found) != 2:
        raise ParameterError(f'--class-names "{text}" is not two names: write POS,NEG, for example malignant,benign.')
    return found


def grouped(text: str, data: Dataset, names: Sequence[str]) -> tuple[dict[str, str], int]:
    """Read ``GROUPS.csv:K`` or ``correlation=R:K``; ``names``: of features and columns, for the file.

    Raises ParameterError: no number. Raises DataError: the file cannot be read, or a name is no feature.
    """
    form = "GROUPS.csv:K, a file with the header feature,group, or correlation=0.95:K"
    source, most = _limited(text, "--at-most-of-group", form)
    if most < 0 or most != int(most):
        raise ParameterError(f'--at-most-of-group "{text}" has no whole number of features: write {form}.')
    word, _, least = source.partition("=")
    if word != "correlation" or not least:
        groups = read_groups(source)
        check_known_features(groups, names, f'Groups file "{source}"')
        return groups, int(most)
    number = _number(least)
    if number is None:
        raise ParameterError(f'--at-most-of-group "{text}": "{least}" is no number: write correlation=0.95:K.')
    groups = data.correlated(number)
    if not groups:
        raise ParameterError(f"--at-most-of-group: no two features have a correlation of {number:g}: give a lower one.")
    return groups, int(most)


def penalty(words: Sequence[str], features: Sequence[str]) -> float | dict[str, float] | None:
    """Read numbers, ``FEATURE=VALUE`` and cost files as one number, or one for each feature.

    Raises ParameterError: another value. Raises DataError: a name that is no feature, or a file that cannot be read.
    """
    everywhere: float | None = None
    single: dict[str, float] = {}
    named: set[str] = set()
    for word in words:
        plain = _number(word)
        name, equals, value = word.rpartition("=")
        name = name.strip()
        if plain is not None:
            if everywhere is not None:
                raise ParameterError(f"--penalty has two values for all features, {everywhere:g} and {word}: give one.")
            everywhere = plain
        elif equals and (price := _number(value)) is not None:
            check_known_features([name], features, f"--penalty {word}")
            if name in named:
                raise ParameterError(f'--penalty {word}: "{name}" has a penalty already: give each feature once.')
            named.add(name)
            single[name] = price
        elif _is_costs(word):
            single |= costs(word, features)
        else:
            raise ParameterError(
                f'--penalty "{word}" is not understood: give a number, FEATURE=NUMBER, or a CSV file with the header '
                "feature,cost."
            )
    if not single:
        return everywhere
    return {name: single.get(name, everywhere or 0.0) for name in features}


def penalties(words: Sequence[str], features: Sequence[str]) -> Any:
    """Read the values of ``penalty``, or several numbers with commas between them, for a path."""
    if len(words) == 1 and "," in words[0]:
        several = [_number(part) for part in words[0].split(",")]
        if None not in several:
            return several
    return penalty(words, features)


def files(args: SimpleNamespace) -> list[Path]:
    """Return the files of budgets, penalties and groups."""
    groups = [source for text in args.at_most_of_group if (source := text.rpartition(":")[0])]
    costs = [text.rpartition(":")[0] for text in args.budget] + [word for word in args.penalty if _is_costs(word)]
    return [Path(source) for source in [*costs, *(s for s in groups if not s.startswith("correlation="))]]


def _is_costs(word: str) -> bool:
    return word.endswith((".csv", ".csv.gz")) or os.path.isfile(word)


def solver_options(args: SimpleNamespace) -> dict[str, Any]:
    """Read ``K=V`` with V as int, float, bool or text; ``SLOT_options.K=V`` is an option of the solver in a slot.

    Raises OptionError: a value without ``=``, an option given twice, or a name that is no option of a solver.
    """
    from fsmodels.selection.parameters import PARAMETERS
    from fsmodels.selection.select import select

    not_of_solvers = {*inspect.signature(select).parameters, *PARAMETERS}
    options: dict[str, Any] = {}
    for word in args.solver_option:
        name, equals, value = word.partition("=")
        name = name.strip()
        if not equals or not name:
            raise OptionError(f'--solver-option "{word}" has no "=": write NAME=VALUE, for example threads=2.')
        slot, dot, own = name.partition(".")
        inside = dot and own and slot.endswith("_options")
        group: dict[str, Any] = options.setdefault(slot, {}) if inside else options
        if not isinstance(group, dict):
            raise OptionError(f'--solver-option "{slot}" is a mapping: write {slot}.NAME=VALUE for each option.')
        if (own if inside else name) in group:
            raise OptionError(f'--solver-option "{name}" is given twice: keep one of them.')
        if name in not_of_solvers:
            flag = {"data": "DATA", "progress": "--quiet"}.get(name) or option_of(name, args)
            instead = f"give {flag} instead" if flag else "it is for Python only"
            raise OptionError(f'--solver-option "{name}" is no option of a solver: {instead}.')
        group[own if inside else name] = _typed(value.strip())
    return options


def _typed(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _number(text: str) -> float | None:
    value = number(text)
    return value if value is not None and math.isfinite(value) else None
