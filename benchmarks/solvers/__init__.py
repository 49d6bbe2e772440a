"""Drivers and solvers on models of other fields, and random models compared with enumeration."""
