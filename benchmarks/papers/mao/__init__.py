"""Mao and Tsang 2013: multivariate performance measures."""
