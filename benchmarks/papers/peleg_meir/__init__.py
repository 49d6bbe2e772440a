"""Peleg and Meir 2005: the generalized margin error bound."""
