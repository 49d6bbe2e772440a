"""The values of options, read from text: seconds, shares, numbers, and grids of them."""

from __future__ import annotations

import click

__all__ = ["grid", "numbers", "seconds", "share", "values"]


def seconds(text: str) -> float | None:
    """Read a number of seconds, or "none"."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f'"{text}" is no number of seconds: give one, or "none"') from None


def share(text: str) -> float:
    """Read a share: "5%" or "0.05"."""
    try:
        found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        found = -1.0
    if not found > 0 or (found >= 1 and not text.endswith("%")):
        raise click.BadParameter(f'"{text}" is no share: give 5% or 0.05')
    return found


def grid(text: str) -> int | list[int]:
    """Read a whole number, several with commas between, or a range with both ends, 1:10 or 1:10:3."""
    try:
        if ":" in text:
            first, last, *step = [int(part) for part in text.split(":")]
            if len(step) > 1:
                raise ValueError
            return list(range(first, last + 1, *step))
        several = [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f'"{text}" is no list of whole numbers: give 5, 1:10 or 1,2,5') from None
    return several if "," in text else several[0]


def values(text: str) -> float | list[float]:
    """Read a number, or several with commas between."""
    several = numbers(text)
    return several if "," in text else several[0]


def numbers(text: str) -> list[float]:
    """Read numbers with commas between."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f'"{text}" is no list of numbers: give 10,15,20') from None
