"""How a file is read: what the user said of it, and what was found."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fsmodels.datasets.shell import word
from fsmodels.errors import ParameterError
from fsmodels.words import short

__all__ = ["AUTO", "MARKS", "PLAIN", "SEPARATORS", "Dialect"]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SAID = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
THOUSANDS = (".", ",", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009")  # narrow and other spaces among them
MARKS = (".", ",")


@dataclass(frozen=True)
class Dialect:
    r"""How a file is read; None where that is to be found.

    ``sep``: between cells. ``decimal``, ``thousands``: marks of numbers, ``""`` for no marks between thousands.
    ``encoding``: of a text file, by Python's name. ``sheet``: of a workbook.

    Raises ParameterError: what none of these can be.

    >>> Dialect(sep="tab"), Dialect(sep=";", decimal=",").words
    (Dialect(sep='\t'), '--sep ";" --decimal , (Python: sep=";", decimal=",")')
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        for part in fields(self):
            given = getattr(self, part.name)
            if given is not None and not isinstance(given, str):
                raise ParameterError(f"{part.name} got {type(given).__name__}: give text.")
        if self.sep is not None:
            sep = SAID.get(self.sep.lower(), self.sep)
            object.__setattr__(self, "sep", sep)
            if len(sep) != 1 or sep.isalnum() or sep in "\"'\r\n.+-_":
                raise ParameterError(
                    f'--sep "{short(self.sep)}" (Python: sep=) is no mark between columns: give one of , ; | or tab.'
                )
        if self.decimal is not None and self.decimal not in MARKS:
            raise ParameterError(f'--decimal "{short(self.decimal)}" (Python: decimal=) is no mark: give "." or ",".')
        point = self.thousands == "." and self.decimal != ","
        if self.thousands is not None and (point or self.thousands not in ("", *THOUSANDS)):
            raise ParameterError(
                f'--thousands "{short(self.thousands)}" (Python: thousands=) is no mark between thousands: give "," '
                'or a space, or "." together with --decimal ,.'
            )
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f'--decimal and --thousands are both "{self.decimal}": give two marks.')
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, ValueError):
                raise ParameterError(
                    f'--encoding "{short(self.encoding)}" (Python: encoding=) is not known: give utf-8, cp1252, '
                    "latin-1, utf-16 or another of Python's names."
                ) from None

    @property
    def told(self) -> dict[str, str]:
        """What is said, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Dialect:
        """Return what ``told`` says; the opposite of it."""
        return cls(**{part.name: told.get(part.name) for part in fields(cls)})

    @property
    def words(self) -> str:
        """The words to type: options, and those of Python."""
        options = " ".join(f"--{name} {'tab' if value == chr(9) else word(value)}" for name, value in self.told.items())
        python = ", ".join(f'{name}="{_escaped(value)}"' for name, value in self.told.items())
        return f"{options} (Python: {python})"

    def __repr__(self) -> str:
        return f"Dialect({', '.join(f'{name}={value!r}' for name, value in self.told.items())})"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")


AUTO = Dialect()
PLAIN = Dialect(sep=",", decimal=".", thousands="", encoding="utf-8")
