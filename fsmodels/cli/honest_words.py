"""The words of held-out errors: ``--cv``, ``--test`` and what goes with them. Imports nothing that takes time."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["MODELS", "a_comparison", "a_judgement"]

MODELS = "fsp-m,fsv,gmeb,rfe,one-norm-svm,relief"


def a_judgement(command: argparse.ArgumentParser) -> None:
    """Add how a selection is judged by samples that had no part in it."""
    group = command.add_argument_group("error on samples held out")
    group.add_argument(
        "--cv",
        type=int,
        metavar="K",
        help="select on all samples, and again on K folds for the error on what each leaves out; each fold has at most "
        "the time limit too (30 s where none is given)",
    )
    group.add_argument(
        "--test",
        type=float,
        metavar="SHARE",
        help="hold a share of the samples out, 0.25: the selection is of the others, and its error is on these",
    )
    group.add_argument("--repeats", type=int, metavar="R", help="divide into folds R times (default 1)")
    workers(group)
    memory(group)


def a_comparison(command: argparse.ArgumentParser) -> None:
    """Add which models are compared, and on which folds."""
    command.add_argument(
        "--models", metavar="A,B,..", help=f"models from fsmodels list, with commas between (default {MODELS})"
    )
    command.add_argument("--cv", type=int, default=5, metavar="K", help="folds (default 5)")
    command.add_argument("--repeats", type=int, metavar="R", help="divide into folds R times (default 1)")
    command.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw errors against features to a .png, .pdf or .svg file"
    )
    workers(command)
    memory(command)


def workers(command: argparse._ActionsContainer) -> None:
    """Add how many work at it."""
    command.add_argument("--n-jobs", type=int, metavar="N", help="workers for the folds (default 1)")


def memory(command: argparse._ActionsContainer) -> None:
    """Add the folder for finished folds, and an error for the option that it replaces."""
    command.add_argument(
        "--memory", type=Path, metavar="DIR", help="folder for finished folds; the same command reads them again"
    )
    command.add_argument("--checkpoint", type=_removed, help=argparse.SUPPRESS)


def _removed(text: str) -> None:
    raise argparse.ArgumentTypeError("the option was removed. Use --memory DIR, a folder for finished folds")
