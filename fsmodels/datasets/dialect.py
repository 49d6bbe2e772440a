"""Options with which a file is read: separator, marks of numbers, encoding, sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fsmodels.datasets.shell import word
from fsmodels.errors import ParameterError
from fsmodels.words import short

__all__ = ["AUTO", "PLAIN", "THOUSANDS", "Dialect"]

SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
THOUSANDS = (".", ",", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009")  # narrow and other spaces among them


@dataclass(frozen=True)
class Dialect:
    r"""Options with which a file is read; None for what the reader determines.

    ``sep``: between columns. ``decimal``, ``thousands``: marks in numbers, ``""`` for no mark between thousands.
    ``encoding``: of a text file, by Python's name. ``sheet``: of a workbook.

    Raises ParameterError: a value that is not allowed.

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
            sep = SEPARATOR_NAMES.get(self.sep.lower(), self.sep)
            object.__setattr__(self, "sep", sep)
            if len(sep) != 1 or sep.isalnum() or sep in "\"'\r\n.+-_":
                raise _wrong("sep", self.sep, "one of , ; | or tab")
        if self.decimal not in (None, ".", ","):
            raise _wrong("decimal", self.decimal, '"." or ","')
        point = self.thousands == "." and self.decimal != ","
        if self.thousands is not None and (point or self.thousands not in ("", *THOUSANDS)):
            raise _wrong("thousands", self.thousands, '"," or a space, or "." together with --decimal ,')
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f'--decimal and --thousands are both "{self.decimal}": give two marks.')
        try:
            "".encode(self.encoding or "utf-8")
        except (LookupError, ValueError):
            raise _wrong("encoding", self.encoding, "utf-8, cp1252, latin-1, utf-16 or another of Python's") from None

    @property
    def told(self) -> dict[str, str]:
        """The options that are given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Dialect:
        """Return the dialect of ``told``."""
        return cls(**{part.name: told.get(part.name) for part in fields(cls)})

    @property
    def words(self) -> str:
        """The options for the command line and for Python."""
        options = " ".join(f"--{name} {'tab' if value == chr(9) else word(value)}" for name, value in self.told.items())
        python = ", ".join(f'{name}="{_escaped(value)}"' for name, value in self.told.items())
        return f"{options} (Python: {python})"

    def __repr__(self) -> str:
        return f"Dialect({', '.join(f'{name}={value!r}' for name, value in self.told.items())})"


def _wrong(name: str, value: object, allowed: str) -> ParameterError:
    return ParameterError(f'--{name} "{short(str(value))}" (Python: {name}=) is not allowed: give {allowed}.')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")


AUTO = Dialect()
PLAIN = Dialect(sep=",", decimal=".", thousands="", encoding="utf-8")
