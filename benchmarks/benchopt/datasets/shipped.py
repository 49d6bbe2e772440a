"""Data sets of fsmodels with at most 1,000 samples, standardised."""

from benchopt import BaseDataset

import fsmodels as fs


class Dataset(BaseDataset):
    """Data set by its name; ``fsmodels list`` shows all names."""

    name = "shipped"
    parameters = {"set": ["bupa", "cleveland", "german_numeric", "ionosphere", "sonar", "wdbc", "wpbc"]}
    test_parameters = {"set": ["bupa"]}

    def get_data(self):
        data = fs.load_dataset(self.set).scaled("standard")
        return {"X": data.X, "y": data.y}
