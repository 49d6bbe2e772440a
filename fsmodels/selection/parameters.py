"""Options of the command line for parameters of models.

The signature of a builder defines the parameters of a model, and its docstring describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REPORT_LIMIT = 300.0  # s, the default time limit of a report


@dataclass(frozen=True)
class Parameter:
    """Option of a parameter.

    ``declaration``: the option, with the word for its value. ``help``: the text of the option's help. ``attributes``:
    further arguments of ``click.Option``.
    """

    declaration: str
    help: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flag(self) -> str:
        """The option."""
        return self.declaration.partition(" ")[0]

    @property
    def name(self) -> str:
        """The name of the option in a command."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """True if the option has no value."""
        return self.flag == self.declaration


PARAMETERS = {
    "max_features": Parameter("--max-features K", "the largest number of features to select", {"type": int}),
    "count": Parameter(
        "--count WHAT", "unit of --max-features: features (default), or columns, where a category counts once"
    ),
    "C": Parameter("-C X", "weight of the sum of slacks (default 1; required for kernel models)", {"type": float}),
    "penalty": Parameter(
        "--penalty X",
        "price of a feature in the objective, or of a unit of its kernel weight (mu): a number; for fsp-lambda "
        "also FEATURE=NUMBER, or a CSV file with the header feature,cost",
        {"multiple": True},
    ),
    "R_plus": Parameter("--R-plus X", "bound on the second moments of class +1 (gmeb)", {"type": float}),
    "R_minus": Parameter("--R-minus X", "bound on the second moments of class -1 (gmeb)", {"type": float}),
    "loss": Parameter(
        "--loss NAME",
        "hinge or squared-hinge (svm, fsp-m, fsp-lambda; default hinge); f1, f0.5, prbep, rec@10, rec@2p, prec@10, "
        "hamming or auc (fsmulti; default f1)",
    ),
    "budget": Parameter(
        "--budget-features B",
        "the sum of shares that more features may have (fsmulti), instead of --max-features",
        {"type": int},
    ),
    "offset": Parameter("--offset", "add a column of ones, whose weight is the bias (fsmulti)", {"default": None}),
}
