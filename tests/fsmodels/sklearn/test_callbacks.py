"""scikit-learn's callbacks, in versions that have them."""

import pickle

import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fsmodels as fs
from fsmodels.sklearn import SelectorClassifier

callback = pytest.importorskip("sklearn.callback", reason="this version of scikit-learn has no callbacks")
IRIS = load_iris()


class Diary:
    """Notes what it is told; stops the solve at so many rows of the table."""

    def __init__(self, stop_at=None):
        self.stop_at, self.notes, self.scores = stop_at, [], []

    def setup(self, estimator, context):
        self.notes.append("setup")

    def teardown(self, estimator, context):
        self.notes.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.notes.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None, metadata=None):
        self.notes.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        rows = self.notes.count("end iteration")
        return self.stop_at is not None and rows >= self.stop_at


def test_a_fit_has_a_task_for_each_class_and_one_for_each_row_of_the_table():
    diary = Diary()
    est = SelectorClassifier(max_features=1).set_callbacks(diary).fit(IRIS.data, IRIS.target)
    assert [note for note in diary.notes if "iteration" not in note] == [
        "setup", "begin fit", "begin class 0", "end class 0", "begin class 1", "end class 1", "begin class 2",
        "end class 2", "end fit", "teardown",
    ]  # fmt: skip
    rows = sum(len(one.result.iterations) for one in est.selection_)
    assert diary.notes.count("end iteration") == rows > 3
    assert diary.scores == [est.score(IRIS.data, IRIS.target)]
    pickle.loads(pickle.dumps(est)).predict(IRIS.data)


def test_a_callback_that_stops_leaves_what_was_found_and_proven():
    sonar = fs.load_dataset("sonar")
    est = SelectorClassifier(max_features=5).set_callbacks(Diary(stop_at=1)).fit(sonar.X, sonar.y)
    assert est.selection_.stop_reason.value == "callback"
    assert est.bound_ < est.objective_


def test_a_model_without_a_table_has_its_tasks_and_an_error_ends_them():
    diary = Diary()
    SelectorClassifier("rfe", max_features=1).set_callbacks(diary).fit(IRIS.data, IRIS.target)
    assert diary.notes[0] == "setup"
    assert diary.notes[-1] == "teardown"
    with pytest.raises(ValueError, match="one class"):
        SelectorClassifier().set_callbacks(diary).fit(IRIS.data[:50], IRIS.target[:50])


def test_callbacks_of_a_pipeline_reach_the_classifier():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    est = SelectorClassifier(max_features=2).set_callbacks(monitor)
    pipe = make_pipeline(StandardScaler(), est).fit(IRIS.data, IRIS.target)
    assert monitor.get_logs().data[-1]["accuracy"] == pytest.approx(pipe.score(IRIS.data, IRIS.target))
