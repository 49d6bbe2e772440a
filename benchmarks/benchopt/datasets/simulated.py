"""Instances of Bertsimas, Pauphilet and Van Parys, with correlated features and noise."""

from benchopt import BaseDataset

from fsmodels.datasets.synthetic import bertsimas


class Dataset(BaseDataset):
    """Training sample of the generator, standardised; each repetition is another draw."""

    name = "simulated"
    parameters = {"n_samples": [200], "n_features": [100], "n_relevant": [5], "snr": [6.0]}
    test_parameters = {"n_samples": [40], "n_features": [8], "n_relevant": [2]}

    def get_data(self):
        seed = self.get_seed(use_repetition=True)
        pair = bertsimas(self.n_samples, self.n_features, self.n_relevant, seed=seed, snr=self.snr)
        data = pair.train.scaled("standard")
        return {"X": data.X, "y": data.y}
