"""Write results/README.md: every table and figure of the five papers with its page, progress and command.

    python -m benchmarks index

``index.json`` lists the page, heading and part of each row. The progress of the part and the answer of the page are
read from the JSON file of the page.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.log import RESULTS
from benchmarks.harness.page import JINJA, markdown_table


@dataclass(frozen=True)
class Row:
    """A table or figure of a paper: its page, its heading, and the part of the page with its progress."""

    paper: str
    what: str
    page: str | None = None
    heading: str = ""
    part: str = ""
    smaller: str = ""  # name of a smaller protocol, whose progress is the part "PART, SMALLER" of the page
    impossible: str = ""  # reason why the table cannot be repeated
    instead: str = ""  # data that replace those of the paper
    censored: str = ""  # limit that stopped runs before the limit of the paper

    def state(self):
        """Return one of ``STATES``, with progress, reason or data, and the command that runs the tasks."""
        if self.impossible:
            return f"impossible: {self.impossible}", ""
        parts = about(self.page).get("parts", {})
        if self.part not in parts:
            return "partial: not counted", ""
        done, of, command = (parts[self.part][key] for key in ("done", "of", "command"))
        small = parts[f"{self.part}, {self.smaller}"] if self.smaller else {"done": 0, "of": 1}
        limited = done < of and small["done"] == small["of"]  # all runs of the smaller protocol
        if done >= of or limited:
            return self.finished(limited), f"`{command}`"
        progress = f"partial: {done} of {of} tasks" if done or small["done"] else f"not begun: {of} tasks"
        return progress + f"; {self.smaller}: {small['done']} of {small['of']}" * bool(small["done"]), f"`{command}`"

    def finished(self, limited):
        """Return the state if all runs are finished; ``limited``: only those of the smaller protocol."""
        if self.censored:
            return f"censored: {self.censored}"
        if self.instead:
            return f"done on substitute data: {self.instead}" + f", {self.smaller}" * limited
        return f"done with a smaller protocol: {self.smaller}" if limited else "done"

    def link(self):
        """Return the link to the heading on the page."""
        return f"[{self.page}]({self.page}.md#{anchor(self.heading)})" if self.page else "none"


def anchor(heading):
    """Return the anchor that GitHub and MyST generate for a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


STATES = (
    "done",
    "done on substitute data",
    "done with a smaller protocol",
    "censored",
    "partial",
    "not begun",
    "impossible",
)
LISTED = json.loads(Path(__file__).with_name("index.json").read_text("utf-8"))
ROWS = [Row(**row) for row in LISTED["tables"]]
QUESTIONS = [(row["question"], row["page"]) for row in LISTED["questions"]]  # of the further comparisons


def about(page):
    """Return the JSON data of a page."""
    return json.loads((RESULTS / f"{page}.json").read_text())


def answer(page):
    """Return a link to the page, followed by its answer."""
    return f"[{page}]({page}.md): {about(page).get('answer', 'no answer yet')}"


def unfinished(page):
    """Return the parts of a page that are not finished, "" if there are none."""
    parts = about(page).get("parts", {}).items()
    missing = [f"{name} ({part['done']} of {part['of']})" for name, part in parts if part["done"] < part["of"]]
    return f" Not finished: {'; '.join(missing)}." if missing else ""


def summary():
    """Return a sentence with the number of rows in each state."""
    states = Counter(row.state()[0].split(":")[0] for row in ROWS)
    counts = [f"{states[state]} {state}" for state in STATES if states[state]]
    return f"The tables below have {len(ROWS)} entries: {', '.join(counts)}."


def table(paper):
    """Return the Markdown table of a paper."""
    rows = [[row.what, row.link(), *row.state()] for row in ROWS if row.paper == paper]
    return markdown_table(["table or figure", "page", "state", "command"], rows)


def text():
    """Return the text of the index."""
    pages = {}  # paper -> its pages, in order
    for row in ROWS:
        pages.setdefault(row.paper, {}).update({row.page: None} if row.page else {})
    template = Path(__file__).with_name("index.md.j2").read_text("utf-8")
    return JINJA.from_string(template).render(globals() | {"pages": pages}).rstrip() + "\n"


def main():
    (RESULTS / "README.md").write_text(text())
    print(f"Written: {RESULTS / 'README.md'}")
