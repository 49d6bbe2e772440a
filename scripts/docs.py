"""Build the site and open it: ``python scripts/docs.py``; ``--no-open`` only builds. Needs ``pip install ".[docs]"``.

Warnings are errors, nothing is fetched, and notebooks are shown as they are stored.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = (
    '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">fsmodels</a>'
)


_FETCHED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^"']+""")


def fetched(out: Path) -> list[str]:
    """Return what a browser would fetch from elsewhere: scripts, styles, pictures. Links that are clicked are none."""
    found = []
    for page in sorted(out.rglob("*.html")):
        found += [f"{page.relative_to(out)}: {tag}" for tag in _FETCHED.findall(page.read_text("utf-8"))]
    return found


def raw_formulas(out: Path) -> list[str]:
    """Return the pages that contain LaTeX which was not converted; the source of the packages is left out."""
    pages = [page for page in sorted(out.rglob("*.html")) if "_modules" not in page.parts]
    return [str(page.relative_to(out)) for page in pages if r"\(" in page.read_text("utf-8")]


def long_titles(out: Path) -> list[str]:
    """Return the titles of the sidebar with more than four words."""
    titles: set[str] = set()
    for page in sorted(out.rglob("*.html")):
        tree = page.read_text("utf-8").partition('class="sidebar-tree"')[2].partition("</aside>")[0]
        titles |= {
            re.sub("<[^>]+>", "", found) for found in re.findall(r'<a class="[^"]*reference[^"]*"[^>]*>(.*?)</a>', tree)
        }
    return sorted(title for title in titles if len(title.split()) > 4)


def build(out: Path) -> int:
    """Build into a folder; return Sphinx's exit code, or 1 if a page does not pass a check."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "auto"]
    code = subprocess.run([*command, "-c", str(ROOT / "docs"), str(ROOT), str(out)], cwd=ROOT, check=False).returncode
    if code == 0:
        (out / "index.html").write_text(START + "\n", "utf-8")
        checks = {"fetched from elsewhere": fetched, "LaTeX in a page": raw_formulas, "title too long": long_titles}
        problems = [f"{name}: {found}" for name, check in checks.items() for found in check(out)]
        print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
        code = int(bool(problems))
    return code


def main() -> int:
    """Build, and open what was built."""
    told = argparse.ArgumentParser(description="Build the site and open it.")
    told.add_argument("--out", type=Path, default=ROOT / "build" / "site", metavar="FOLDER", help="default build/site")
    told.add_argument("--no-open", action="store_true", help="build only")
    asked = told.parse_args()
    code = build(asked.out)
    if code == 0:
        print(f"Built: {asked.out / 'index.html'}")
        if not asked.no_open:
            webbrowser.open((asked.out / "index.html").resolve().as_uri())
    return code


if __name__ == "__main__":
    sys.exit(main())
