"""The page in a real browser: nothing cut off, nothing asked for, nothing run. Skipped where there is no Chromium."""

import shutil

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
browsers = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is found")

HOSTILE = [
    "<script>document.title='run'</script>",
    '" onload="document.title=1',
    "{{ 7 * 7 }}",
    "$x^{2$",
    "\u05d0\u05d1\u05d2 \u202e reversed",
    "n" * 200,
    "</style></svg><img src=http://127.0.0.1:9/x>",
]
# Names of the visible elements that end outside the window.
OUTSIDE = """() => [...document.body.querySelectorAll("*")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.tagName + " " + e.textContent.slice(0, 60))"""
# Width of each figure on the page, in widths of the drawing; 0 if the image is not shown.
SCALES = """() => [...document.querySelectorAll("figure img")].map(e =>
    e.complete && e.naturalWidth > 0 ? e.getBoundingClientRect().width / e.naturalWidth : 0)"""
SMALLEST = 0.75  # the text of a drawing has 12 pixels


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))), columns=HOSTILE)
    y = np.where(X.iloc[:, 0] + X.iloc[:, 1] + 0.5 * rng.normal(size=60) > 0, "<b>ill</b>", "w" * 120)
    data = fs.Dataset.from_frame(X.assign(target=y), positive="<b>ill</b>", name="<i>data</i>")
    page = fs.report(data, max_features=7, cv=2, max_path=3, excludes=[(HOSTILE[0], HOSTILE[6])])
    path = tmp_path_factory.mktemp("page") / "report <1> & 'two'.html"
    page.save(path)
    return path


@pytest.fixture(scope="module")
def browser():
    with browsers.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_it_is_whole_at_every_width(file, browser, width, dark):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    assert [url for url in asked if not url.startswith("data:image/svg+xml")] == [file.as_uri()]
    assert said == []
    assert page.title().startswith("7 of 7") or page.title().startswith("6 of 7")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OUTSIDE) == []
    for section in page.query_selector_all("section"):
        assert section.is_visible()
        assert section.query_selector("h2").is_visible()
        assert section.bounding_box()["height"] > 40
    pictures = page.query_selector_all("figure img")
    assert len(pictures) == 5
    for picture in pictures:
        box = picture.bounding_box()
        assert min(box["width"], box["height"]) > 150
        assert picture.get_attribute("alt")
    assert min(page.evaluate(SCALES)) >= SMALLEST
    ink, paper = page.evaluate(
        "(() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor] })()"
    )
    assert (light(ink) > light(paper)) == dark
    page.close()


def light(color):
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])


def test_it_prints_in_black_on_white(file, browser):
    page = browser.new_page(color_scheme="dark")
    page.goto(file.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    paper = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')")
    assert paper.strip() == "#ffffff"
    page.set_viewport_size({"width": 673, "height": 900})  # A4 less its margins
    assert page.evaluate(OUTSIDE) == []
    page.close()


def test_what_is_not_in_the_page_may_not_be_loaded(file, browser):
    """The page's own policy forbids it, should anything ever come through."""
    page = browser.new_page()
    asked, refused = [], []
    page.goto(file.as_uri())
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    page.evaluate("""() => { for (const [tag, key] of [["img", "src"], ["script", "src"], ["iframe", "src"]]) {
        const e = document.createElement(tag); e[key] = "http://127.0.0.1:9/x"; document.body.append(e); } }""")
    page.wait_for_timeout(300)
    assert refused == [(url, "csp") for url in asked]
    page.close()
