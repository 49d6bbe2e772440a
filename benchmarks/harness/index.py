"""Write results/README.md: every table and figure of the five papers, its page, how much is there, the command.

    python -m benchmarks index

Which part of a page a row is about stands here; how much of it is done, and the page's answer, are read from its JSON.
"""

import json
from collections import Counter
from dataclasses import dataclass

from benchmarks.harness.log import RESULTS
from benchmarks.harness.page import markdown_table


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
AYTUG, BRADLEY, PELEG = "Aytug 2015", "Bradley, Mangasarian, Street 1998", "Peleg, Meir 2005"
MAO, TAYAL = "Mao, Tsang 2013", "Tayal, Coleman, Li"

CONCAVE, GMEB, FSP, UCI = "concave_tables", "gmeb_tables", "fsp_paper", "fsp_uci"
KERNEL, RANKED = "kernel_tables", "kernel_rankings"
LIMITED = "most runs of GBD-M stopped at the CPU limit, before the 250 iterations of the paper"
SMALL = "smaller sets, table 1 of the page"
FACES = "Table 2, figures 4 and 6: faces"
MULTIVARIATE = "multivariate_tables"

ROWS = [
    Row(AYTUG, "Table 1: the algorithm", FSP, "Table 1: the algorithm", "table 1"),
    Row(AYTUG, "Table 2", FSP, "Table 2: test errors, data set one", "data set one"),
    Row(AYTUG, "Table 3", FSP, "Table 3: overlap with the true features, data set one", "data set one"),
    Row(AYTUG, "Figure 1", FSP, "Figure 1: TE_GBD - TE_x by M/n, data set one", "data set one"),
    Row(AYTUG, "Figure 2", FSP, "Figure 2: test errors by M, data set two", "data set two"),
    Row(AYTUG, "Figure 3", FSP, "Figure 3: CPU seconds by M, data set two", "data set two", censored=LIMITED),
    Row(AYTUG, "Table 4, with 14 sets", UCI, "Table 4: test errors", "UCI"),
    Row(
        AYTUG,
        "Tables 4 and 5, the rest of 25 sets",
        impossible="our copy of the paper names three of them, of which GINA is not available",
    ),
    Row(AYTUG, "Table 5, with 14 sets", UCI, "Table 5: run-times", "UCI", censored=LIMITED),
    Row(BRADLEY, "Table 1", CONCAVE, "Table 1: WPBC, largest reduction of cross-validation error", "table 1"),
    Row(BRADLEY, "Table 2", CONCAVE, "Table 2: Ionosphere, largest reduction of cross-validation error", "table 2"),
    Row(BRADLEY, "Table 3", CONCAVE, "Table 3: seconds at lambda = 0.05", "table 3"),
    Row(BRADLEY, "Figures 1-8", CONCAVE, "Figures 1-8", "figures 1-8"),
    Row(PELEG, "Table 1: the distribution of type 1", GMEB, "Table 3: type 1", "Table 1"),
    Row(PELEG, "Table 2: the real data sets", GMEB, "Figure 2: share of features", "Table 2"),
    Row(PELEG, "Table 3", GMEB, "Table 3: type 1", "Table 3"),
    Row(PELEG, "Type 2 (section 6.4.1)", GMEB, "Type 2 (section 6.4.1)", "Type 2"),
    Row(PELEG, "Table 4, with a part of set 3", GMEB, "Table 4: real data sets", "Table 4"),
    Row(
        PELEG,
        "Table 4, set 3 in full",
        GMEB,
        "Table 4: real data sets",
        impossible="Internet Advertisements (3280 x 1558) is not available; a part of it, 1966 x 1555, is used instead",
    ),
    Row(PELEG, "Figure 1", GMEB, "Figure 1: GMEB over the grid", "Figure 1"),
    Row(PELEG, "Figure 2", GMEB, "Figure 2: share of features", "Figure 2"),
    Row(TAYAL, "Table 1", KERNEL, "Table 1: NDCC", "table 1"),
    Row(TAYAL, "Table 2", KERNEL, FACES, impossible="the FEI faces are not available; handwritten digits replace them"),
    Row(TAYAL, "Table 3", KERNEL, "Table 3: UCI", "table 3", "coarse grids, threefold"),
    Row(TAYAL, "Figures 1-3", impossible="drawings of the loss, the cubes and some faces, without measurements"),
    Row(TAYAL, "Figure 4", KERNEL, FACES, impossible="the FEI faces are not available"),
    Row(TAYAL, "Figure 5", RANKED, "Figure 5: NDCC", "figure 5"),
    Row(TAYAL, "Figure 6", KERNEL, FACES, impossible="the FEI faces are not available"),
    Row(TAYAL, "Figures 7-14", RANKED, "Figures 7-14: UCI", "figures 7 to 14", "coarse grids, threefold"),
    Row(
        MAO,
        "Table 1: the paper's data",
        MULTIVARIATE,
        "Table 1: data sets",
        impossible="none of the five sets is available; each is replaced by a smaller one",
    ),
    Row(MAO, "Table 2", MULTIVARIATE, "Table 2: means over classes at B = 250", "table 2", instead=SMALL),
    Row(MAO, "Figure 1", MULTIVARIATE, "Figure 1: sensitivity to C and B", "figure 1", instead=SMALL),
    Row(MAO, "Figure 2", MULTIVARIATE, "Figure 2: seconds of training", "figure 2", instead=SMALL),
    Row(
        MAO,
        "Figure 3",
        MULTIVARIATE,
        "Figure 3: test accuracy on text, compared with FGM, RFE and l1",
        "figure 3",
        instead=SMALL,
    ),
    Row(
        MAO,
        "Figure 4",
        MULTIVARIATE,
        "Figure 4: are the features of a small B among those of a larger one?",
        "figure 4",
        instead=SMALL,
    ),
    Row(MAO, "Figure 5", MULTIVARIATE, "Figure 5: test F1 with bags of instances (MILES)", "figure 5", instead=SMALL),
    Row(
        MAO,
        "Figure 6",
        MULTIVARIATE,
        "Figure 6: FSmulti minus FSmulti for errors, and minus the structural SVM",
        "figure 6",
        instead=SMALL,
    ),
    Row(MAO, "Figure 7", MULTIVARIATE, "Figure 7: F1 compared with l1 and RFE", "figure 7", instead=SMALL),
]

QUESTIONS = [  # further comparisons: the question, its page
    ("Which method of the papers has the smallest error on the same data, and with how many features?", "all_methods"),
    ("Which method has the smallest error with one to ten features?", "all_methods_k"),
    ("Which methods satisfy a budget and a pair rule, and at what price?", "all_methods_rules"),
    (
        "What is the held-out error of small selections, compared with RFE, l1, forward selection and abess?",
        "first_page",
    ),
    ("How fast is exact selection proven, compared with SCIP and Gurobi?", "fsp_exact"),
    ("How fast is it proven on real tables, compared with the enumeration of all supports?", "fsp_real"),
    ("How fast are Benders and branch-and-cut on every form of the first model, and with a budget?", "fsp_benders"),
    ("How fast is it proven on the instances of Bertsimas et al., and compared with El0ps?", "sparse_rivals"),
    ("Is the first incumbent of branch-and-cut as good as the selection of abess?", "first_incumbent"),
    ("How does exact selection grow with features, samples, M and C, compared with abess and l1?", "wide"),
    ("How often do FSS, FSV and FSB find the proven optimum of FS?", "concave_optimum"),
    ("How fast is the solution of the subproblem at one support?", "sub_oracle"),
    ("How fast is GMEB with a budget solved, compared with SCIP?", "gmeb_rows"),
    ("Which local solver is more reliable on smooth models, Ipopt or pounce?", "nlp_solvers"),
    ("How do the drivers compare with other solvers on two-stage models, from 10 to 1,000 scenarios?", "two_stage"),
    ("How fast is Benders decomposition on models that are not SVMs?", "foreign_models"),
    ("Can a data set with a million features be solved?", "multivariate_scale"),
]


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


def text():
    """Return the index."""
    told = [
        "# Results",
        "This page lists every table and figure of the five papers. The linked pages compare our results with the "
        "numbers of the paper, or with its text where our copy has no numbers. Each page begins with its conclusion, "
        "which is repeated here. Its numbers are computed from the log of the run in `logs/`; a stopped run continues "
        "from this log.",
        summary(),
    ]
    for paper in dict.fromkeys(row.paper for row in ROWS):
        rows = [row for row in ROWS if row.paper == paper]
        pages = dict.fromkeys(row.page for row in rows if row.page)
        shown = [[row.what, row.link(), *row.state()] for row in rows]
        told += [f"## {paper}", "\n".join(f"- {answer(page)}" for page in pages)]
        told += [markdown_table(["table or figure", "page", "state", "command"], shown)]
    told.append("## Further comparisons")
    told.append("\n".join(f"- **{question}** {answer(page)}{unfinished(page)}" for question, page in QUESTIONS))
    return "\n\n".join(told) + "\n"


def main():
    (RESULTS / "README.md").write_text(text())
    print(f"Written: {RESULTS / 'README.md'}")
