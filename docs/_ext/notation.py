"""Mathematics in plain text, such as ``w_j^2 <= t_j sigma_j``, as LaTeX."""

from __future__ import annotations

import re

GREEK = "alpha|beta|gamma|delta|epsilon|eps|eta|lambda|mu|nu|xi|rho|sigma|theta|Delta|Omega|Sigma"
_PARTS = [
    ("space", r"\s+"),
    ("word", r"e\.g\.|i\.e\.|(?<=\w)-\w+"),
    ("function", r"\b(?:sum|min|max|sqrt)(?:_\w+)?\b"),
    (
        "symbol",
        rf"(?<![A-Za-z_\\])(?:{GREEK}|[A-Za-z])(?![A-Za-z0-9])~?(?:[+-](?=[_,;:.)\s]|$))?(?:_(?:\w+|[-+*]))?"
        rf"(?:\^(?:\([^()]*\)|-?\w+))?(?:'(?={GREEK}|[A-Za-z]\b|\W|$))?(?:_\w+)?",
    ),
    ("word", r"[A-Za-z][A-Za-z0-9]*(?:'s)?"),
    ("number", r"\d+/\d+|\d+(?:\.\d+)?(?:e-?\d+)?(?![A-Za-z]{2})(?:\^\w+)?"),
    ("operator", r"<=|>=|[-+*/=<>]|\.(?=[a-z]\b)"),
    ("open", r"[(\[{]"),
    ("close", r"[)\]}](?:\^\w+)?"),
    ("bar", r"\|\|?"),
    ("comma", r","),
    ("other", r"."),
]
_TOKEN = re.compile("|".join(f"(?P<p{k}>{pattern})" for k, (_, pattern) in enumerate(_PARTS)), re.DOTALL)
_OPERATORS = {"<=": r"\le ", ">=": r"\ge ", "*": r"\cdot ", ".": r"\cdot "}
_MATHEMATICS = {"space", "function", "symbol", "number", "operator", "open", "close", "bar", "comma"}
_ARTICLES = {"a", "A", "I"}


def tokens(text: str) -> list[tuple[str, str]]:
    """Return the parts of a text, each with its kind."""
    return [(_PARTS[int(found.lastgroup[1:])][0], found[0]) for found in _TOKEN.finditer(text)]


def converted(text: str) -> list[str]:
    r"""Return text and LaTeX in turn.

    >>> converted("so |w_j| <= W = sqrt(2 C m) at every sigma")
    ['so ', '\\lvert w_{j}\\rvert \\le W = \\sqrt{2 C m}', ' at every ', '\\sigma', '']
    """
    parts, found, k = tokens(text), [""], 0
    while k < len(parts):
        end = _end(parts, k)
        if end > k and not _joined(parts, k, end):
            found += [latex(parts[k:end]), ""]
            k = end
        else:
            found[-1] += parts[k][1]
            k += 1
    return found


def _joined(parts: list[tuple[str, str]], start: int, end: int) -> bool:
    """Return True if a letter, a digit or an underscore is next to a formula, where no role may begin or end."""
    before = parts[start - 1][1][-1] if start else " "
    after = parts[end][1][0] if end < len(parts) else " "
    return any(letter.isalnum() or letter == "_" for letter in (before, after))


def is_formula(text: str) -> bool:
    """Return True if a whole text is a formula with an operator or a power."""
    parts = tokens(text)
    return _end(parts, 0) == len(parts) and any(
        (kind == "operator" and part != ".") or "^" in part for kind, part in parts
    )


def _end(parts: list[tuple[str, str]], start: int) -> int:
    """Return the end of the longest formula that begins at a part; the start if there is none."""
    negative = parts[start][1] == "-" and [kind for kind, _ in parts[start + 1 : start + 2]] == ["symbol"]
    following = [part for _, part in parts[start + 1 : start + 3]]
    article = parts[start][1] in _ARTICLES and following[:1] == [" "] and following[1:] not in (["="], ["+"], ["-"])
    if article or parts[start][1] in ("sum", "min", "max"):  # a word of the text
        return start
    if not negative and parts[start][0] not in ("symbol", "function", "number", "open", "bar"):
        return start
    depth = bars = 0
    end = start
    for k in range(start, len(parts)):
        kind, part = parts[k]
        if kind not in _MATHEMATICS or (kind == "comma" and not depth):
            break
        if kind == "number" and k > start + 1 and [kind for kind, _ in parts[k - 2 : k]] == ["symbol", "space"]:
            break  # "makes r_j 0": a factor would precede the symbol
        depth += (kind == "open") - (kind == "close")
        bars += kind == "bar"
        if depth < 0:
            break
        following = parts[k + 1][1] if k + 1 < len(parts) else ""
        ends = kind in ("symbol", "number", "close", "bar") and not following.startswith("-")
        article = part in _ARTICLES and parts[k - 1 : k] != [] and (k == start or parts[k - 1][0] == "space")
        article = article and (k < 2 or parts[k - 2][0] not in ("operator", "comma"))
        if ends and depth == 0 and bars % 2 == 0 and not article:
            end = k + 1
    kinds = [kind for kind, _ in parts[start:end]]
    if ("symbol" not in kinds and "^" not in parts[end - 1][1]) or (len(kinds) == 1 and parts[start][1] in _ARTICLES):
        return start
    return end


def latex(parts: list[tuple[str, str]]) -> str:
    """Return the LaTeX of a formula."""
    found, roots, opened = "", [], False
    for k, (kind, part) in enumerate(parts):
        if kind == "symbol":
            product = part.endswith("'") and parts[k + 1 : k + 2] != [] and parts[k + 1][0] in ("symbol", "open")
            found += _symbol(part).replace(r"\prime", r"\top" if product else r"\prime")
        elif kind == "function":
            name, _, index = part.partition("_")
            if name == "sqrt" and parts[k + 1 : k + 2] == [("open", "(")]:
                roots.append(None)
                continue
            found += rf"\{name}" + (f"_{{{_index(index)}}}" if index else "") + " "
        elif kind == "open" and parts[k - 1 : k] and parts[k - 1][1] == "sqrt":
            roots[-1] = "}"
            found += r"\sqrt{"
        elif kind in ("open", "close"):
            if kind == "open":
                roots.append(None)
            closing = roots.pop() if kind == "close" and roots else None
            body, _, power = part.partition("^")
            body = closing or (rf"\{body}" if body in "{}" else body)
            found += body + (f"^{{{power}}}" if power else "")
        elif kind == "operator":
            found += _OPERATORS.get(part, part)
        elif kind == "number" and "/" in part:
            found += r"\tfrac{{{}}}{{{}}}".format(*part.split("/"))
        elif kind == "number" and "e" in part:
            size, exponent = part.split("e")
            found += (rf"{size} \cdot " if size != "1" else "") + f"10^{{{exponent}}}"
        elif part == "|":
            opened = not opened
            found += r"\lvert " if opened else r"\rvert "
        else:
            found += {"||": r"\lVert "}.get(part, " " if kind == "space" else part)
    return " ".join(found.split())


def _symbol(part: str) -> str:
    match = re.fullmatch(r"([A-Za-z]+)(~?)([+-]?)(?:_(\w+|[-+*]))?(?:\^(.+?))?('?)(?:_(\w+))?", part)
    if match is None:
        return part
    name, tilde, sign, index, power, prime, late = match.groups()
    body = rf"\{'epsilon' if name == 'eps' else name}" if len(name) > 1 else name
    body = rf"\tilde{{{body}}}" if tilde else body
    index = index or late
    if sign and not index and name != "v":
        sign, index = "", sign
    above = sign + latex(tokens((power or "").removeprefix("(").removesuffix(")"))) + (r"\prime" if prime else "")
    found = body + (f"_{{{_index(index)}}}" if index else "") + (f"^{{{above}}}" if above else "")
    return f"{found} " if found == body and len(name) > 1 else found


def _index(index: str) -> str:
    return rf"\{index}" if re.fullmatch(GREEK, index) else index
