"""An interrupted cell of Jupyter returns the incumbent, and the kernel goes on."""

import queue
import time

import pytest

CELL = """
import time
import numpy as np
import fsmodels as fs

rng = np.random.default_rng(3)
X = rng.normal(size=(300, 60))
data = fs.Dataset.from_arrays(X, np.where(X @ rng.uniform(-1, 1, 60) + 3 * rng.normal(size=300) > 0, 1, -1))

def told(row):
    if row["Incumbent"] is not None:
        print("incumbent")

found = fs.select(data, max_features=8, gap=1e-9, time_limit=1000, callback=told)  # takes minutes
"""


@pytest.fixture
def kernel():
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    pytest.importorskip("ipykernel")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=300)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def output(client, code, seen=lambda text: None):
    """Run a cell; return what it printed, or its error."""
    cell, text, until = client.execute(code), "", time.monotonic() + 500
    while time.monotonic() < until:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != cell:
            continue
        content = message["content"]
        text += content.get("text", "") + content.get("ename", "")
        seen(text)
        if content.get("execution_state") == "idle":
            return text
    pytest.fail(f"the cell does not end: {text}")


@pytest.mark.slow
def test_an_interrupted_cell_returns_the_incumbent_and_the_kernel_goes_on(kernel):
    manager, client = kernel
    pressed = []

    def press(text):
        if "incumbent" in text and not pressed:
            pressed.append(manager.interrupt_kernel())

    assert set(output(client, CELL, press).split()) == {"incumbent"}
    said = output(client, "print(found.stop_reason.value, found.bound < found.objective, len(found.selected) > 0)")
    assert said.split() == ["interrupted", "True", "True"]
    again = "print(fs.select(fs.load_dataset('bupa'), max_features=2).status.value)"
    assert output(client, again).split() == ["optimal"]
