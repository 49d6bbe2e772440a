from fsmodels import baselines
from fsmodels.baselines import rankings
from fsmodels.certificates.document import verify
from fsmodels.datasets import instances, synthetic
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.shipped import list_datasets, load_dataset
from fsmodels.datasets.tables import read_costs, read_groups
from fsmodels.errors import (
    DataError,
    DataWarning,
    InfeasibleParameter,
    ModelError,
    NoSelection,
    OptionError,
    ParameterError,
    SolverError,
)
from fsmodels.evaluation.choose import Chosen, choose
from fsmodels.evaluation.compare import Comparison, compare
from fsmodels.evaluation.cross_validate import CrossValidated, cross_validate
from fsmodels.evaluation.stability import stability, stability_index
from fsmodels.insight.certify import Certified, certify
from fsmodels.insight.explore import Session, explore
from fsmodels.insight.near_optimal import NearOptimal, near_optimal
from fsmodels.insight.necessity import Necessity, necessity
from fsmodels.insight.price import Price, Prices, price_of
from fsmodels.models import concave, fsp, gmeb, kernel, multivariate, obd, rows, side_constraints, svm
from fsmodels.models.multivariate import measures
from fsmodels.page.report import Page, report
from fsmodels.selection.describe import describe
from fsmodels.selection.path import path
from fsmodels.selection.saved import load_selection
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.version import __version__
from solvers import Cancel, Result, SolutionStatus, StopReason, available, show, solve

__all__ = [
    "Cancel",
    "Certified",
    "Chosen",
    "Comparison",
    "CrossValidated",
    "DataError",
    "DataWarning",
    "Dataset",
    "InfeasibleParameter",
    "ModelError",
    "NearOptimal",
    "Necessity",
    "NoSelection",
    "OptionError",
    "Page",
    "ParameterError",
    "Price",
    "Prices",
    "Result",
    "Selection",
    "Session",
    "SolutionStatus",
    "SolverError",
    "StopReason",
    "__version__",
    "available",
    "baselines",
    "certify",
    "choose",
    "compare",
    "concave",
    "cross_validate",
    "describe",
    "explore",
    "fsp",
    "gmeb",
    "instances",
    "kernel",
    "list_datasets",
    "load_dataset",
    "load_selection",
    "measures",
    "multivariate",
    "near_optimal",
    "necessity",
    "obd",
    "path",
    "price_of",
    "rankings",
    "read_costs",
    "read_groups",
    "report",
    "rows",
    "select",
    "show",
    "side_constraints",
    "solve",
    "stability",
    "stability_index",
    "svm",
    "synthetic",
    "verify",
]
