"""scikit-learn classifiers that select features by the models of this package.

``SelectorClassifier`` is for linear models and baselines, ``KernelSelectorClassifier`` for features inside a kernel.
``import fsmodels`` does not import scikit-learn.

May import ``fsmodels.selection``, ``fsmodels.models``, ``fsmodels.datasets``, the ground files and, of ``solvers``, its
ground.
"""

from fsmodels.sklearn.estimators import KernelSelectorClassifier, SelectorClassifier
from fsmodels.sklearn.request import FitCertificate

__all__ = ["FitCertificate", "KernelSelectorClassifier", "SelectorClassifier"]
__dir__ = __all__.copy  # what <TAB> offers
