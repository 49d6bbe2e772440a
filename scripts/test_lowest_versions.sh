#!/usr/bin/env bash
# Run tests where every dependency has the lowest version that setup.cfg allows, on the lowest Python that is found.
#   scripts/test_lowest_versions.sh [pytest arguments ...]     default: the tests that met old versions' differences
# Other Pythons, with the newest versions: PYTHON=python3.13 VERSIONS=newest scripts/test_lowest_versions.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-$(command -v python3.11 || echo python3)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" - "${VERSIONS:-lowest}" >"$work/requirements.txt" <<'END'
import configparser
import sys

config = configparser.ConfigParser()
config.read("setup.cfg")
lines = f"{config['options']['install_requires']}\n{config['options.extras_require']['test']}".split()
print("\n".join(line.replace(">=", "==") if sys.argv[1] == "lowest" else line for line in lines))
END
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$work/requirements.txt"
[ $# -gt 0 ] || set -- tests/solvers/lp/test_lp.py tests/solvers/test_run.py tests/solvers/interfaces/test_traps.py \
    tests/solvers/clarabel/test_clarabel.py tests/fsmodels/models/gmeb/test_gmeb_path.py \
    tests/fsmodels/models/fsp/test_svm_relaxation.py tests/fsmodels/selection/test_select.py \
    tests/fsmodels/sklearn/test_checks.py tests/fsmodels/sklearn/test_selector.py
PYTHONPATH=. OMP_NUM_THREADS=1 "$work/venv/bin/python" -m pytest -p no:cacheprovider "$@"
