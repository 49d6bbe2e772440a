"""The five questions of ``all_methods``, fixed before the results were seen, and their answers by statistical tests.

A source of data is one observation, the mean over its sets and over the splits on which all methods have run. The tests
are those of ``ranks`` at the level 5%; the comparisons with one control are corrected by Holm's method.
"""

from benchmarks.harness import ranks
from benchmarks.methods.catalogue import METHODS

LEVEL = 0.05
LINEAR = [name for name, method in METHODS.items() if method.family == "linear"]
KERNEL = [name for name, method in METHODS.items() if method.family == "kernel"]
HEURISTIC = [name for name, method in METHODS.items() if method.family == "heuristic"]
SELECTING = [*HEURISTIC, *LINEAR, *KERNEL]


def proof(by):
    """Test whether the exact model has a smaller error than heuristics."""
    question = f"Does the exact model have a smaller error than heuristics ({', '.join(HEURISTIC)})?"
    return family(by, "error", "FSP-M", HEURISTIC, question, "have")


def all_features(by):
    """Test whether the linear selections of the papers have a larger error than all features."""
    question = "Do the linear selections of the papers have a larger error than all features?"
    return family(by, "error", "SVM", LINEAR, question, "have")


def kernels(by):
    """Test whether kernels with feature weights have a smaller error than linear selections."""
    question = "Do feature weights inside a kernel have a smaller error than linear selections?"
    weights, linear, plain = (
        [mean([by[name][at]["error"] for name in group]) for at in sets(by)] for group in (KERNEL, LINEAR, ["RBF SVM"])
    )
    if len(weights) < 2:
        return question, "Not enough data sets yet."
    p, words = beside(weights, linear)
    word = "Not shown" if p >= LEVEL else "Yes" if mean(weights) < mean(linear) else "No, larger"
    p, then = beside(weights, plain)
    why = "is not significantly different from" if p >= LEVEL else "is smaller than"
    why = "is larger than" if p < LEVEL and mean(weights) >= mean(plain) else why
    return question, (
        f"{word}: {words}, as means of {len(KERNEL)} and {len(LINEAR)} methods. In a test added after the results were "
        f"seen, the error {why} that of the RBF SVM on all features ({then})."
    )


def beside(first, second):
    """Return the p-value of Wilcoxon's test of paired errors, and a text with their difference."""
    p, fewer = ranks.signed_ranks(first, second), sum(a < b for a, b in zip(first, second, strict=True))
    apart = 100 * (mean(first) - mean(second))
    return p, f"{apart:+.1f} points, smaller on {fewer} of {len(first)} sources, Wilcoxon p = {p:.2g}"


def stability(by):
    """Test whether exact selections are less stable over splits than others."""
    question = "Are exact selections less stable over splits than others?"
    known = [at for at in sets(by) if all(by[name][at]["instability"] is not None for name in SELECTING)]
    if not known:
        return question, "This needs two splits of a set on which no method selects all or no features each time."
    by = {name: {at: of[at] for at in known} for name, of in by.items()}
    others = [name for name in SELECTING if name != "FSP-M"]
    return family(by, "instability", "FSP-M", others, question, "are", "more stable", "less stable")


def seconds(by):
    """Test which methods of the papers, including GMKL, take more CPU time than RFE."""
    question = "Which methods of the papers, with one ranking or six fits each, take more CPU time than RFE?"
    return family(by, "cpu", "RFE", [*LINEAR, *KERNEL], question, "take", "less time", "more time")


QUESTIONS = (proof, all_features, kernels, stability, seconds)


def family(by, value, control, others, question, verb, less="a smaller error", more="a larger error"):
    """Compare methods with a control in one value, where less is better; return the question and its answer."""
    names = [control, *others]
    values = [[by[name][at][value] for name in names] for at in sets(by)]
    if len(values) < 2:
        return question, "Not enough data sets yet."
    found = ranks.ranked(values, names)
    against = found.against(control)
    below, above = (
        [f"{name} ({p:.1g})" for name, (apart, p) in against.items() if p < LEVEL and sign * apart > 0]
        for sign in (-1, 1)
    )
    place = f"{control} has mean rank {found.mean[control]:.1f} of {len(names)} on {len(values)} sources"
    test = f"Friedman F = {found.F:.1f}, p = {found.p:.1g}"
    if not below and not above:
        least = min(p for _, p in against.values())
        text = f"Not shown: no method differs from {control} (smallest p after Holm {least:.2g})"
    else:
        parts = [f"{', '.join(of)} {verb_of(verb, of)} {how}" for of, how in ((below, less), (above, more)) if of]
        rest = len(others) - len(below) - len(above)
        text = f"{'; '.join(parts)} (p after Holm){f'; no difference is shown for the other {rest}' if rest else ''}"
    return question, f"{text}. {place}; {test}."


def verb_of(verb, names):
    """Return the singular of a verb for one name, its plural otherwise."""
    if len(names) > 1:
        return verb
    return {"have": "has", "are": "is", "take": "takes"}[verb]


def sets(by):
    """Return the sets, which are those of every method."""
    return list(next(iter(by.values())))


def mean(values):
    """Return the mean."""
    return sum(values) / len(values)
