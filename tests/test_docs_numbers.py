"""Every measured figure in README and docs, and every number in the paper, is on a page that follows from its log."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# docs/decisions is left out: a record of a decision has the measurements of its date.
PAGES = [ROOT / "README.md", ROOT / "solvers" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [*sorted((ROOT / "docs" / "formulations").glob("*.md")), ROOT / "paper" / "paper.md"]
FIGURE = re.compile(
    r"[-+]?\d[\d,]*(?:\.\d+)?(?: ± \d+\.\d+)?(?:%| (?:ms|s|seconds?|minutes?|MB|GB|points|times)\b)|\S+ ± \S+\d"
)
NUMBER = re.compile(rf"{FIGURE.pattern}|(?<![\w.])\d[\d,]*(?:\.\d+)?(?: of \d+)?\b")
STATED = {  # page: figures that are settings, or describe an installation
    "README.md": {"620 MB"},
    "beyond-one-answer.md": {"5%"},
    "budgets.md": {"120 s", "30 s", "1%"},
    "command-line.md": {"120 seconds"},
    "solvers.md": {"82 MB", "48 MB", "0.1 s", "1%"},
    "your-tables.md": {"12.5%"},
}
pytestmark = pytest.mark.skipif(not PAGES[0].is_file(), reason="tests run without the source tree")


def sections(text):
    """The prose of each section on one line, without code, formulas and the fields at the top of the paper."""
    left_out = r"\A---\n.*?^---\n|^```.*?^```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$"
    prose = re.sub(left_out, "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(part.split()) for part in re.split(r"^#+ .*$", prose, flags=re.MULTILINE)]


def unknown(page):
    """Return the figures of a page that no page of results linked in their section has."""
    lost, pattern = [], NUMBER if page.name == "paper.md" else FIGURE
    for section in sections(page.read_text("utf-8")):
        linked = re.findall(r"\]\(([^)#]*benchmarks/results/\w+\.md)", section)
        measured = " ".join((page.parent / link).read_text("utf-8") for link in linked)
        found = pattern.findall(section)
        lost += [figure for figure in found if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", measured)]
    return set(lost)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_is_on_a_linked_page_of_results_or_a_setting(page):
    assert unknown(page) <= STATED.get(page.name, set()), "link the page of results that has the figure"


def test_a_figure_without_a_log_is_found(tmp_path):
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "first_page.md").write_text("It takes 3 s, +0.7 ± 0.2 points.")
    page = tmp_path / "README.md"
    page.write_text(
        "# A\n\nIn 3 s by +0.7 ± 0.2, see [all cells](benchmarks/results/first_page.md).\n\n## B\n\nIn 3 s or 12%.\n"
    )
    assert unknown(page) == {"3 s", "12%"}
    page = tmp_path / "paper.md"
    page.write_text(
        "---\ndate: 2026\n---\n# A\n\n$2 w$ of 7 in 3 s [@a2015], [page](benchmarks/results/first_page.md): 4 of 5.\n"
    )
    assert unknown(page) == {"7", "4 of 5"}
