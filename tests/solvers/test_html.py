"""HTML of the packages is written in one place, where text is escaped."""

from pathlib import Path

import pandas as pd

import solvers
from solvers import html

HOME = Path(solvers.__file__).parents[1]


def test_frames_hold_no_mathematics_and_no_markup():
    page = html.frame(pd.DataFrame({"<b>": ["$x$", "<i>"]}))
    assert "mathjax_ignore" in page
    assert "<i>" not in page
    assert "<b>" not in page


def test_what_shows_itself_in_jupyter_takes_its_frames_from_here():
    folders = [folder for folder in (HOME / "fsmodels", HOME / "solvers") if folder.is_dir()]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    direct = [file.name for file in files if "_repr_html_" in (text := file.read_text("utf-8")) and ".to_html(" in text]
    assert direct == []
