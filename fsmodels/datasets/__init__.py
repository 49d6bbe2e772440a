"""Data: tables, bags and svmlight files read and checked, shipped sets, scaling, splits, synthetic families.

May import ``fsmodels``' ground files (errors, text, weights, checks) only.
"""
