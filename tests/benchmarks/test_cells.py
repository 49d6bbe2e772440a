"""Cells of a page are the statistics of their records that the format strings name."""

import json

import jinja2
import pytest

from benchmarks.harness import provenance
from benchmarks.harness.log import Log
from benchmarks.harness.page import Cell, Page, markdown_table

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


def test_a_page_starts_with_the_missing_runs_and_its_answer(tmp_path):
    table = '{{ grid(["method"], [(["FSV"], {"method": "FSV"})], [("error", "test.error", "{mean:.2f}")]) }}'
    page = page_of(tmp_path, f"## Table 1\n\nErrors.\n\n{table}", done=2, of=3)
    page.facts = {"seed": 0}
    page.write(folder=tmp_path)
    lines = (tmp_path / page.name).with_suffix(".md").read_text().splitlines()
    assert lines[4] == "Not finished: table 1 has 2 of 3; continue with `make tables`."
    assert lines[2] == "One. Two."
    assert lines[6] == "## Table 1"


@pytest.mark.parametrize(
    "cell",
    [
        Cell("fits", "error", "{mean}", {"method": "FSV"}),
        Cell("fits", "test.error", "{mean}", {"metod": "FSV"}),
        Cell("fits", "test.error", "{mean}", {"method": "FSV"}, minus={"method": "SVM"}, pair=("fold",)),
    ],
)
def test_a_field_that_no_record_has_raises(cell):
    with pytest.raises(ValueError, match="no record of fits has"):
        cell.text({"fits": FITS})


def test_what_is_to_come_is_a_dash():
    assert Cell("fits", "test.error", "{mean}", {"method": "FSB"}).text({"fits": FITS}) == "–"
    assert Cell("fits", "test.error", "{mean}", {"method": "FSB"}).text({"fits": []}) == "–"


def test_two_records_of_one_pair_are_an_error():
    cell = Cell("fits", "test.error", "{mean}", {"method": "FSV"}, minus={"method": "SVM"}, pair=("split",))
    with pytest.raises(ValueError, match="two records have"):
        cell.text({"fits": [*FITS, {"method": "SVM", "split": 1, "test": {"error": 0.1}}]})


def test_pair_and_minus_are_both_required():
    for half in ({"pair": ("split",)}, {"minus": {"method": "SVM"}}):
        with pytest.raises(ValueError, match="give both minus and pair"):
            Cell("fits", "test.error", "{mean}", **half)


def page_of(folder, body, done=1, of=1, **values):
    """Return a page with a template of its own."""
    (folder / "tried").with_suffix(".md.j2").write_text(f"# Title\n\nOne.\nTwo.\n\n{body}\n")
    page = Page("tried", {"__file__": str(folder / "module")}, fits=FITS)
    page.part("table 1", done, of, "make tables")
    return page.values(**values)


def page_of_cell(folder, cell, done=1):
    """Return a page with one table of one cell."""
    return page_of(folder, '{{ table(["error"], [[cell]]) }}', done, cell=cell)


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (Cell("fits", "test.error", "{mean}", {"method": "FVS"}), "'FVS' in"),
        (
            Cell("fits", "test.error", "{mean}", {"split": 0}, minus={"split": 2}, pair=("method",)),
            "no two records have",
        ),
    ],
)
def test_a_finished_page_has_no_cell_that_nothing_could_fill(cell, why, tmp_path):
    page_of_cell(tmp_path, cell, done=0).write(folder=tmp_path)
    with pytest.raises(ValueError, match=why):
        page_of_cell(tmp_path, cell).write(folder=tmp_path)


def test_two_records_with_the_same_key_raise():
    page = Page("tried", {"__file__": "module"}, fits=[*FITS, FITS[0]])
    with pytest.raises(ValueError, match="the same method, split"):
        page.key("fits", "method", "split")


def test_several_cells_of_one_entry_are_each_found_again(tmp_path):
    cells = [Cell("fits", "test.error", "{mean:.0%}", {"method": name}) for name in ("FSV", "SVM")]
    page_of_cell(tmp_path, [cells[0], " / ", cells[1], " |w|"]).write(folder=tmp_path)
    shown = (tmp_path / "tried").with_suffix(".md").read_text().splitlines()[6]
    assert shown == r"| 50% / 50% \|w\| |"
    places = [(cell["start"], cell["text"]) for cell in json.loads((tmp_path / "tried.json").read_text())["cells"]]
    assert places == [(0, "50%"), (6, "50%")]


def test_a_page_of_runs_on_two_machines_names_both(tmp_path):
    log = Log("tried", tmp_path / "logs")
    for day, machine in ((20, "slow"), (21, "fast")):
        log.begin({"date": f"2026-11-{day}", "machine": machine, "versions": {"numpy": "2.0"}, "gap": 1e-4})
        log.add({"split": day})
        log.pack()
        log.forget()  # as another process does
    page = page_of_cell(tmp_path, Cell("fits", "test.error", "{mean}", {"method": "FSV"}))
    page.facts = provenance.about()
    page.write(log, folder=tmp_path)
    facts = (tmp_path / "tried").with_suffix(".md").read_text().split("## The run")[1]
    for line in ("- runs: 2 tasks of 2 runs", "- date: 2026-11-20 to 2026-11-21", "- machine: slow or fast"):
        assert line in facts
    assert "- versions: numpy 2.0" in facts
    assert "- gap: 0.0001" in facts


def test_small_losses_are_no_negative_zero():
    cell = Cell("fits", "gain", "{mean:.1f} {mean:+.1f} {least:.0%} {mean:.2f}")
    assert cell.text({"fits": [{"gain": -0.01}]}) == "0.0 +0.0 -1% -0.01"


def test_where_may_name_a_tuple_that_the_log_has_as_a_list():
    assert Cell("fits", "gain", "{n}", {"shape": (1, 2)}).text({"fits": [{"gain": 1, "shape": [1, 2]}]}) == "1"


def test_words_of_a_table_are_to_the_left_and_numbers_to_the_right():
    assert markdown_table(["set", "error", "share"], [["a", "1.0", "–"], ["", "10.0", "5%"]]) == (
        "| set | error | share |\n|-----|------:|------:|\n| a   |   1.0 |     – |\n|     |  10.0 |    5% |"
    )


def test_lines_of_a_template_may_end_anywhere(tmp_path):
    item = "- An item\n  with {{ number('split', '{most:.0f}') }}\n- two"
    body = f"One paragraph\non two lines, 4 of\n5. They are joined.\n\n{item}"
    page_of(tmp_path, body).write(folder=tmp_path)
    told = (tmp_path / "tried").with_suffix(".md").read_text()
    assert "One paragraph on two lines, 4 of 5. They are joined.\n\n- An item with 2\n- two\n" in told


def test_a_name_that_a_template_lacks_is_an_error(tmp_path):
    with pytest.raises(jinja2.UndefinedError, match="unknown"):
        page_of(tmp_path, "{{ unknown }}").write(folder=tmp_path)
