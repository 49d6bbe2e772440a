"""Synthetic data of the papers, with seeds; one module for each paper.

- ``aytug``, ``data_set_one``, ``data_set_two``: noise-free classes separated by a hyperplane.
- ``weston``, ``peleg_meir``: types 1 and 2 of Peleg and Meir, few relevant features.
- ``bertsimas``: sparse classification with correlated features, of Bertsimas, Pauphilet and Van Parys.
- ``ndcc``: Thompson's clusters on cubes, as used by Tayal, Coleman and Li; not linearly separable.

Sizes and constants outside the documented ranges raise ``ParameterError``. The data are not scaled: use
``.scaled("standard")``, and the constants of the training part for a test part.

May import ``fsmodels.datasets`` and the ground files.
"""

from fsmodels.datasets.synthetic.aytug import Triplet, aytug, data_set_one, data_set_two
from fsmodels.datasets.synthetic.bertsimas import bertsimas, bertsimas_price
from fsmodels.datasets.synthetic.ndcc import Clusters, ndcc
from fsmodels.datasets.synthetic.peleg_meir import Pair, peleg_meir, weston

__all__ = [
    "Clusters",
    "Pair",
    "Triplet",
    "aytug",
    "bertsimas",
    "bertsimas_price",
    "data_set_one",
    "data_set_two",
    "ndcc",
    "peleg_meir",
    "weston",
]
__dir__ = __all__.copy  # what <TAB> offers
