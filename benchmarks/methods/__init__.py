"""Methods of feature selection that several benchmarks fit."""
