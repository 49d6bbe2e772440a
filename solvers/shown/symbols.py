"""Names of a model as LaTeX: Greek letters, subscripts, indices, numbers."""

from __future__ import annotations

import math
from typing import Any

GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
LETTERS = {word: f"\\{word}" for word in GREEK.split()}
SIGNS = {"plus": "+", "minus": "-"}
ESCAPED = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "$": r"\$", "%": r"\%", "&": r"\&", "#": r"\#",
    "^": r"\wedge ", "~": r"\sim ", " ": r"\ ",
}  # fmt: skip
LONGEST = 24  # characters of an index that is a name


def symbol(name: str) -> str:
    r"""Return a component's name as a letter where it is one, upright otherwise.

    >>> symbol("sigma"), symbol("R_plus"), symbol("w_s"), symbol("only_selected")
    ('\\sigma', 'R_{+}', 'w_{s}', '\\mathrm{only\\_selected}')
    """
    head, _, tail = name.partition("_")
    if tail and "_" not in tail and (head in LETTERS or len(head) == 1) and len(tail) < 6:
        return f"{symbol(head)}_{{{SIGNS.get(tail) or symbol(tail)}}}"
    if name in LETTERS:
        return LETTERS[name]
    if name.isdigit():
        return name
    return name if len(name) == 1 and name.isalpha() else rf"\mathrm{{{upright(name)}}}"


def upright(text: Any) -> str:
    """Return text for upright letters in mathematics, cut in its middle where it is long."""
    words = " ".join(str(text).split())
    if len(words) > LONGEST:
        words = f"{words[: LONGEST // 2]}...{words[-LONGEST // 2 + 3 :]}"
    return "".join(ESCAPED.get(c, c) for c in words)


def index(value: Any) -> str:
    """Return a member of an index set as a subscript."""
    if isinstance(value, int | float):
        return f"{value:g}"
    return rf"\mathrm{{{upright(value)}}}"


def number(x: float, digits: int = 4) -> str:
    r"""Return a number that is not negative: a fraction 1/n as one, a power of ten where it is far from 1.

    >>> number(0.5), number(3.0), number(1 / 345), number(123456.7), number(2.5e-9)
    ('\\tfrac{1}{2}', '3', '\\tfrac{1}{345}', '1.235 \\cdot 10^{5}', '2.5 \\cdot 10^{-9}')
    """
    if not math.isfinite(x):
        return r"\infty"
    if x == 0 or (x == round(x) and x < 1e6):
        return f"{x:g}" if x < 1e5 else f"{x:.0f}"
    if x < 1 and abs(1 / x - round(1 / x)) < 1e-9 / x and 1 / x < 1e5:
        return rf"\tfrac{{1}}{{{round(1 / x)}}}"
    told = f"{x:.{digits}g}"
    if "e" not in told:
        return told
    mantissa, power = told.split("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}"


def signed(x: float) -> str:
    """Return a number with its sign."""
    return f"-{number(-x)}" if x < 0 else number(x)
