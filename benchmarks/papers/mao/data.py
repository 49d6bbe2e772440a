"""Data of ``multivariate_tables``: substitutes for the sets of Mao and Tsang 2013, which are not available.

Most files are not part of the repository. They are in the folders ``data/`` and ``data-extra/`` of FSMODELS_SHARED (by
default the folder ``shared`` next to the repository); SOURCES.md in these folders lists their origin. Tasks without
their file are omitted.
"""

import functools

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

import fsmodels as fs
from benchmarks.harness.log import SHARED
from fsmodels.datasets.splitting import fold_rows, split_rows

TEXTS = {
    "acq": "Reuters acq",
    "pcmac": "PC, Mac",
    "basehock": "baseball, hockey",
    "relathe": "religion, atheism",
}
BIRDS = ("SWTH", "PAWR", "VATH", "HEWA", "PSFL")  # the most frequent of 19 labels
BAGS = ("musk1", "musk2", "elephant", "fox", "tiger", *(f"bird {name}" for name in BIRDS), "dogs")
FILES = {  # first word of a task -> its files
    "musk1": ["data/musk1_bags.csv"],
    "musk2": ["data/musk2_bags.csv.gz"],
    "elephant": ["data/elephant_bags.csv.gz"],
    "fox": ["data-extra/fox_bags.csv.gz"],
    "tiger": ["data-extra/tiger_bags.csv.gz"],
    "dogs": ["data/corel_dogs_bags.csv"],
    "bird": ["data/miml_birds_bags.csv"],
    "digit": ["data/mfeat_digits.csv"],
    "topic": [],
    "acq": ["data-extra/reuters_acq_train.svm.gz", "data-extra/reuters_acq_test.svm.gz"],
    **{pair: [f"data-extra/news20_{pair}.svm.gz"] for pair in TEXTS if pair != "acq"},
    **{topic: [f"data/reuters_{topic}_{part}.csv.gz" for part in ("train", "test")] for topic in ("grain", "corn")},
}
COLLECTIONS = {  # the fastest first
    "Reuters": ("grain", "corn"),
    "topics": tuple(f"topic {k}" for k in range(10)),
    "digits": tuple(f"digit {k}" for k in range(10)),
}
TOPICS, WORDS, LONG, DOCUMENTS = 10, 10_000, 60, 2000
OWN, STRAY = 0.15, 0.10  # shares of the words of a document: of its own topic, and of another topic


def files(task):
    """Return the paths of the files of a task."""
    return [SHARED / path for path in FILES[task.split()[0]]]


def there(task):
    """Return True if the files of a task exist."""
    return all(path.exists() for path in files(task))


def tf_idf(*parts):
    """Return word counts as tf-idf, (1 + log count) idf, with rows of unit length; idf is that of the first part."""
    change = TfidfTransformer(sublinear_tf=True).fit(sparse.csr_array(parts[0].X))
    turned = [sparse.csr_array(change.transform(sparse.csr_array(part.X))) for part in parts]
    return [fs.Dataset.from_arrays(X, part.y, positive=1.0) for X, part in zip(turned, parts, strict=True)]


def reuters(topic):
    return tf_idf(*(fs.Dataset.from_frame(pd.read_csv(path)) for path in files(topic)))


def acq():
    return [fs.Dataset.from_svmlight(path, n_features=9947) for path in files("acq")]


def news(pair):
    train, _, test = fs.Dataset.from_svmlight(*files(pair)).split(0.6, 0.0, 0.4, seed=0)
    return tf_idf(train, test)


@functools.cache
def numerals():
    """Return the parts of mfeat, standardised by the training part, and the digit of each row."""
    digits = np.loadtxt(*files("digit"), delimiter=",", skiprows=1, usecols=0)
    data = fs.load_dataset("mfeat")
    order = np.random.default_rng(0).permutation(len(data))
    rows = order[: round(0.6 * len(data))], order[round(0.6 * len(data)) :]
    train = data.take(rows[0]).scaled("standard")
    return (train, train.apply_scale_to(data.take(rows[1]))), [digits[part] for part in rows]


@functools.cache
def documents():
    """Return generated word counts and the topic of each document; half of the documents are for training.

    The common words follow a Zipf law. Each topic has 30 words of its own, among the 20th to the 3000th in frequency.
    As in real text, some words of a document are of another topic.
    """
    rng = np.random.default_rng(0)
    common = 1.0 / np.arange(1, WORDS + 1)
    own = [rng.choice(np.arange(20, 3000), 30, replace=False) for _ in range(TOPICS)]
    topic = rng.integers(0, TOPICS, DOCUMENTS)
    counts = np.zeros((DOCUMENTS, WORDS), dtype=np.int16)
    for i, mine in enumerate(topic.tolist()):
        length = int(rng.integers(LONG // 2, 2 * LONG))
        many, stray = rng.binomial(length, OWN), rng.binomial(length, STRAY)
        np.add.at(counts[i], rng.choice(WORDS, length - many - stray, p=common / common.sum()), 1)
        weight = 1.0 / np.arange(1, 31)
        for words, times in ((own[mine], many), (own[int(rng.integers(TOPICS))], stray)):
            np.add.at(counts[i], rng.choice(words, times, p=weight / weight.sum()), 1)
    return sparse.csr_array(counts.astype(float)), topic


def topics(which):
    X, topic = documents()
    y = np.where(topic == which, 1.0, -1.0)
    cut = DOCUMENTS // 2
    return tf_idf(*(fs.Dataset.from_arrays(X[rows], y[rows], positive=1.0) for rows in (slice(cut), slice(cut, None))))


def digit(which):
    parts, labels = numerals()
    return [
        fs.Dataset.from_arrays(part.X, np.where(label == which, 1.0, -1.0), part.features, positive=1.0)
        for part, label in zip(parts, labels, strict=True)
    ]


@functools.lru_cache(maxsize=4)
def split_bags(name, seed):
    """Return the training part and the test part of a set of bags, stratified by bag."""
    if name.startswith("bird "):
        table = pd.read_csv(*files(name))
        target = np.where(table[f"label_{name.removeprefix('bird ')}"] > 0, 1, -1)
        held = [column for column in table if not column.startswith("label_") and column != "target"]
        whole = fs.Dataset.from_frame(table[held].assign(target=target), aside="bag_id")
    else:
        whole = fs.Dataset.from_csv(*files(name), aside="bag_id")
    bags = whole_bags(whole)
    parts = split_rows(labels_of(whole, bags), 0.6, 0.0, 0.4, seed)
    return [whole.take(np.concatenate([bags[i] for i in parts[part]])) for part in ("train", "test")]


def whole_bags(data):
    """Return the rows of each bag, in the order of the first rows."""
    codes, names = pd.factorize(data.aside["bag_id"])
    return [np.flatnonzero(codes == i) for i in range(len(names))]


def labels_of(data, bags):
    """Return the label of each bag."""
    return data.y[[rows[0] for rows in bags]]


def fold_of_bags(data, k, number):
    """Return training part and held-out part of one of ``number`` folds of whole bags."""
    bags = whole_bags(data)
    parts = fold_rows(labels_of(data, bags), number, 0)[k]
    return [data.take(np.concatenate([bags[i] for i in part])) for part in parts]


def embedded(train, held):
    """Embed bags by the instances of the training bags, (26) and (27), with the default sigma of ``embed``."""
    embedding = fs.instances.embed(train.scaled("standard"))
    return embedding.data, embedding.transform(held)


@functools.lru_cache(maxsize=4)
def parts_of(name, seed=0):
    """Return training and test part of a task; ``seed`` divides bags."""
    if name in BAGS:
        return embedded(*split_bags(name, seed))
    if name in ("grain", "corn"):
        return reuters(name)
    if name == "acq":
        return acq()
    if name in TEXTS:
        return news(name)
    kind, which = name.split()
    return (digit if kind == "digit" else topics)(int(which))
