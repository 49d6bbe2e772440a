#!/usr/bin/env bash
# Install the real Ipopt for the solver names "ipopt" and "cyipopt" on Debian or Ubuntu, into the active environment.
#
#     . my-venv/bin/activate && scripts/install_ipopt.sh
#
# Three steps, each skipped where it is done already: Debian's ASL and a compiler; cyipopt-wheels from PyPI, which holds
# Ipopt with MUMPS; Pyomo's ASL library, compiled from the source that ships inside Pyomo into Pyomo's own folder for
# libraries (~/.pyomo/lib, or lib in $PYOMO_CONFIG_DIR). At the end one model is solved. PYTHON=/path/to/python chooses
# another environment. On conda no script is needed: conda install -c conda-forge cyipopt pynumero_libraries
#
# Exit status: 0 it works; 75 Debian's libraries cannot be had here (no Debian, no root, no network); 1 anything else.
set -euo pipefail

PACKAGES=(libamplsolver-dev g++)
PYTHON=${PYTHON:-python}

say() { echo "install_ipopt: $*"; }
fail() { echo "install_ipopt: FAILED: $*" >&2; exit 1; }
cannot() { echo "install_ipopt: not possible here: $*" >&2; exit 75; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

command -v "$PYTHON" >/dev/null || fail "no \"$PYTHON\" on the PATH: activate an environment, or set PYTHON=/path/to/python"
"$PYTHON" -c "import pyomo" 2>/dev/null ||
    fail "$("$PYTHON" -c 'import sys; print(sys.executable)') has no Pyomo: first python -m pip install . there"

# ---- 1. Debian's libraries
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    cannot "this is not Debian; on conda: conda install -c conda-forge cyipopt pynumero_libraries"
missing=()
for package in "${PACKAGES[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
    say "apt-get install ${missing[*]}"
    root=()
    if [ "$(id -u)" -ne 0 ]; then
        root=(sudo)
        [ -t 0 ] || root=(sudo -n) # nobody there to type a password
        command -v sudo >/dev/null && "${root[@]}" true ||
            cannot "needs root: run as root apt-get install ${missing[*]}, then this script again"
    fi
    install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
    # Without network apt-get update fails only when told to. What is in apt's cache from before still serves.
    "${root[@]}" apt-get update -qq -o APT::Update::Error-Mode=any ||
        "${install[@]}" --download-only "${missing[@]}" >/dev/null ||
        cannot "apt-get does not reach Debian's servers (no network?), and needs from there: ${missing[*]}"
    "${install[@]}" "${missing[@]}" >/dev/null
else
    say "Debian's libraries are here"
fi

# ---- 2. cyipopt
if "$PYTHON" -c "import cyipopt" 2>/dev/null; then
    say "cyipopt is here"
else
    say "pip install cyipopt-wheels"
    "$PYTHON" -m pip install --quiet --pre cyipopt-wheels
    "$PYTHON" -c "import cyipopt"
fi

# ---- 3. Pyomo's ASL library
loads='import ctypes
from pyomo.contrib.pynumero.asl import CURRENT_INTERFACE_VERSION as current, AmplInterface
assert AmplInterface.available(), "Pyomo does not find it"
found = ctypes.CDLL(AmplInterface.libname).EXTERNAL_AmplInterface_version()
assert found == current, f"{AmplInterface.libname} has the version {found}, this Pyomo needs {current}"'
if "$PYTHON" -c "$loads" 2>/dev/null; then
    say "Pyomo finds its ASL library"
else
    library=$("$PYTHON" -c "from pyomo.common.envvar import PYOMO_CONFIG_DIR as d; print(d + '/lib/libpynumero_ASL.so')")
    source=$("$PYTHON" -c "import pyomo.contrib.pynumero as p; print(p.__path__[0] + '/src/AmplInterface.cpp')")
    [ -f "$source" ] || fail "Pyomo has no $source"
    archive=$(dpkg-query -L libamplsolver-dev | grep '/libamplsolver\.a$') || fail "libamplsolver-dev has no libamplsolver.a"
    header=$(dpkg-query -L libamplsolver-dev | grep '/asl_pfgh\.h$') || fail "libamplsolver-dev has no asl_pfgh.h"
    say "compiling $library"
    mkdir -p "$(dirname "$library")"
    new=$(mktemp "$library.XXXXXX")
    trap 'rm -f "$new"' EXIT
    g++ -O2 -fPIC -shared -DBUILDING_PYNUMERO_ASL -I "$(dirname "$header")" "$source" -o "$new" "$archive" -ldl
    chmod 755 "$new"
    mv -f "$new" "$library" # at once: a Python that has the old one loaded keeps it
    "$PYTHON" -c "$loads" || fail "Pyomo does not find or cannot load $library"
fi

# ---- and a solve
"$PYTHON" - <<'END' || fail "Ipopt is installed, but does not solve a model of one variable"
import pyomo.environ as pyo

m = pyo.ConcreteModel()
m.x = pyo.Var(initialize=1.0)
m.cost = pyo.Objective(expr=(m.x - 3) ** 2)
pyo.assert_optimal_termination(pyo.SolverFactory("cyipopt").solve(m))
assert abs(m.x.value - 3) < 1e-6, m.x.value
END
say "done: the solver names \"ipopt\" and \"cyipopt\" work in $("$PYTHON" -c 'import sys; print(sys.prefix)')"
