"""The five questions of ``all_methods``, written down before the results were seen, and their answers by test.

A data set is one observation: its value is the mean over the splits that all methods have there. Tests are those of
``ranks``, at 5%, each family of comparisons with one control corrected by Holm.
"""

import ranks
from all_methods_fits import METHODS

LEVEL = 0.05
LINEAR = [name for name, method in METHODS.items() if method.family == "linear"]
KERNEL = [name for name, method in METHODS.items() if method.family == "kernel"]
HEURISTIC = [name for name, method in METHODS.items() if method.family == "heuristic"]
SELECTING = [*HEURISTIC, *LINEAR, *KERNEL]


def proof(by):
    """Ask whether the exact model errs less than the heuristics of the same model."""
    return family(
        by, "error", "FSP-M", HEURISTIC, "Does the exact model err less than heuristics of the same model?", "err"
    )


def all_features(by):
    """Ask whether what the papers select errs more than all features."""
    return family(by, "error", "SVM", LINEAR, "Do the papers' linear selections err more than all features?", "err")


def kernels(by):
    """Ask whether kernels with feature weights err less than linear selections."""
    question = "Do feature weights inside a kernel err less than linear selections?"
    means = [[mean([by[name][at]["error"] for name in group]) for at in sets(by)] for group in (KERNEL, LINEAR)]
    if len(means[0]) < 2:
        return question, "Not enough data sets yet."
    p = ranks.signed_ranks(*means)
    apart = 100 * (mean(means[0]) - mean(means[1]))
    fewer = sum(a < b for a, b in zip(*means, strict=True))
    word = "Yes" if p < LEVEL and apart < 0 else "No, more" if p < LEVEL else "Not shown"
    return question, (
        f"{word}: {apart:+.1f} points on the mean of {len(KERNEL)} against {len(LINEAR)} methods, less on {fewer} of "
        f"{len(means[0])} sets (Wilcoxon p = {p:.2g})."
    )


def stability(by):
    """Ask whether exact selections change more from split to split than others."""
    question = "Are exact selections less stable over splits than others?"
    if any(by[name][at]["instability"] is None for name in SELECTING for at in sets(by)):
        return question, "Needs two splits of every set."
    others = [name for name in SELECTING if name != "FSP-M"]
    return family(by, "instability", "FSP-M", others, question, "are", less="more stable", more="less stable")


def seconds(by):
    """Ask which of the papers' methods cost more than elimination."""
    question = "Which of the papers' methods cost more CPU time than RFE?"
    return family(by, "cpu", "RFE", [*LINEAR, *KERNEL], question, "cost")


ASKED = (proof, all_features, kernels, stability, seconds)


def family(by, value, control, others, question, verb, less="less", more="more"):
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
        return (
            question,
            f"Not shown: no method differs from {control} (least p after Holm {least:.2g}). {place}; {test}.",
        )
    said = place
    if below:
        said += f"; {verb_of(verb, below)} {less}: {', '.join(below)}"
    if above:
        said += f"; {verb_of(verb, above)} {more}: {', '.join(above)}"
    return question, f"{said} (p after Holm). {test}."


def verb_of(verb, names):
    """Return the verb in the number of the names."""
    if len(names) > 1:
        return verb
    return {"err": "errs", "are": "is", "cost": "costs"}[verb]


def sets(by):
    """Return the sets, which are those of every method."""
    return list(next(iter(by.values())))


def mean(values):
    """Return the mean."""
    return sum(values) / len(values)
