"""Tayal, Coleman and Li: weights of features inside a kernel."""
