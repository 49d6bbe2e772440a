"""The formulations, one room or file a family: builders of Pyomo models and the facts they tell drivers.

May import ``fsmodels.datasets``, the ground files and, of ``solvers``, its facts, LPs and boxes.
"""
