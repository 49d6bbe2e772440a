"""Benchmarks: ``python -m benchmarks NAME`` runs one and writes its page, from the root of the repository."""
