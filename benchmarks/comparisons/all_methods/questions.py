"""The five questions of ``all_methods``, written down before the results were seen, and their answers by test.

A data set is one observation: its value is the mean over the splits that all methods have there. Tests are those of
``ranks``, at 5%, each family of comparisons with one control corrected by Holm.
"""

from benchmarks.harness import ranks
from benchmarks.methods.catalogue import METHODS

LEVEL = 0.05
LINEAR = [name for name, method in METHODS.items() if method.family == "linear"]
KERNEL = [name for name, method in METHODS.items() if method.family == "kernel"]
HEURISTIC = [name for name, method in METHODS.items() if method.family == "heuristic"]
SELECTING = [*HEURISTIC, *LINEAR, *KERNEL]


def proof(by):
    """Ask whether the exact model errs less than heuristics."""
    question = f"Does the exact model have a smaller error than heuristics ({', '.join(HEURISTIC)})?"
    return family(by, "error", "FSP-M", HEURISTIC, question, "have")


def all_features(by):
    """Ask whether what the papers select errs more than all features."""
    question = "Do the linear selections of the papers have a larger error than all features?"
    return family(by, "error", "SVM", LINEAR, question, "have")


def kernels(by):
    """Ask whether kernels with feature weights err less than linear selections."""
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
    """Return Wilcoxon's p of errors beside others, set by set, and both in words."""
    p, fewer = ranks.signed_ranks(first, second), sum(a < b for a, b in zip(first, second, strict=True))
    apart = 100 * (mean(first) - mean(second))
    return p, f"{apart:+.1f} points, smaller on {fewer} of {len(first)} sets, Wilcoxon p = {p:.2g}"


def stability(by):
    """Ask whether exact selections change more from split to split than others."""
    question = "Are exact selections less stable over splits than others?"
    known = [at for at in sets(by) if all(by[name][at]["instability"] is not None for name in SELECTING)]
    if not known:
        return question, "This needs two splits of a set on which no method selects all or no features each time."
    by = {name: {at: of[at] for at in known} for name, of in by.items()}
    others = [name for name in SELECTING if name != "FSP-M"]
    return family(by, "instability", "FSP-M", others, question, "are", "more stable", "less stable")


def seconds(by):
    """Ask which of the papers' methods, their rival GMKL among them, cost more than elimination."""
    question = "Which methods of the papers, with one ranking or six fits each, take more CPU time than RFE?"
    return family(by, "cpu", "RFE", [*LINEAR, *KERNEL], question, "take", "less time", "more time")


ASKED = (proof, all_features, kernels, stability, seconds)


def family(by, value, control, others, question, verb, less="a smaller error", more="a larger error"):
    """Compare methods with a control in one value, less being better; return the question and what came out."""
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
    place = f"{control} has mean rank {found.mean[control]:.1f} of {len(names)} on {len(values)} sets"
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
    """Return the verb in the number of the names."""
    if len(names) > 1:
        return verb
    return {"have": "has", "are": "is", "take": "takes"}[verb]


def sets(by):
    """Return the sets, which are those of every method."""
    return list(next(iter(by.values())))


def mean(values):
    """Return the mean."""
    return sum(values) / len(values)
