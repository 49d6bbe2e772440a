"""Aytug 2015: exact feature selection by generalized Benders decomposition."""
