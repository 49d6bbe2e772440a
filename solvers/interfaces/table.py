"""The table of solvers: capabilities, detection, installation and known defects of each."""

from __future__ import annotations

import math
from dataclasses import replace

from solvers.interfaces import adapters, installation
from solvers.interfaces.spec import DUALS, SOLVERS, SolverSpec
from solvers.interfaces.spec import Capability as C

_CONVEX = C.LP | C.MILP | C.QP | C.MIQP | C.QCP | C.MIQCP
_MIXED_INTEGER = _CONVEX | C.NONCONVEX | C.SOS
_LOCAL = C.LP | C.QP | C.QCP | C.NLP | DUALS
_CYIPOPT = "pip install cyipopt-wheels, or conda install -c conda-forge cyipopt"
_V1, _V2 = "pyomo.solvers.plugins.solvers.", "pyomo.contrib.solver.solvers."
# Reduced costs within the dual tolerance count as 0. With the default tolerances of HiGHS and Gurobi, a reported
# optimum was wrong by 2e-3 in a model whose columns of size 1e5 have costs of 5e-8. The linear solver of SCIP has no
# smaller tolerance: see SMALL in whole_model/run.py. With the default tolerance of Gurobi for cones, 1e-6, a bound
# exceeded the optimum by 6e-6 of it.
_HIGHS_ACCURACY = {"dual_feasibility_tolerance": 1e-9}
_GUROBI_ACCURACY = {"OptimalityTol": 1e-9, "BarQCPConvTol": 1e-8}
_TIGHT = {"primal_feasibility_tolerance": 1e-9, "mip_feasibility_tolerance": 1e-9, "mip_abs_gap": 0.0}

# HiGHS stalls, aborts the process or reports false optima for quadratic models, so it is used for LP and MILP only: see
# docs/decisions/highs-sees-no-qp.md.
_HIGHS = SolverSpec(
    "highs",
    C.LP | C.MILP | C.LP_DUALS,
    "pip install highspy",
    adapters.highs_silent,
    installation.package("highspy", "highspy"),
    common_options={"seed": "random_seed"},
    option_names=installation.highs_options,
    context=adapters.highs,
    default_options=_HIGHS_ACCURACY,
    tight_options=_TIGHT | _HIGHS_ACCURACY,
    certificate_options={"presolve": "off"},
    interface=_V2 + "highs.Highs",
)
_IPOPT = SolverSpec(
    "ipopt",
    _LOCAL,
    f"an ipopt executable on the PATH (conda install -c conda-forge ipopt), or cyipopt: {_CYIPOPT}",
    adapters.ipopt,
    installation.executable("ipopt", "-v", r"Ipopt (\S+)"),
    common_options={"iteration_limit": "max_iter"},
    warm_start_options={"mu_init": 1e-4},
    default_options={"constr_viol_tol": 1e-7, "bound_relax_factor": 1e-10},
    option_names=installation.ipopt_options,
    checks_options=True,
    local=True,
    fallback="cyipopt",
    interface=_V2 + "ipopt.Ipopt",
)
_GUROBI = SolverSpec(
    "gurobi",
    _MIXED_INTEGER | C.LP_DUALS | C.LAZY_CUTS,
    "pip install gurobipy (without a licence: at most 2000 rows and columns, fewer with quadratic rows)",
    adapters.Gurobi,
    installation.package("gurobipy", "gurobipy"),
    common_options={"seed": "Seed"},
    option_names=installation.gurobi_options,
    checks_options=True,
    seconds_per_term=3e-6,
    max_big_m=1e5,  # with 5e5 it reported 36532 as optimal; the optimum is 33846
    least_curvature=1e-6,  # below 3e-7, 16 of 270 bounds of random models were wrong; above it none of 360
    default_options=_GUROBI_ACCURACY,
    tight_options={"IntFeasTol": 1e-9, "FeasibilityTol": 1e-9, "MIPGapAbs": 0.0, **_GUROBI_ACCURACY},
    required_options={"DualReductions": 0},  # with 1 it reported 5.35e6 as optimal (optimum 5.03e6)
    interface=_V2 + "gurobi.gurobi_persistent.GurobiPersistent",
    serialised=True,
)

SOLVERS.update(
    (spec.name, spec)
    for spec in [
        _HIGHS,
        SolverSpec(
            "clarabel",
            C.LP | C.QP | C.QCP | DUALS,
            "pip install clarabel",
            adapters.clarabel,
            installation.package("clarabel", "clarabel"),
            common_options={"iteration_limit": "iteration_limit"},
            checks_options=True,
            seconds_per_term=7e-7,
            interior=True,
            certificate_options={"tol_infeas_abs": 1e-14, "tol_infeas_rel": 1e-14},
            interface="solvers.clarabel.interface.Clarabel",
        ),
        replace(
            _IPOPT,
            name="pounce",
            install="pip install pyomo-pounce",
            make=adapters.pounce,
            version=installation.package("pyomo_pounce", "pyomo-pounce"),
            default_options={"constr_viol_tol": 1e-7},
            fallback="",
            interface="pyomo_pounce.v2.Pounce",
        ),
        # SCIP 10 cuts off optima by two kinds of cuts for ordered sets: by bound inequalities if there are rows
        # x_j <= t for a variable t and members x_j of several sets, and by disjunctive cuts if the objective is
        # quadratic.
        SolverSpec(
            "scip",
            _MIXED_INTEGER | C.NLP | C.MINLP,
            "pip install pyscipopt",
            adapters.Scip,
            installation.package("pyscipopt", "pyscipopt"),
            context=adapters.with_event,
            common_options={"seed": "randomization/randomseedshift"},
            retry_options={"numerics/feastol": 1e-9},
            tight_options={
                "numerics/feastol": 1e-7,
                "numerics/dualfeastol": 1e-9,
            },  # with smaller values its LP solver prints warnings
            seconds_per_term=3e-6,
            required_options={
                "constraints/SOS1/maxboundcuts": 0,
                "constraints/SOS1/maxboundcutsroot": 0,
                "separating/disjunctive/freq": -1,
                "misc/allowstrongdualreds": False,  # with True it reported -1.990e6 as optimal (optimum -2.000e6)
            },
            # w^2 / s with s >= 0: it reported 1005.9 as optimal (optimum 4.3), and "infeasible" with s >= 1e-9
            proves_at_poles=False,
            least_coefficient=1e-9,  # its epsilon; with 1e-12 it reported 0.4 as optimal (optimum 1e-11)
            proves_with_sets=False,  # unbounded models with sets: once "infeasible", once "optimal"
            option_names=installation.scip_options,
            interface=_V2 + "scip.scip_direct.ScipDirect",
        ),
        _GUROBI,
        _IPOPT,
        replace(
            _IPOPT,
            name="cyipopt",
            install=_CYIPOPT,
            make=adapters.cyipopt,
            version=installation.package("cyipopt", "cyipopt-wheels", "cyipopt"),
            convert_option=installation.cyipopt_accepts,
            context=adapters.with_event,
            fallback="",
            interface="solvers.interfaces.ipopt.Ipopt",
            serialised=True,
        ),
        # The cbcbox of PyPI returns wrong LP duals, so the duals of cbc are not used. With a gap, the bound of cbc is
        # that of the LP relaxation, with either sign when maximising, so no gap is passed. Version 2.10.8 was wrong on
        # one of 2000 small mixed-integer models; without preprocessing it crashes on infeasible models.
        SolverSpec(
            "cbc",
            C.LP | C.MILP,
            "Debian: apt-get install coinor-cbc; conda: conda install -c conda-forge coin-or-cbc",
            adapters.classic("cbc"),
            installation.executable("cbc", "-stop", r"^(?:Version:|CBC) (\S+)"),
            common_options={"threads": "threads", "seed": "randomCbcSeed", "iteration_limit": "maxIterations"},
            option_names=installation.cbc_options,
            untrusted="its integer preprocessing cuts off optima, and without that it crashes",
            proves_optimum=True,
            interface="pyomo.solvers.plugins.solvers.CBCplugin.CBCSHELL",
            serialised=True,
        ),
        # With a MIP gap, glpk reports "feasible" without a bound, so no gap is passed.
        SolverSpec(
            "glpk",
            C.LP | C.MILP | C.LP_DUALS,
            "Debian: apt-get install glpk-utils; conda: conda install -c conda-forge glpk",
            adapters.Glpk,
            installation.executable("glpsol", "--version", r"Solver,?\s+v?(\d\S*)"),
            option_names=installation.glpk_options,
            seconds=math.ceil,
            proves_optimum=True,
            interface="pyomo.solvers.plugins.solvers.GLPK.GLPKSHELL",
            serialised=True,
        ),
        # HiGHS with Pyomo's older interface.
        replace(
            _HIGHS,
            name="appsi_highs",
            make=adapters.classic("appsi_highs"),
            common_options={"gap": "mip_rel_gap", "threads": "threads", "seed": "random_seed"},
            interface="pyomo.contrib.appsi.solvers.highs.Highs",
            serialised=True,
        ),
        replace(
            _GUROBI,
            name="gurobi_direct",
            capabilities=_MIXED_INTEGER | DUALS,
            install="pip install gurobipy",
            make=adapters.classic("gurobi_direct"),
            common_options={"gap": "MIPGap", "time_limit": "TimeLimit", "threads": "Threads", "seed": "Seed"},
            seconds_per_term=2e-6,
            interface=_V1 + "gurobi_direct.GurobiDirect",
        ),
        SolverSpec(
            "cplex",
            _CONVEX | DUALS,
            "pip install cplex (without a licence: at most 1000 rows and columns)",
            adapters.classic("cplex_direct"),
            installation.package("cplex", "cplex"),
            common_options={
                "gap": "mip_tolerances_mipgap",
                "time_limit": "timelimit",
                "threads": "threads",
                "seed": "randomseed",
            },
            checks_options=True,
            interface=_V1 + "cplex_direct.CPLEXDirect",
            serialised=True,
        ),
        SolverSpec(
            "xpress",
            _CONVEX | DUALS,
            "pip install xpress (with a community licence: small models)",
            adapters.classic("xpress_direct"),
            installation.package("xpress", "xpress"),
            common_options={"gap": "miprelstop", "time_limit": "timelimit", "threads": "threads", "seed": "randomseed"},
            checks_options=True,
            interface=_V1 + "xpress_direct.XpressDirect",
            serialised=True,
        ),
        # The entries below follow the documentation of Pyomo and of the vendor; they were not tested, without a
        # licence.
        SolverSpec(
            "mosek",
            C.LP | C.MILP | C.QP | C.MIQP | C.LP_DUALS,
            "pip install mosek, and a licence",
            adapters.classic("mosek_direct"),
            installation.package("mosek", "mosek"),
            common_options={
                "gap": "dparam.mio_tol_rel_gap",
                "time_limit": "dparam.optimizer_max_time",
                "threads": "iparam.num_threads",
                "seed": "iparam.mio_seed",
            },
            checks_options=True,
            interface=_V1 + "mosek_direct.MOSEKDirect",
            serialised=True,
        ),
        SolverSpec(
            "copt",
            C.LP | C.MILP | C.LP_DUALS,
            "pip install coptpy, a licence, and COPT's module copt_pyomo on the Python path",
            adapters.classic("copt_direct", module="copt_pyomo"),
            installation.package("copt_pyomo", "coptpy"),
            common_options={"gap": "RelGap", "time_limit": "TimeLimit", "threads": "Threads"},
            checks_options=True,
            unsupported_options=frozenset({"seed"}),
            interface="copt_pyomo.CoptDirect",
            serialised=True,
        ),
        SolverSpec(
            "knitro",
            C.LP | C.QP | C.QCP | C.NLP,
            "pip install knitro, and a licence",
            adapters.modern("knitro_direct"),
            installation.package("knitro", "knitro"),
            checks_options=True,
            local=True,
            unsupported_options=frozenset({"seed"}),
            interface=_V2 + "knitro.direct.KnitroDirectSolver",
            serialised=True,
        ),
        SolverSpec(
            "baron",
            _MIXED_INTEGER & ~C.SOS | C.NLP | C.MINLP,
            "a baron executable on the PATH, and a licence",
            adapters.classic("baron"),
            installation.executable("baron", "-v", r"(\d+\.\d+\.\d+)"),
            common_options={"gap": "EpsR", "threads": "threads"},
            unsupported_options=frozenset({"seed"}),
            interface=_V1 + "BARON.BARONSHELL",
            serialised=True,
        ),
    ]
)
