"""Where a run stands, in words for whoever watches it."""

from __future__ import annotations

from solvers.clock import Clock
from solvers.result import relative_gap

LONG = 2.0  # s after which one solve inside is worth a word
NAMES = {"prepare": "taking the model apart", "master": "master problem", "subproblem": "subproblem"}


def told(
    best: float | None,
    bound: float | None,
    sign: float,
    counted: list[str],
    busy: tuple[str, float] | None,
    clock: Clock,
) -> list[str]:
    """Return what goes on for long, incumbent, bound and gap, and what was counted.

    ``sign``: -1 where the model maximises. ``busy``: what is timed, since when.
    """
    gap = relative_gap(best, bound, minimize=sign > 0)
    since = 0.0 if busy is None else clock.elapsed - busy[1]
    long = [f"{NAMES[busy[0]]} for {since:.0f} s"] if busy is not None and since >= LONG else []
    numbers = [f"best {best:.6g}" if best is not None else "", f"bound {bound:.6g}" if bound is not None else ""]
    together = ", ".join(text for text in [*numbers, "" if gap is None else f"gap {100 * gap:.3g}%"] if text)
    return [*long, *([together] if together else []), *counted]
