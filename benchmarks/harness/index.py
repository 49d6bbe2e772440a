"""Write results/README.md: every table and figure of the five papers, its page, how much is there, the command.

    python -m benchmarks index

``index.json`` lists which part of a page each row is about. How much of it is done, and the answer of the page, are
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
    smaller: str = ""  # a smaller protocol, which the page counts as a part of its own: "PART, SMALLER"
    impossible: str = ""  # why
    instead: str = ""  # the data that replace those of the paper
    censored: str = ""  # the limit at which runs stopped before that of the paper

    def state(self):
        """Return one of ``STATES``, most with how much, why or by which data, and the command that (re)makes it."""
        if self.impossible:
            return f"impossible: {self.impossible}", ""
        parts = about(self.page).get("parts", {})
        if self.part not in parts:
            return "partial: not counted", ""
        done, of, command = (parts[self.part][key] for key in ("done", "of", "command"))
        first = parts[f"{self.part}, {self.smaller}"] if self.smaller else {"done": 0}
        some = f"partial: {done} of {of} tasks" if done or first["done"] else f"not begun: {of} tasks"
        if first["done"]:
            some += f"; {self.smaller}: {first['done']} of {first['of']}"
        if done < of:
            return some, f"`{command}`"
        if self.censored:
            return f"censored: {self.censored}", f"`{command}`"
        return f"done on substitute data: {self.instead}" if self.instead else "done", f"`{command}`"

    def link(self):
        """Return the link to the heading on the page."""
        return f"[{self.page}]({self.page}.md#{anchor(self.heading)})" if self.page else "none"


def anchor(heading):
    """Return the anchor that GitHub and MyST give to a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


STATES = ("done", "done on substitute data", "censored", "partial", "not begun", "impossible")
LISTED = json.loads(Path(__file__).with_name("index.json").read_text("utf-8"))
ROWS = [Row(**row) for row in LISTED["tables"]]
QUESTIONS = [(row["question"], row["page"]) for row in LISTED["questions"]]  # further comparisons


def about(page):
    """Return the JSON data of a page."""
    return json.loads((RESULTS / f"{page}.json").read_text())


def answer(page):
    """Return the page's answer after a link to the page."""
    return f"[{page}]({page}.md): {about(page).get('answer', 'no answer yet')}"


def unfinished(page):
    """Return the progress of a page, "" if it is complete."""
    parts = about(page).get("parts", {}).values()
    done, of = (sum(part[key] for part in parts) for key in ("done", "of"))
    return f" Not finished: {done} of {of} runs." if done < of else ""


def summary():
    """Return how many rows have each state."""
    states = Counter(row.state()[0].split(":")[0] for row in ROWS)
    counts = [f"{states[state]} {state}" for state in STATES if states[state]]
    return f"The tables below have {len(ROWS)} entries: {', '.join(counts)}."


def table(paper):
    """Return the table of a paper."""
    rows = [[row.what, row.link(), *row.state()] for row in ROWS if row.paper == paper]
    return markdown_table(["table or figure", "page", "state", "command"], rows)


def text():
    """Return the index."""
    pages = {}
    for row in ROWS:
        pages.setdefault(row.paper, {}).update({row.page: None} if row.page else {})
    template = Path(__file__).with_name("index.md.j2").read_text("utf-8")
    return JINJA.from_string(template).render(globals() | {"pages": pages}).rstrip() + "\n"


def main():
    (RESULTS / "README.md").write_text(text())
    print(f"Written: {RESULTS / 'README.md'}")
