"""A cell of a page is the statistic of its records that it names."""

from page import Cell, Page

FITS = [
    {"method": "FSV", "split": 0, "test": {"error": 0.25}},
    {"method": "FSV", "split": 1, "test": {"error": 0.75}},
    {"method": "SVM", "split": 1, "test": {"error": 0.5}},
    {"method": "SVM", "split": 2, "test": {"error": 0.5}},
    {"method": "OBD", "split": 0, "test": {"error": None}},
]


def test_mean_and_standard_error():
    cell = Cell("fits", "test.error", "{mean:.1f} ± {se:.1f} ({n})", {"method": "FSV"}, times=100)
    assert cell.text({"fits": FITS}) == "50.0 ± 25.0 (2)"


def test_the_spread_of_one_value_is_a_question_mark():
    assert Cell("fits", "test.error", "{mean:.2f} ± {se:.2f}", {"split": 0}).text({"fits": FITS}) == "0.25 ± ?"


def test_no_record_is_a_dash():
    assert Cell("fits", "test.error", "{mean:.1f}", {"method": "OBD"}).text({"fits": FITS}) == "–"


def test_differences_are_of_pairs_that_both_have():
    cell = Cell("fits", "test.error", "{mean:+.2f} ({n})", {"method": "FSV"}, minus={"method": "SVM"}, pair=("split",))
    assert cell.text({"fits": FITS}) == "+0.25 (1)"


def test_a_page_says_first_what_is_missing_and_then_its_answer(tmp_path):
    page = Page("tried", "Title", fits=FITS)
    page.answer("One. Two.")
    page.part("table 1", 2, 3, "make tables")
    page.section("Table 1", "Errors.")
    page.table(["method", "error"], [["FSV", Cell("fits", "test.error", "{mean:.2f}", {"method": "FSV"})]])
    page.write({"seed": 0}, tmp_path)
    lines = (tmp_path / page.name).with_suffix(".md").read_text().splitlines()
    assert lines[2] == "Not finished: table 1 has 2 of 3; `make tables` goes on."
    assert lines[4] == "One. Two."
    assert lines[6] == "## Table 1"
