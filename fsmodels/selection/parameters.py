"""The one table of the parameters of models: their options on the command line, and what they are, in words.

The command line makes its options of it. The signature of a builder shows which of them a model takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    ``declaration``: its option, with the word for its value. ``what``: what it is, for a refusal. ``help``: the text of
    the option's help. ``attributes``: further arguments of ``click.Option``.
    """

    declaration: str
    what: str
    help: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flag(self) -> str:
        """Its option."""
        return self.declaration.partition(" ")[0]

    @property
    def name(self) -> str:
        """Its name among the options of a command."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether the option has no value."""
        return self.flag == self.declaration


PARAMETERS = {
    "max_features": Parameter(
        "--max-features K",
        "the most features to select, a whole number",
        "the most features to select",
        {"type": int},
    ),
    "C": Parameter(
        "-C X",
        "the weight of the sum of slacks, a number above 0",
        "weight of the sum of slacks (default 1; the kernel models ask for it)",
        {"type": float},
    ),
    "penalty": Parameter(
        "--penalty X",
        "the price of a feature, one number or one for each; lambda in [0, 1) of the fs family, mu of the kernels",
        "price of a feature in the objective, or of a unit of its kernel weight (mu): a number; for fsp-lambda "
        "also FEATURE=NUMBER, or a CSV file with the header feature,cost",
        {"multiple": True},
    ),
    "R_plus": Parameter(
        "--R-plus X",
        "the most the second moments of class +1 may weigh, a number above 0",
        "bound on the second moments of class +1 (gmeb)",
        {"type": float},
    ),
    "R_minus": Parameter(
        "--R-minus X",
        "the same for class -1",
        "bound on the second moments of class -1 (gmeb)",
        {"type": float},
    ),
    "loss": Parameter(
        "--loss NAME",
        "hinge or squared-hinge (svm, fsp-m, fsp-lambda); f1, prbep, rec@10, rec@2p, prec@10, hamming or auc (fsmulti)",
        "hinge or squared-hinge (svm, fsp-m, fsp-lambda; default hinge); f1, f0.5, prbep, rec@10, rec@2p, prec@10, "
        "hamming or auc (fsmulti; default f1)",
    ),
    "budget": Parameter(
        "--budget-features B",
        "B, the sum of the features' shares of a budget, a whole number",
        "the sum of shares that more features may have (fsmulti), instead of --max-features",
        {"type": int},
    ),
    "offset": Parameter(
        "--offset",
        "a column of ones takes part",
        "a column of ones takes part, its weight the bias (fsmulti)",
        {"default": None},
    ),
}
