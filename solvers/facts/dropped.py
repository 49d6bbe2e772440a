"""What a run does without because the model was edited, and which edit it was: said in one way by all who ask facts.

An oracle, a separator, a proof from the data, a closed form hold for the model as built. Where an edit takes one away
the answer is as right as before, and may come slower or with less proof: whoever reads it should know which row did it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from solvers.facts.base import facts_of
from solvers.model.known_rows import known_of
from solvers.reading import ModelReading

KEY = "dropped"  # of a result's details


@dataclass
class Dropped:
    """What is not used, and why, in words; ``quiet``: of these no message speaks, the details do."""

    found: dict[str, str] = field(default_factory=dict)
    quiet: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, edits: Iterable[str], *, quiet: bool = False) -> None:
        """Note that something is not used for these edits; for none it is used."""
        named = list(dict.fromkeys(edits))
        if named:
            more = f" and {len(named) - 1} more" if len(named) > 1 else ""
            (self.quiet if quiet else self.found).setdefault(what, f"{named[0]}{more}")

    def look_at(self, model: ModelReading) -> None:
        """Note what every run on a model does without."""
        facts = facts_of(model.model)
        certificate = None if facts is None else facts.certificate
        if certificate is not None and certificate.built is not None:
            self.add("the proof from the data", certificate.built.loosened(model))
        changed = (name for known in known_of(model.model) for name in known.changed())
        self.add("the numbers of dense rows", (f'row "{name}" was changed' for name in changed), quiet=True)

    @property
    def sentence(self) -> str:
        """What a message says; "" where nothing was dropped."""
        listed = ", ".join(f"{what} [{why}]" for what, why in self.found.items())
        return f"Done without what holds of the model as built: {listed}." if listed else ""

    def tell(self, message: str, details: dict[str, Any]) -> str:
        """Put what was dropped among the details, and return a message with the sentence."""
        if self.found or self.quiet:
            details[KEY] = {**self.found, **self.quiet}
        return f"{message} {self.sentence}".strip()


__all__ = ["KEY", "Dropped"]
