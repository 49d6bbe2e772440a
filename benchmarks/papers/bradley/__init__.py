"""Bradley, Mangasarian and Street 1998: concave minimisation."""
