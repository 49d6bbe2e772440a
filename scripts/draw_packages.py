"""Read who imports whom, and draw docs/architecture.svg from it: ``python scripts/draw_packages.py``.

``LAYERS`` is the plan that tests/test_packages.py holds the imports to; the arrows of the picture are the imports
themselves, those within a package and to the base files left out. It is plain SVG: the same imports, the same file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"

# From the bottom. A package imports only from layers below its own; packages of one layer do not import one another. A
# file belongs to its folder unless it is listed here; files at the top of a package are its base, which all may use.
LAYERS = [
    "solvers (base)",
    "solvers.clarabel",
    "solvers.interfaces",
    "solvers.model solvers.lp solvers.box",
    "solvers.facts",
    "solvers.model_page",
    "solvers.drivers",
    "solvers.drivers.alternating solvers.drivers.benders solvers.drivers.cutting_plane solvers.drivers.sla "
    "solvers.drivers.two_layer",
    "solvers.drivers.branch_cut",
    "solvers.drivers.catalogue",
    "solvers.whole_model",
    "solvers.run",
    "solvers.comparison",
    "solvers.plugin",
    "solvers.import_hook",
    "solvers",
    "fsmodels (base)",
    "fsmodels.datasets",
    "fsmodels.datasets.synthetic fsmodels.certificates",
    "fsmodels.models.proofs",
    "fsmodels.models",
    "fsmodels.models.fsp.oracle",
    "fsmodels.models.concave fsmodels.models.fsp fsmodels.models.gmeb fsmodels.models.kernel "
    "fsmodels.models.multivariate",
    "fsmodels.baselines",
    "fsmodels.selection",
    "fsmodels.insight fsmodels.sklearn",
    "fsmodels.evaluation",
    "fsmodels.page",
    "fsmodels.insight.explore",
    "fsmodels.app",
    "fsmodels.cli",
    "fsmodels",
]
# What fsmodels may take from solvers, besides the package itself and its base.
ENTRIES = {"solvers.facts", "solvers.lp", "solvers.box"}


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return the file of each module of both packages."""
    found = {}
    for package in ("fsmodels", "solvers"):
        for file in sorted((root / package).rglob("*.py")):
            found[".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = file
    return found


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Return (module, name) of each import of a file, the type-only ones too; name is "" for ``import module``.

    Those of the stub beside it are its own: names that are imported when they are first used (``solvers.lazy``).
    """
    for source in (file, file.with_suffix(".pyi")):
        for node in ast.walk(ast.parse(source.read_text("utf-8") if source.is_file() else "")):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (("." * node.level + (node.module or ""), alias.name) for alias in node.names)


def arrows(root: Path = ROOT) -> set[tuple[str, str]]:
    """Return (module, module that it imports) for all modules of both packages."""
    known = modules(root)
    found = set()
    for module, file in known.items():
        for base, name in imports(file):
            target = f"{base}.{name}" if f"{base}.{name}" in known else base
            if target in known and target != module:
                found.add((module, target))
    return found


def package_of(module: str, known: dict[str, Path]) -> str:
    """Return the package of a module: itself if it has a layer, else its folder, else the base of its package."""
    if any(module in layer.split() for layer in LAYERS):
        return module
    if known[module].name == "__init__.py":
        return module
    if known[module].name == "__main__.py":  # of the command line
        return "fsmodels.cli"
    folder = module.rpartition(".")[0]
    return folder if "." in folder else f"{folder} (base)"


# ------------------------------------------------------------------------------------------------------- the picture

_WIDTH, _HEIGHT, _BOX, _STEP = 1010, 676, 46, 82
_LEFT, _RIGHT = 215, 735  # the middle of each package's column
# package -> (x of its middle, row from the top, width, the second line, which names packages inside it)
_PLAN: dict[str, tuple[float, int, int, str]] = {
    "fsmodels": (_LEFT - 95, 0, 130, "fs.*"),
    "fsmodels.cli": (_LEFT + 75, 0, 170, "the command fsmodels"),
    "fsmodels.selection": (_LEFT, 1, 320, "fs.select, fs.path: models, results, reports"),
    "fsmodels.baselines": (_LEFT, 2, 320, "RFE, filters, 1-norm SVM"),
    "fsmodels.models": (_LEFT, 3, 320, "a package for each paper: fsp, concave, gmeb, kernel, multivariate"),
    "fsmodels.datasets": (_LEFT, 4, 320, "CSV, svmlight, bags, scaling, splits, synthetic"),
    "solvers": (_RIGHT - 85, 0, 150, "solve, Result, facts"),
    "solvers.run": (_RIGHT + 85, 0, 150, "solver by name"),
    "solvers.whole_model": (_RIGHT, 1, 320, "one solver on a whole model, its answer proven"),
    "solvers.drivers": (_RIGHT, 2, 320, "a package for each algorithm: benders, branch_cut, ..."),
    "solvers.facts": (_RIGHT, 3, 320, "what a model tells: structure, blocks, certificate"),
    "solvers.lp": (_RIGHT - 112, 4, 96, "HiGHS, Pyomo"),
    "solvers.box": (_RIGHT - 6, 4, 96, "l-bfgs-b, ..."),
    "solvers.model": (_RIGHT + 104, 4, 112, "as numbers"),
    "solvers.interfaces": (_RIGHT, 5, 320, "every Pyomo solver by name: registry, adapters, runner"),
    "solvers.clarabel": (_RIGHT, 6, 320, "cones and convex quadratics as a Pyomo solver"),
    "fsmodels (base)": (_LEFT, 7, 320, ""),
    "solvers (base)": (_RIGHT, 7, 320, ""),
}
_COLOURS = {"fsmodels": ("#e8f0fb", "#2b5c9e"), "solvers": ("#e9f6ec", "#2c7a44")}
_BASE = ("#f2f2f2", "#777777")


def _shown(name: str) -> str:
    """Return the package of the picture that a package is part of."""
    while name not in _PLAN:
        name = name.rpartition(".")[0]
    return name


def drawn_arrows(root: Path = ROOT) -> list[tuple[str, str]]:
    """Return the arrows of the picture, in order."""
    known = modules(root)
    pairs = {(_shown(package_of(a, known)), _shown(package_of(b, known))) for a, b in arrows(root)}
    return sorted((a, b) for a, b in pairs if a != b and "(base)" not in a + b)


def picture(root: Path = ROOT) -> str:
    """Return the SVG."""
    known = modules(root)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif">',
        "<title>The packages of fsmodels and solvers, and who imports whom</title>",
        *(
            f'<defs><marker id="{package}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{stroke}"/></marker></defs>'
            for package, (_, stroke) in _COLOURS.items()
        ),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    lanes: dict[str, int] = {}
    parts += [_arrow(a, b, lanes) for a, b in drawn_arrows(root)]
    for name, (x, row, width, line) in _PLAN.items():
        package, base = name.split()[0].split(".")[0], "(base)" in name
        fill, stroke = _BASE if base else _COLOURS[package]
        if base:
            files = [m.split(".")[1] for m in known if m != package and package_of(m, known) == name]
            line = ", ".join(sorted(files))
        title = f"base of {package}, which all may use" if base else name.removeprefix(f"{package}.")
        top = _top(row)
        parts.append(
            f'<rect x="{x - width / 2:g}" y="{top}" width="{width}" height="{_BOX}" rx="6" fill="{fill}" '
            f'stroke="{stroke}"/><text x="{x:g}" y="{top + 19}" font-size="14" font-weight="bold" text-anchor="middle" '
            f'fill="#222">{title}</text><text x="{x:g}" y="{top + 36}" font-size="11" text-anchor="middle" '
            f'fill="#444">{line}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _top(row: int) -> int:
    return 24 + row * _STEP


def _arrow(a: str, b: str, lanes: dict[str, int]) -> str:
    """Return the line between two packages; lines that pass a layer are light and run in lanes beside the boxes."""
    (xa, ra, wa, _), (xb, rb, wb, _) = _PLAN[a], _PLAN[b]
    package, light = a.split(".")[0], False
    side, middle = (-1, _LEFT) if package == "fsmodels" else (1, _RIGHT)
    narrow = wb < 110 and rb == 4  # lp and box, which stand behind other packages: entered from above
    if package != b.split(".")[0]:
        k = lanes["across"] = lanes.get("across", -1) + 1
        x0, y0 = xa + wa / 2, _top(ra) + 10 + 5 * (k % 6)
        x1, y1 = (xb - 20 + 4 * (k % 6), _top(rb)) if narrow else (xb - wb / 2, _top(rb) + 8 + 5 * (k % 6))
        turn = f"{x1:g} {y1 - 45:g}" if narrow else f"{x1 - 70:g} {y1:g}"
        path = f"M{x0:g} {y0:g} C{x0 + 70:g} {y0:g} {turn} {x1:g} {y1:g}"
    elif ra == rb:
        towards = 1 if xb > xa else -1
        y = _top(ra) + _BOX / 2
        path = f"M{xa + towards * wa / 2:g} {y:g} L{xb - towards * wb / 2:g} {y:g}"
    elif rb - ra == 1:
        x0 = min(max(xb, xa - wa / 2 + 12), xa + wa / 2 - 12)
        x1 = min(max(xa, xb - wb / 2 + 12), xb + wb / 2 - 12)
        path = f"M{x0:g} {_top(ra) + _BOX} L{x1:g} {_top(rb)}"
    else:
        light = True
        k = lanes[package] = lanes.get(package, -1) + 1
        lane = middle + side * (170 + 5 * k)
        y0, y1 = _top(ra) + 6 + 4 * (k % 9), _top(rb) + 6 + 4 * (k % 9)
        behind = xa + side * wa / 2 != middle + side * 160  # another package is between it and the lanes
        start = f"M{xa + side * wa / 2:g} {y0:g} L{lane:g} {y0:g}"
        if behind:
            start = f"M{xa:g} {_top(ra)} L{xa:g} {_top(ra) - 6 - k % 9} L{lane:g} {_top(ra) - 6 - k % 9}"
        end = f"L{lane:g} {y1:g} L{xb + side * wb / 2:g} {y1:g}"
        if narrow:
            x1, y1 = xb + 12 + 5 * (k % 5), _top(rb) - 8 - 2 * (k % 5)
            end = f"L{lane:g} {y1:g} L{x1:g} {y1:g} L{x1:g} {_top(rb)}"
        path = f"{start} {end}"
    return (
        f'<path d="{path}" fill="none" stroke="{_COLOURS[package][1]}" stroke-opacity="{0.35 if light else 0.9}" '
        f'marker-end="url(#{package})"/>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(drawn_arrows())} arrows")
