"""Comparison of the methods of all five papers and common methods on the same data."""
