"""The explorer in Jupyter, as an anywidget."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget

from fsmodels.app.worker import PanelWorker
from fsmodels.insight.explore import Session

FOLDER = files("fsmodels.app")


class ExplorerWidget(anywidget.AnyWidget):
    """Widget that shows a session. ``load``: the Python expression that loads the data."""

    _esm = (FOLDER / "panel.js").read_text("utf-8")
    _css = (FOLDER / "panel.css").read_text("utf-8")

    def __init__(self, session: Session, load: str = "") -> None:
        super().__init__()
        name = session.task.spec.name
        self.worker = PanelWorker(session.data, name, session.arguments, self.send, load, session)
        self.on_msg(self._received)

    def _received(self, _: Any, request: Any, __: Any) -> None:
        if request.get("do") == "hello":
            self.send(self.worker.welcome())
        else:
            self.worker.submit(request)

    def close(self) -> None:
        """Close the widget and end its thread."""
        self.worker.close()
        super().close()
