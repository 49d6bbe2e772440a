r"""Members of a family of rows as one equation.

Of each shape of terms (``solvers.shown.terms``) a few members are compared. An index that moves with the member is the
family's, one that runs within a member stands under a sum sign, one that does neither stands as it is:
``x[i] <= cap[k]`` for all i. A coefficient that is the same everywhere is a number; one that varies is a letter with
the indices that it varies with (inside a function too), or :math:`\pm` where its size does not. Members that are not
alike stand one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from solvers.shown.symbols import index, number, signed
from solvers.shown.terms import FEW, JOINT, NUMBER, SLOT, TIMES, Place, Term, filled, times

NAMED = {"features": "j", "samples": "i"}
RUNNING = "ijklmnpqrst"
DATA = "acdghuvz"  # letters for numbers
PIECES = 12  # of a side: what has more is cut


@dataclass
class Letters:
    """Letters for index sets and data, the same in a whole model."""

    taken: set[str]
    of_set: dict[Any, str] = field(default_factory=dict)
    sets: dict[str, tuple[str, int]] = field(default_factory=dict)  # letter -> name and size of its set
    _keys: dict[tuple[int, int], Any] = field(default_factory=dict)

    def of(self, place: Place) -> str:
        """Return the letter of the set that an index is from."""
        component, k, _ = place
        key = self._keys.get((id(component), k))
        if key is None:
            key = self._keys[id(component), k] = _set_of(component, k)
        if key not in self.of_set:
            name, members = key if isinstance(key[1], int) else ("", len(key[1]))
            wanted = NAMED.get(name, "")
            free = [c for c in RUNNING if c not in self.taken and c not in self.of_set.values()]
            letter = wanted if wanted and wanted not in self.taken else (free or ["i"])[0]
            if not wanted and letter in NAMED.values():
                letter = next((c for c in free if c not in NAMED.values()), letter)
            self.of_set[key] = letter
            self.sets[letter] = (name, members)
        return self.of_set[key]

    def data(self) -> Iterable[str]:
        """Yield letters for numbers, one by one."""
        yield from (c for c in DATA if c not in self.taken)
        k = 1
        while True:
            yield f"a^{{({k})}}"
            k += 1


def _set_of(component: Any, k: int) -> Any:
    """Return what two components share that run over the same set: its name and size, or its members."""
    parts = list(component.index_set().subsets()) if component.index_set().dimen != 1 else [component.index_set()]
    if len(parts) > k and all(part.dimen == 1 for part in parts):
        part = parts[k]
        block = part.parent_block()
        if block is not None and block.component(part.local_name) is part and not part.name.endswith("_index"):
            return part.local_name, len(part)
        return "", frozenset(part)
    return "", frozenset(i[k] if isinstance(i, tuple) else i for i in component)


def one(terms: Sequence[Term], letters: Letters) -> str:
    """Return a single expression."""
    found = family([[terms]], letters)
    assert found is not None  # one member is like itself
    return found[0][0]


def family(members: Sequence[Sequence[Sequence[Term]]], letters: Letters) -> tuple[list[str], list[str]] | None:
    """Return the sides of a relation that stands for all members, and its letters; None where they are not alike.

    ``members``: of each member its sides, of each side its terms.
    """
    follows: list[str] = []
    written: list[str] = []
    for _ in range(2):  # all indices of the family have to be known before a coefficient may have them
        data, known, met = iter(letters.data()), follows, list[str]()
        written = []
        for sides in zip(*members, strict=True):
            part = _Family(sides, letters, data, known)
            if not part.alike():
                return None
            written.append(part.written())
            met += part.met
        follows = list(dict.fromkeys(met))
    return written, follows


class _Family:
    """The same side of several members; ``follows`` are the indices of the family, ``met`` those found here."""

    def __init__(self, members: Sequence[Sequence[Term]], letters: Letters, data: Any, follows: list[str]) -> None:
        self.letters, self.data, self.follows, self.met = letters, data, follows, list[str]()
        self.groups = [_by_shape(terms) for terms in members]
        if any("" in g for g in self.groups):  # a number that happens to be 0 is not written
            self.groups = [{**g, "": g.get("", [Term(0.0, "", ())])} for g in self.groups]

    def alike(self) -> bool:
        """Tell whether all members have the same shapes, and of each equally many terms or many."""
        first = self.groups[0]
        if any(set(g) != set(first) for g in self.groups):
            return False
        counts = [{len(g[shape]) for g in self.groups} for shape in first]
        return all(len(c) == 1 or max(c) > FEW for c in counts)

    def written(self) -> str:
        """Return the side."""
        pieces: list[tuple[str, str]] = []
        for shape in self.groups[0]:
            found = [g[shape] for g in self.groups]
            if max(map(len, found)) <= FEW:
                pieces += [self._single(shape, [terms[k] for terms in found], k) for k in range(len(found[0]))]
            else:
                pieces.append(self._sum(shape, found))
        if len(pieces) > PIECES:
            pieces = [*pieces[:FEW], ("+", rf"\cdots\; ({len(pieces)}\ \mathrm{{terms}})")]
        text = "".join(f" {sign} {body}" for sign, body in pieces).strip().removeprefix("+ ")
        return (f"-{text[2:]}" if text.startswith("- ") else text) or "0"

    def _single(self, shape: str, across: list[Term], k: int) -> tuple[str, str]:
        """Return sign and text of a term that each member has once."""
        told = []
        for slot, place in enumerate(across[0].places):
            if place[0] is NUMBER:
                told.append(self._number([[term.places[slot][2]] for term in across], []))
            elif len({term.places[slot][2] for term in across}) == 1:
                told.append(index(place[2]))
            else:
                told.append(self.letters.of(place) + "'" * k)
                self.met.append(told[-1])
        sign, text = self._coefficient([[term.coefficient] for term in across], [])
        return sign, times(text, filled(shape, told))

    def _sum(self, shape: str, across: list[list[Term]]) -> tuple[str, str]:
        """Return sign and text of terms that are summed up; what does not run stands before the sum."""
        told: list[str] = []
        under: list[str] = []
        for slot, place in enumerate(across[0][0].places):
            inside = [{term.places[slot][2] for term in terms} for terms in across]
            if place[0] is NUMBER:
                told.append("")  # below, when all that runs is known
            elif max(map(len, inside)) > 1:
                twin = next((told[s] for s in range(slot) if _together(across, s, slot)), None)
                told.append(twin or _free(self.letters.of(place), [*under, *self.follows]))
                if twin is None:
                    under.append(told[-1])
            elif len(set.union(*inside)) == 1:
                told.append(index(place[2]))
            else:
                told.append(self.letters.of(place))
                self.met.append(told[-1])
        for slot, place in enumerate(across[0][0].places):
            if place[0] is NUMBER:
                told[slot] = self._number([[term.places[slot][2] for term in terms] for terms in across], under)
        values = [[term.coefficient for term in terms] for terms in across]
        sign, text = self._coefficient(values, under)
        still: list[str] = []
        moving: list[str] = []
        for factor in shape.split(JOINT):
            here = told[: factor.count(SLOT)]
            told = told[factor.count(SLOT) :]
            runs = any(letter in told_here for letter in under for told_here in here)
            (moving if runs else still).append(filled(factor, here))
        inner = TIMES.join(moving)
        if sign == r"\pm" or not _is_number(text):  # it runs as well
            inner, text = times(text, inner), ""
            if sign == r"\pm":
                sign, inner = "+", rf"\pm {inner}"
        summed = rf"\sum_{{{self._range(under, across, values)}}} {inner}"
        return sign, times(text, TIMES.join([*still, summed]))

    def _range(self, under: list[str], across: list[list[Term]], values: list[list[float]]) -> str:
        """Return what stands under the sum sign; where it is a part of the set, of how many."""
        told = ",".join(under)
        _, size = self.letters.sets.get(under[0].rstrip("'"), ("", 0)) if len(under) == 1 else ("", 0)
        counts = {len(terms) for terms in across}
        varies = len({v for each in values for v in each}) > 1
        if size and not varies and counts != {size} and len(counts) == 1:
            return rf"{told} \;({counts.pop()}\ \mathrm{{of}}\ {size})"
        return told

    def _coefficient(self, values: list[list[float]], under: list[str]) -> tuple[str, str]:
        """Return sign and text of a coefficient: a number where it is one, else a letter."""
        every = {v for each in values for v in each}
        sizes = {abs(v) for v in every}
        if len(sizes) == 1:
            return r"\pm" if len(every) > 1 else "-" if every.pop() < 0 else "+", number(sizes.pop())
        return "+", self._letter(values, under)

    def _letter(self, values: list[list[float]], under: list[str]) -> str:
        """Return a letter for data, with the indices that it varies with."""
        moves = len(values) > 1 and any(each != values[0] for each in values)
        indices = [*(self.follows if moves else []), *under]
        letter = next(self.data)
        return f"{letter}_{{{''.join(indices)}}}" if indices else letter

    def _number(self, values: list[list[float]], under: list[str]) -> str:
        """Return a number inside a function, a letter where it varies."""
        if len({v for each in values for v in each}) == 1:
            return signed(values[0][0])
        return self._letter(values, under)


def _free(letter: str, used: Sequence[str]) -> str:
    while letter in used:
        letter += "'"
    return letter


def _is_number(text: str) -> bool:
    return not text[:1].isalpha()


def _by_shape(terms: Sequence[Term]) -> dict[str, list[Term]]:
    """Return terms by shape, those of the same places as one, constants last."""
    found: dict[str, dict[Any, Term]] = {}
    for term in terms:
        of_shape = found.setdefault(term.shape, {})
        key = tuple((id(component), k, value) for component, k, value in term.places)
        before = of_shape.get(key)
        of_shape[key] = term if before is None else replace(term, coefficient=before.coefficient + term.coefficient)
    constant = found.pop("", None)
    kept = found | ({"": constant} if constant else {})
    return {shape: [*of_shape.values()] for shape, of_shape in kept.items()}


def _together(across: list[list[Term]], s: int, slot: int) -> bool:
    """Tell whether two places hold the same index in all terms."""
    return all(term.places[s][2] == term.places[slot][2] for terms in across for term in terms)
