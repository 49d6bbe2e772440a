"""Take docs/explorer.png in Chromium and print seconds of edits: ``python scripts/draw_explorer.py``.

Needs ``pip install ".[app]" playwright``. The seconds are those of a user: from the edit, with the delay of the panel,
to the answer on the page.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "explorer.png"
SIZE = {"width": 1200, "height": 900}
EDITS: list[tuple[str, Callable[[Any], None]]] = [
    ("max_features = 4", lambda page: page.fill("input[type=number] >> nth=0", "4")),
    ("max_features = 6", lambda page: page.fill("input[type=number] >> nth=0", "6")),
    ("max_features = 5", lambda page: page.fill("input[type=number] >> nth=0", "5")),
    ("first feature in", lambda page: page.click(".feature >> nth=0 >> label >> nth=0")),
    ("first feature free", lambda page: page.click(".feature >> nth=0 >> label >> nth=1")),
    ("C = 0.5", lambda page: page.fill("input[type=number] >> nth=1", "0.5")),
    ("C = 1", lambda page: page.fill("input[type=number] >> nth=1", "1")),
]


def main() -> None:
    """Measure on three data sets, and take the picture of the first."""
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in ("cleveland", "wdbc", "ionosphere"):
            measure(browser, name)
        browser.close()


def measure(browser: Any, name: str) -> None:
    """Print the seconds of each edit on a data set, and of a stop."""
    import fsmodels as fs
    from fsmodels.app.server import ExplorerServer

    with ExplorerServer(fs.load_dataset(name), "fsp-m", {"max_features": 5}, f'fs.load_dataset("{name}")') as server:
        page = browser.new_page(viewport=SIZE)
        page.goto(server.url)
        finished(page, 1)
        for count, (text, edit) in enumerate(EDITS, start=2):
            start = time.perf_counter()
            edit(page)
            finished(page, count)
            print(f"{name:<12} {text:<20} {time.perf_counter() - start:.2f} s")
        if name == "cleveland":
            page.fill("textarea", "ca + cp <= 1")
            page.click(".feature:has-text('exang') label:has-text('out')")
            page.click("text=What else is as good?")
            page.wait_for_selector("h2:text('As good')")
            page.mouse.move(0, 0)
            page.screenshot(path=PICTURE)
            print(f"written: {PICTURE.relative_to(ROOT)}")
        else:
            page.fill("input[type=number] >> nth=1", "50")
            page.fill("input[type=number] >> nth=0", "14")
            page.wait_for_selector(".live:has-text('bound')")
            time.sleep(1.0)
            start = time.perf_counter()
            count = page.evaluate("document.querySelector('.fsmodels-app').dataset.finished")
            page.click(".stop")
            while page.get_attribute(".fsmodels-app", "data-finished") == count:
                time.sleep(0.005)
            print(f"{name:<12} {'stop':<20} {time.perf_counter() - start:.2f} s")
        page.close()


def finished(page: Any, count: int) -> None:
    """Wait until a number of requests is finished."""
    while page.get_attribute(".fsmodels-app", "data-finished") != str(count):
        time.sleep(0.005)


if __name__ == "__main__":
    main()
