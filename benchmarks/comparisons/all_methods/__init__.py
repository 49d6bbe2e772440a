"""The methods of all five papers and common methods on the same data."""
