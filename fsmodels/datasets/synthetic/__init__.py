"""The papers' synthetic data, seeded: one module a paper, gathered here.

- ``aytug``, ``data_set_one``, ``data_set_two``: noise-free classes cut by a hyperplane.
- ``weston``, ``peleg_meir``: types 1 and 2 of Peleg and Meir, few relevant features.
- ``bertsimas``: sparse classification among correlated features, of Bertsimas, Pauphilet and Van Parys.
- ``ndcc``: Thompson's clusters on cubes, as Tayal, Coleman and Li use them; no hyperplane will do.

A size or constant outside what is said raises ``ParameterError``. Data are as drawn: standardise them with
``.scaled("standard")``, a test part by the constants of its training part.

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
