"""The page shows the answers of the parts; names of the data are text and nothing else."""

import base64
import hashlib
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import joblib
import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.evaluation.folds import resampled_t_test
from fsmodels.page import stages
from fsmodels.page.report import legible, values_hash, without_folder
from fsmodels.page.stages import Plan
from fsmodels.selection import report
from fsmodels.selection.report import number, percent
from fsmodels.selection.request import Request
from solvers import progress

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "{{ 7 * 7 }} {% raw %}",
    "$x^{2$ \\frac",
    "\u05d0\u05d1\u05d2 \u202e reversed",
    "n" * 200,
    "]]> --><!-- </style></svg>",
    "a\x00b\x1bc",
]
VOID = {"meta", "link", "br", "wbr", "hr", "img", "input"}


class Reader(HTMLParser):
    """Tags and attributes of a page, and its text by the element it is in."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def table(columns, rows=48, seed=3, labels=("well", "ill")):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, len(columns)))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=rows) > 0, labels[1], labels[0])
    return pd.DataFrame(X, columns=columns), y


def small(**given):
    X, y = table(["age", "dose", "mass", "height"])
    data = fs.Dataset.from_frame(X.assign(target=y), positive="ill", name="patients")
    return data, fs.report(data, **{"max_features": 2, "cv": 3, "max_path": 3, **given})


@pytest.fixture(scope="module")
def made():
    return small()


def test_it_selects_what_select_does(made):
    data, page = made
    assert page.found.selected == fs.select(data, max_features=2).selected
    assert page.findings.missing == {}


def test_sections_tables_and_pictures_are_there_and_closed(made):
    read = Reader(made[1].html)
    assert not read.open
    assert read.tags.count("h1") == 1
    assert [value for tag, key, value in read.attributes if tag == "h2" and key == "id"] == [
        "summary", "features", "errors", "proof", "path", "what-ifs", "data", "provenance",
    ]  # fmt: skip
    assert read.tags.count("img") == read.tags.count("figcaption") == 5
    ids = [value for _, key, value in read.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    named = {f"#{value}" for value in ids}
    assert {value for _, key, value in read.attributes if key == "href"} <= named
    heads = [value for tag, key, value in read.attributes if tag == "th" and key == "scope"]
    assert len(heads) == read.tags.count("th")


def test_it_asks_for_nothing_from_elsewhere(made):
    read = Reader(made[1].html)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
    assert not [a for a in read.attributes if a[1] in ("srcset", "action", "data", "poster")]
    assert all(drawing.startswith(b"<?xml") for drawing in drawings(read))
    assert not [drawing for drawing in drawings(read) if b"<script" in drawing or b"<image" in drawing]
    assert not [a for a in read.attributes if a[1].startswith("on")]
    assert "http://" not in made[1].html.replace("http-equiv", "")
    policy = dict(made_policy(read))
    assert (policy["default-src"], policy["img-src"]) == ("'none'", "data:")
    assert "@import" not in made[1].html


def drawings(read):
    head = "data:image/svg+xml;base64,"
    sources = [value for _, key, value in read.attributes if key == "src"]
    assert all(source.startswith(head) for source in sources)
    return [base64.b64decode(source.removeprefix(head), validate=True) for source in sources]


def made_policy(read):
    (content,) = [value for tag, key, value in read.attributes if key == "content" and "default-src" in value]
    return [part.strip().split(" ", 1) for part in content.split(";")]


def test_numbers_are_those_of_the_parts(made):
    data, page = made
    words, found = Reader(page.html).words, page.found
    again = fs.path(data, max_features=[1, 2, 3], folds=3, seed=0)
    percents = again[["cv_error", "cv_se"]].map(percent).to_numpy().ravel()
    assert [text for text in percents if text not in words] == []
    for row in report.rows_of_weights(found):
        assert "".join(row) in words
    wrong = sum(found.predict(data) != data.y)
    assert f"({wrong} of {len(data)} samples)" in words
    assert values_hash(data) in words


def test_errors_are_those_of_cross_validate(made):
    data, page = made
    held = fs.cross_validate(data, max_features=2, cv=3)
    words = Reader(page.html).words
    assert f"Held-out error {held.in_words}, over 3 folds." in words
    assert held.sentence.removesuffix(".") in words
    counts = page.findings.errors.confusion.to_numpy()
    assert counts.sum(axis=1).tolist() == [(data.y > 0).sum(), (data.y < 0).sum()]
    assert counts[0, 1] + counts[1, 0] == round(held.error * len(data))
    assert f"ill{counts[0, 0]}{counts[0, 1]} well{counts[1, 0]}{counts[1, 1]}" in words
    assert [run.model for run in page.findings.rivals] == ["svm", "rfe"]


def test_features_have_the_number_of_folds_that_choose_them(made):
    _, page = made
    words, runs = Reader(page.html).words, page.findings.errors.runs
    for name, *weights in report.rows_of_weights(page.found)[:-1]:
        count = sum(name in selected for selected in runs["selected"])
        assert "".join([name, *weights, f"{count} of 3 folds"]) in words
    _, without = small(cv=0, max_path=0, what_ifs=0)
    assert "chosen in" not in Reader(without.html).words


def test_differences_have_the_p_value_of_the_named_test(made):
    _, page = made
    words, held = Reader(page.html).words, page.findings.errors
    assert words.count("corrected resampled t-test (Nadeau and Bengio 2003)") == 2
    for rival in page.findings.rivals:
        apart = (rival.runs["error"] - held.runs["error"]).astype(float)
        p = resampled_t_test(apart, 1 / 2)
        assert f"{100 * apart.mean():+.1f}%{f'{p:.3f}' if p == p else '–'}" in words
    path = page.findings.path
    for size in (1, 3):
        p = resampled_t_test(path.errors.loc[size] - path.errors.loc[2], 1 / 2)
        assert f"{percent(path.loc[size, 'cv_se'])}{f'{p:.3f}' if p == p else '–'}" in words


def test_a_best_size_at_the_edge_of_the_range_is_reported():
    X, y = table(["age", "dose", "mass"])
    data, hint = fs.Dataset.from_arrays(X, y), "The held-out error is least at the largest number of features, 1."
    page = fs.report(data, max_features=1, cv=3, max_path=1, what_ifs=0)
    assert hint in Reader(page.html).words
    assert "--max-path 2" in page.html
    page = fs.report(data.select_features(["age"]), max_features=1, cv=3, max_path=1, what_ifs=0)
    assert hint not in Reader(page.html).words  # there are no more features


def test_local_folders_are_not_on_the_page(tmp_path):
    for text, short in {
        "/home/me/p.csv": "p.csv", "--html=/tmp/a b/x.html": "--html=x.html", "/home/me/costs.csv:2": "costs.csv:2",
        "C:\\Users\\me\\p.csv": "p.csv", "data/p.csv": "data/p.csv", "a / b <= 1": "a / b <= 1", "3": "3",
    }.items():  # fmt: skip
        assert without_folder(text) == short
    X, y = table(["age", "dose"])
    X.assign(target=y).to_csv(tmp_path / "p.csv", index=False)
    data = fs.Dataset.from_csv(tmp_path / "p.csv")
    page = fs.report(data, max_features=1, cv=0, max_path=0, what_ifs=0, source=tmp_path / "p.csv")
    assert str(tmp_path) not in page.html
    assert ">p.csv<" in page.html


def test_the_weights_on_the_page_decide_as_the_selection_does(made):
    data, page = made
    words = Reader(page.html).words
    *features, (_, bias, _) = report.rows_of_weights(page.found)
    score = float(bias)
    for feature, weight, _ in features:
        assert f"{feature}{weight}" in words
        score = score + float(weight) * data.X[:, data.features.index(feature)]
    assert ((score > 0) == (page.found.predict(data) > 0)).all()


def test_costs_of_leaving_out_enclose_those_of_enumeration(made):
    data, page = made
    value, asked = page.found.objective, page.findings.necessity
    assert [role.feature for role in asked.roles] == list(page.found.table().index)
    for role in asked.roles:
        least, most = asked.price(role.feature)
        other = fs.select(data, max_features=2, force_out=[role.feature])
        assert least - 1e-4 * value <= other.objective - value <= most + 1e-4 * value
    assert asked.sentence in Reader(page.html).words


def test_side_constraints_are_shown_and_priced():
    rows = {"excludes": [("age", "dose")], "force_in": ["mass"], "signs": {"dose": "-"}}
    data, page = small(**rows, cv=0, max_path=0)
    words = Reader(page.html).words
    prices = {price.row.split("_age")[0]: price for price in page.findings.prices}
    assert set(prices) == set(rows)
    for kind, price in prices.items():
        free = fs.select(data, max_features=2, **{other: row for other, row in rows.items() if other != kind})
        cost, near = page.found.objective - free.objective, 1e-4 * page.found.objective
        assert price.least - near <= cost <= price.most + near
    assert 'excludes=("age", "dose") costs' in words
    assert "mass" not in [role.feature for role in page.findings.necessity.roles]  # it may not be left out


@pytest.mark.parametrize("model", ["fsp-m", "one-norm-svm"])
def test_names_of_the_data_are_text_and_nothing_else(model):
    X, y = table(HOSTILE, rows=60, labels=("<b>well</b>", '"><img src=x onerror=alert(2)>'))
    data = fs.Dataset.from_arrays(X.to_numpy(), y, features=HOSTILE, name="<i>data</i>", positive=min(y))
    words = {"max_features": 8, "max_path": 0} if model == "fsp-m" else {}
    page = fs.report(data, model, cv=2, what_ifs=5, **words)
    read = Reader(page.html)
    assert not read.open
    assert not {"script", "i", "b"} & set(read.tags)
    assert not [a for a in read.attributes if a[1].startswith("on")]
    for drawing in drawings(read):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
        assert b"<script" not in drawing
    for feature in page.found.selected:
        assert " ".join(legible(feature).split()) in read.words
    assert "49" not in [cell.strip() for cell in read.text]
    assert "\u202e" not in page.html
    assert "\x00" not in page.html


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("rfe", {"max_features": 2, "seed": 3}, "heuristic"),
        ("relief", {"max_features": 2}, "relief"),
        ("svm", {}, "4 of 4 features"),
        ("fsp-lambda", {"penalty": 2.0}, "proven optimal"),
        ("full-fs", {"penalty": 0.5, "C": 1.0}, "kernel weight"),
        ("gmeb", {"R_plus": 1.0, "R_minus": 1.0}, "Proven bound"),
        ("fsv", {"penalty": 0.2}, "no bound on better points"),
        ("fsmulti", {"max_features": 2}, "proven"),
        ("one-norm-svm", {"C": 0.1}, "Objective"),
    ],
)
def test_every_kind_of_model_has_a_true_page(model, given, said):
    _, page = small(**{"model": model, "max_features": None, "cv": 2, "max_path": None, **given})
    read = Reader(page.html)
    assert not read.open
    assert said in read.words
    if page.found.gap is None and page.findings.certified is None:
        assert "No selection under the same limits" not in read.words
        assert "proven optimal" not in page.findings.summary[0]
    for part, why in page.findings.missing.items():
        assert why in read.words, part


def test_a_stopped_search_says_how_far_it_may_be_from_the_best():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    y = np.where(X[:, :8].sum(axis=1) + 2 * rng.normal(size=120) > 0, 1, -1)
    data = fs.Dataset.from_arrays(X, y)
    page = fs.report(data, max_features=8, cv=0, max_path=0, what_ifs=0, iteration_limit=1)
    words = Reader(page.html).words
    assert page.found.gap > 1e-3
    assert f"the proven bound is {number(page.found.bound)}" in words
    assert "Stopped at the iteration limit" in words
    assert "proven optimal" not in words
    assert "cv = 0" in words


def test_a_rule_that_knows_nothing_is_called_so():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 12)), np.repeat(["a", "b"], [8, 32])
    with pytest.warns(fs.DataWarning):
        page = fs.report(fs.Dataset.from_arrays(X, y), max_features=2, cv=4, max_path=0, what_ifs=0)
    held = page.findings.errors
    assert held.error + held.standard_error >= 0.2
    words = Reader(page.html).words
    assert "and guessing has 50%: do not use this classifier." in words
    assert "The smaller class has only 8 samples" in words
    assert "class -1 has 8 samples" in words  # what the data show is said, too


def test_a_rule_of_thumb_is_held_against_the_best(made):
    data, _ = made
    page = fs.report(data, "rfe", max_features=1, cv=0, max_path=2)
    exact = fs.select(data, max_features=1)
    own, certified = fs.fsp.value(data.scaled("standard"), page.found.selected), page.findings.certified
    words = Reader(page.html).words
    assert own >= exact.objective - 1e-6
    assert certified.objective == pytest.approx(own, rel=1e-6)
    assert certified.bound <= exact.objective + 1e-6
    assert certified.sentence in words
    assert "FSP objective" in words


def test_weights_of_samples_are_told(made):
    data, _ = made
    page = fs.report(data.weighted(class_weight="balanced"), max_features=1, cv=0, max_path=0, what_ifs=0)
    assert "Weights of samples" in page.html
    assert page.found.selected == fs.select(data.weighted(class_weight="balanced"), max_features=1).selected


def test_the_seed_is_of_the_folds_and_of_the_solver(made):
    data, _ = made
    page = fs.report(data, max_features=2, cv=3, max_path=0, what_ifs=0, seed=3)
    assert page.findings.errors.error == fs.cross_validate(data, max_features=2, cv=3, seed=3).error


def test_groups_are_named_and_the_call_can_be_copied():
    data, page = small(at_most_of_group=({"age": "x", "dose": "x", "mass": "y"}, 1), cv=0, max_path=0, what_ifs=0)
    words = Reader(page.html).words
    assert "at_most_of_group{'groups': {'age': 'x', 'dose': 'x', 'mass': 'y'}, 'most': 1}" in words
    call = words[words.index("fs.report(data") : words.index(" factvalue solver")]
    again = eval(call, {"fs": fs, "data": data})
    assert again.found.selected == page.found.selected
    assert again.found.parameters == page.found.parameters


def test_features_of_a_category_are_told_and_their_rule_is_priced():
    rng = np.random.default_rng(0)
    age, colour = rng.normal(50, 10, 80), rng.choice(["red", "green", "blue"], 80)
    ill = (age - 50) / 10 + 1.5 * (colour == "red") + 0.4 * rng.normal(size=80) > 0.4
    frame = pd.DataFrame({"age": age, "colour": colour, "dose": rng.normal(size=80), "target": ill.astype(int)})
    frame.loc[::9, "dose"] = np.nan
    data = fs.Dataset.from_frame(frame, one_hot=True, impute="median")
    page = fs.report(data, max_features=2, cv=0, max_path=0)
    words = Reader(page.html).words
    assert "categoriescolour" in words
    assert "9 blanks by median" in words
    (price,) = page.findings.prices
    apart = {name: replace(category, together=False) for name, category in data.categories.items()}
    free = fs.select(replace(data, categories=apart), max_features=2)
    cost, near = page.found.objective - free.objective, 1e-4 * page.found.objective
    assert cost > 0.01 * page.found.objective
    assert price.least - near <= cost <= price.most + near


def test_a_method_without_a_sigma_is_not_called_unproven_for_it(made):
    page = fs.report(made[0], "fsmulti", max_features=2, cv=0, max_path=0)
    assert "proves no bound" not in page.html
    assert "such as fsp-m" in page.findings.missing["what_ifs"]


def test_the_time_left_is_that_of_the_whole_report(monkeypatch):
    seen = []

    def solve(done, clock):
        with progress.doing("fsp-m", left=lambda: 1.0):
            seen.append(progress._scene.line())

    monkeypatch.setattr(stages, "_errors", solve)
    small(time_limit=36000, max_path=0, what_ifs=0, progress=True)
    assert "9 h" in seen[0].partition("|")[0]


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_rounds_of_folds_are_those_of_the_real_number_of_workers(n_jobs):
    request = Request.of(fs.load_dataset("bupa"), max_features=1)
    words = {"max_path": None, "what_ifs": None, "time_limit": 10.0, "n_jobs": n_jobs}
    workers = joblib.cpu_count() if n_jobs == -1 else n_jobs
    assert Plan.of(request, cv=4, **words).rounds == -(-4 // min(4, workers))


def test_no_selection_is_no_page():
    with pytest.raises(fs.NoSelection, match=r"[Ii]nfeasible|[Nn]o selection"):
        small(force_in=["age", "dose", "mass"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cv": 1}, "cv=1"),
        ({"cv": 500}, "cv=0"),
        ({"max_path": 9}, "max_path=9"),
        ({"what_ifs": -1}, "what_ifs=-1"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"model": "nonsense"}, "not known"),
        ({"source": "nowhere.csv"}, "nowhere.csv"),
        ({"C": -1}, "C=-1"),
        ({"callback": print}, "callback"),
        ({"validation": 1}, "validation"),
    ],
)
def test_what_cannot_be_done_is_refused_before_it_begins(given, said):
    with pytest.raises(fs.ParameterError, match=said):
        small(**given)


def test_the_hash_is_that_of_the_file(tmp_path):
    X, y = table(["age", "dose"])
    file = tmp_path / "p.csv"
    X.assign(target=y).to_csv(file, index=False)
    page = fs.report(fs.Dataset.from_csv(file), max_features=1, cv=0, max_path=0, what_ifs=0, source=file)
    assert hashlib.sha256(file.read_bytes()).hexdigest() in page.html
    page.save(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text("utf-8") == page.html
    with pytest.raises(fs.ParameterError, match="cannot be written"):
        page.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.html"]
