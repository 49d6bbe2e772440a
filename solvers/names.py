"""The drivers' names, known before any of them is imported; ``solvers.drivers.catalogue`` says what they stand for."""

DRIVER_NAMES = (
    "benders",
    "branch-and-cut",
    "single-tree",
    "sla",
    "alternating",
    "multi-start",
    "cutting-plane",
    "two-layer",
    "row-generation",
)
PREFIX = "fsmodels."  # before the names of drivers in Pyomo's factories
