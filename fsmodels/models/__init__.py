"""Formulations: builders of Pyomo models, with the structure that drivers use; one folder or file per family.

May import ``fsmodels.datasets``, the modules of ``fsmodels`` itself and, from ``solvers``, facts, LPs and boxes.
"""
