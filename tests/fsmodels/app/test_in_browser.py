"""The explorer in a real browser, served on 127.0.0.1 and as a widget. Skipped where there is no Chromium."""

import base64
import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.cli import main

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
browsers = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
server = pytest.importorskip("fsmodels.app.server", reason="the extra [app] is not installed")
widget = pytest.importorskip("fsmodels.app.widget", reason="the extra [app] is not installed")
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is found")

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
OPTIONS += ["--disable-component-update", "--disable-sync"]
HOSTILE = ["<img src=x onerror=document.title=1>", "</script><script>document.title=2</script>", "`a` b", "n" * 120]
READY = ".fsmodels-app:not(.busy)"
OUTSIDE = """() => [...document.body.querySelectorAll("*")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.tagName + " " + e.textContent.slice(0, 60))"""


def hostile():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))), columns=HOSTILE)
    y = np.where(X.iloc[:, 0] + X.iloc[:, 1] + 0.5 * rng.normal(size=60) > 0, "<b>ill</b>", "well")
    return fs.Dataset.from_frame(X.assign(target=y), positive="<b>ill</b>", name="<i>data</i>")


@pytest.fixture(scope="module")
def browser():
    with browsers.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def cleveland():
    with server.ExplorerServer(fs.load_dataset("cleveland"), "fsp-m", {}, 'fs.load_dataset("cleveland")') as running:
        yield running


def opened(browser, url, **options):
    """Open a page that fails on errors of its scripts."""
    page = browser.new_page(**options)
    page.errors = []
    page.on("console", lambda message: page.errors.append(message.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(url)
    wait(page, "optimal")
    return page


def wait(page, status):
    page.wait_for_selector(f'{READY}[data-status="{status}"]', timeout=60_000)


def after(page, action, status="optimal"):
    """Perform an action and wait for its answer."""
    finished = int(page.get_attribute(".fsmodels-app", "data-finished"))
    action()
    page.wait_for_selector(f'.fsmodels-app[data-finished="{finished + 1}"][data-status="{status}"]', timeout=60_000)


def selected(page):
    return [cell.inner_text() for cell in page.query_selector_all(".weights td:first-child")]


@in_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1200])
def test_the_panel_is_whole_at_every_width(browser, width, dark):
    with server.ExplorerServer(hostile(), "fsp-m", {"max_features": 4}) as running:
        scheme = "dark" if dark else "light"
        page = opened(browser, running.url, viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert page.title() == "fsmodels"
        assert set(selected(page)) <= set(HOSTILE)
        assert page.query_selector(".fsmodels-app img, .fsmodels-app script, .fsmodels-app b") is None
        assert [e.inner_text() for e in page.query_selector_all(".feature > span:first-child")][:3] == HOSTILE[:3]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(OUTSIDE) == []
        assert page.errors == []
        page.close()


@in_chromium
def test_edits_are_answered_and_history_goes_back(browser, cleveland):
    page = opened(browser, cleveland.url)
    first = selected(page)
    after(page, lambda: page.fill("textarea", "ca + cp <= 1"))
    assert not {"ca", "cp"} <= set(selected(page))
    assert "rows=['ca + cp <= 1']" in page.inner_text("pre >> nth=0")
    after(page, lambda: page.click('.feature:has-text("exang") label:has-text("out")'))
    assert "exang" not in selected(page)
    after(page, lambda: page.click(".history li:last-child button"))
    assert page.input_value("textarea") == ""
    assert selected(page) == first
    after(page, lambda: page.click("text=What is necessary?"))
    assert "cp, exang, ca, thal are in every model" in page.inner_text(".answer")
    assert page.errors == []
    page.close()


@in_chromium
def test_two_pages_share_the_history_and_keep_their_answers(browser, cleveland):
    first, second = opened(browser, cleveland.url), opened(browser, cleveland.url)
    before = selected(second)
    after(first, lambda: first.fill("input[type=number] >> nth=0", "2"))
    assert (len(selected(first)), selected(second)) == (2, before)
    third = opened(browser, cleveland.url)
    assert len(third.query_selector_all(".history li")) == len(first.query_selector_all(".history li"))
    for page in (first, second, third):
        page.close()


@in_chromium
def test_infeasible_and_invalid_questions_are_explained(browser, cleveland):
    page = opened(browser, cleveland.url)
    after(page, lambda: page.fill("textarea", "ca + nobody <= 1"), "error")
    assert '"nobody" is not a feature' in page.inner_text(".headline")
    after(page, lambda: page.fill("textarea", "ca + cp >= 2\nca + cp <= 1"), "infeasible")
    assert "No choice satisfies these together" in page.inner_text(".headline")
    after(page, lambda: page.fill("textarea", ""))
    page.close()


@in_chromium
def test_stop_keeps_the_incumbent_and_the_bound(browser):
    with server.ExplorerServer(fs.load_dataset("wdbc"), "fsp-m", {"max_features": 12, "C": 10.0}) as running:
        page = browser.new_page()
        page.goto(running.url)
        page.wait_for_selector('.live:has-text("objective 21")', timeout=60_000)
        page.click(".stop")
        wait(page, "feasible")
        assert "bound –" not in page.inner_text(".live")
        assert len(selected(page)) == 12
        page.close()


@in_chromium
def test_a_report_is_saved(browser):
    with server.ExplorerServer(hostile(), "fsp-m", {"max_features": 1}) as running:
        page = opened(browser, running.url)
        with page.expect_download(timeout=120_000) as download:
            page.click("text=Save report")
        with open(download.value.path(), encoding="utf-8") as file:
            assert file.read().startswith("<!DOCTYPE html>")
        page.close()


@in_chromium
def test_the_widget_shows_the_same_panel(browser):
    """The Python side of the widget, and its module loaded from a string as anywidget does."""
    session = fs.explore(fs.load_dataset("cleveland"), max_features=5, excludes=[("ca", "cp")])
    panel, events = session.panel("data"), []
    panel.send = events.append
    panel.worker.emit = events.append
    page = browser.new_page()
    page.expose_function("send", lambda request: panel._handle_custom_msg(request, []))
    page.add_style_tag(content=panel._css)
    module = base64.b64encode(panel._esm.encode()).decode()
    page.evaluate(
        """async (module) => {
        const panel = (await import(`data:text/javascript;base64,${module}`)).default;
        window.listeners = [];
        const model = { send, on: (name, listener) => name === "msg:custom" && window.listeners.push(listener) };
        panel.render({ model, el: document.body });
    }""",
        module,
    )
    for _ in range(200):
        while events:
            page.evaluate("(event) => window.listeners.forEach((f) => f(event))", events.pop(0))
        if page.query_selector(f'{READY}[data-status="optimal"]'):
            break
        page.wait_for_timeout(50)
    assert set(selected(page)) == set(session.found.selected)
    assert "excludes=[('ca', 'cp')]" in page.inner_text("pre >> nth=0")
    assert page.get_attribute(".fsmodels-app", "data-lm-suppress-shortcuts") == "true"
    page.close()
    panel.close()


# ------------------------------------------------------------------------------------------------- without a browser


def status_of(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def handshake(running, *, token=None, origin=None, host=None):
    """Return the first line of the answer to a WebSocket handshake."""
    address = running.origin.removeprefix("http://")
    token = running.url.split("/")[3] if token is None else token
    origin = running.origin if origin is None else origin
    lines = [f"GET /{token}/socket HTTP/1.1", f"Host: {host or address}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    lines += [f"Origin: {origin}"] if origin else []
    with socket.create_connection(address.split(":"), timeout=10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(200).split(b"\r\n")[0].decode()


def test_other_tokens_hosts_and_origins_are_rejected(cleveland):
    wrong = cleveland.url[:-2] + ("A/" if cleveland.url[-2] != "A" else "B/")
    assert status_of(cleveland.url) == status_of(f"{cleveland.url}panel.js") == 200
    assert [status_of(wrong), status_of(f"{cleveland.origin}/"), status_of(f"{cleveland.url}worker.py")] == [404] * 3
    assert status_of(cleveland.url, Host="evil.example") == 400
    assert status_of(cleveland.url, Origin="http://evil.example") == 404
    assert handshake(cleveland).split()[1] == "101"
    assert handshake(cleveland, token=wrong.split("/")[3]).split()[1] == "403"
    assert handshake(cleveland, origin="http://evil.example").split()[1] == "403"
    assert handshake(cleveland, origin="").split()[1] == "403"
    assert handshake(cleveland, host="evil.example").split()[1] in ("400", "403")


def test_requests_are_limited_and_malformed_ones_close_the_connection(cleveland):
    client = pytest.importorskip("websockets.sync.client")
    address = cleveland.url.replace("http", "ws") + "socket"
    for text in ("x" * (server.LARGEST + 1), "[1]", "{"):
        with client.connect(address, origin=cleveland.origin, max_size=None) as page:
            page.send(text)
            with pytest.raises(Exception, match=r"1003|1009"):
                page.recv(timeout=10)
    with client.connect(address, origin=cleveland.origin) as page:
        page.send(json.dumps({"do": "hello"}))
        assert json.loads(page.recv(timeout=10))["event"] == "welcome"


def test_the_command_prints_the_address_and_ends_at_ctrl_c(tmp_path):
    command = [sys.executable, "-m", "fsmodels", "app", "cleveland", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    lines = [process.stdout.readline() for _ in range(3)]
    url = lines[1].split()[1]
    assert status_of(url) == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


@pytest.mark.parametrize("module", ["anywidget", "uvicorn", "starlette"])
def test_without_the_extra_the_error_has_the_pip_command(module, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    for name in ("fsmodels.app.widget", "fsmodels.app.server", "starlette.applications"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    if module == "anywidget":
        with pytest.raises(fs.ParameterError, match=r'pip install "fsmodels\[app\]"'):
            fs.explore(fs.load_dataset("bupa"), max_features=2).panel()
    else:
        assert main(["app", "bupa", "--no-browser"]) == 2
        assert 'pip install "fsmodels[app]"' in capsys.readouterr().err


def test_the_package_does_not_import_the_extra():
    code = "import sys, fsmodels; fsmodels.explore; print({'starlette', 'uvicorn', 'anywidget'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
