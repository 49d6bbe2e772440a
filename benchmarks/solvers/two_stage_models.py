"""Two-stage models in the structure of public test sets, with any number of scenarios.

``FAMILIES[name]`` is a class with ``draw(scenarios, seed)``, which returns the data of the scenarios (one row each),
and ``model(data, chosen)``, which returns the Pyomo model of the chosen scenarios, each of probability 1 / len(chosen).
The variables of the first stage are in ``model.first``, a list.

Sources (the data are drawn here by the rules below; no file of the test sets is included):

- farmer: J. Birge, F. Louveaux, "Introduction to Stochastic Programming", Springer 1997, section 1.1; yields are normal
  with a deviation of 20%, as in ``foreign_models``.
- facility: capacitated facility location with random demand, as in notebook 09.
- dcap: S. Ahmed, R. Garcia, "Dynamic capacity acquisition and assignment under uncertainty", Annals of Operations
  Research 124 (2003), the structure of the sets dcap in SIPLIB: resources are expanded over periods, and tasks are
  assigned. Fixed costs are uniform on [10, 50], costs of capacity and of assignments on [5, 10], requirements on
  [0.5, 1.5]; an unassigned task costs 500.
- sslp: L. Ntaimo, S. Sen, "The million-variable march for stochastic combinatorial optimization", Journal of Global
  Optimization 32 (2005), the structure of the sets sslp in SIPLIB: at most v servers, clients present with probability
  1/2, costs of servers uniform on [40, 80], demand and revenue of a client at a server on [0, 25]; overflow costs 1,000
  per unit. Here the capacity of a server is 1.5 times the mean demand divided by v.

The recourse of dcap and sslp is binary in SIPLIB. "dcap" and "sslp" have its relaxation, which the Benders drivers
solve; "sslp, integer" has the binaries, which they reject.
"""

import numpy as np
import pyomo.environ as pyo


class Farmer:
    """Acres of three crops; then crops are bought and sold."""

    lowest = -1e6  # lower bound of the cost of the second stage

    @staticmethod
    def draw(scenarios, seed=0):
        """Return the yields (tons per acre) of the scenarios."""
        rng = np.random.default_rng(seed)
        return np.array([2.5, 3.0, 20.0]) * np.clip(rng.normal(1, 0.2, (scenarios, 3)), 0.3, 2)

    @staticmethod
    def model(crop, chosen):
        """Return the model of some scenarios."""
        S = range(len(chosen))
        crop = crop[chosen]
        m = pyo.ConcreteModel("farmer")
        m.acres = pyo.Var(range(3), bounds=(0, 500))
        m.buy, m.sell = pyo.Var(S, range(2), bounds=(0, None)), pyo.Var(S, range(4), bounds=(0, None))
        m.land = pyo.Constraint(expr=sum(m.acres.values()) <= 500)
        m.wheat = pyo.Constraint(S, rule=lambda m, s: crop[s, 0] * m.acres[0] + m.buy[s, 0] - m.sell[s, 0] >= 200)
        m.corn = pyo.Constraint(S, rule=lambda m, s: crop[s, 1] * m.acres[1] + m.buy[s, 1] - m.sell[s, 1] >= 240)
        m.beets = pyo.Constraint(S, rule=lambda m, s: m.sell[s, 2] + m.sell[s, 3] <= crop[s, 2] * m.acres[2])
        m.quota = pyo.Constraint(S, rule=lambda m, s: m.sell[s, 2] <= 6000)
        price = [(m.buy, 0, 238), (m.buy, 1, 210), (m.sell, 0, -170), (m.sell, 1, -150), (m.sell, 2, -36)]
        price.append((m.sell, 3, -10))
        trade = pyo.quicksum(p / len(S) * v[s, k] for s in S for v, k, p in price)
        m.now = pyo.Expression(expr=150 * m.acres[0] + 230 * m.acres[1] + 260 * m.acres[2])
        m.cost = pyo.Objective(expr=m.now + trade)
        m.first = list(m.acres.values())
        return m


class Facility:
    """Sites of one size are opened; then goods are shipped, or delivered by a carrier."""

    lowest, sites, towns = 0.0, 10, 25

    @classmethod
    def draw(cls, scenarios, seed=0):
        """Return distances (km) and demands (tons)."""
        rng = np.random.default_rng(seed)
        site, town = (rng.uniform([0, 0], [300, 200], (n, 2)) for n in (cls.sites, cls.towns))
        size = rng.lognormal(np.log(400), 0.6, cls.towns)
        factor = rng.normal(0, 0.25, (scenarios, 1)) + rng.normal(0, 0.35, (scenarios, cls.towns))
        boom = np.where(town[:, 0] < 150, *np.hsplit(rng.random((scenarios, 2)) < 0.15, 2))
        return np.linalg.norm(site[:, None] - town[None], axis=2), size * np.exp(factor) * (1 + boom)

    @classmethod
    def model(cls, data, chosen):
        """Return the model of some scenarios."""
        km, demand = data[0], data[1][chosen]
        S, F, J = range(len(chosen)), range(cls.sites), range(cls.towns)
        m = pyo.ConcreteModel("facility")
        m.open = pyo.Var(F, domain=pyo.Binary)
        m.ship, m.carrier = pyo.Var(S, F, J, bounds=(0, None)), pyo.Var(S, J, bounds=(0, None))
        m.met = pyo.Constraint(
            S, J, rule=lambda m, s, j: sum(m.ship[s, i, j] for i in F) + m.carrier[s, j] == float(demand[s, j])
        )
        m.room = pyo.Constraint(S, F, rule=lambda m, s, i: sum(m.ship[s, i, j] for j in J) <= 4000 * m.open[i])
        m.now = pyo.Expression(expr=150_000 * sum(m.open.values()))
        road = pyo.quicksum(0.9 * float(km[i, j]) / len(S) * m.ship[s, i, j] for s in S for i in F for j in J)
        m.cost = pyo.Objective(expr=m.now + road + 320 / len(S) * pyo.quicksum(m.carrier.values()))
        m.first = list(m.open.values())
        return m


class Dcap:
    """Resources are expanded over periods; then tasks are assigned to them, or left at a high cost."""

    lowest, resources, tasks, periods = 0.0, 3, 4, 3

    @classmethod
    def draw(cls, scenarios, seed=0):
        """Return costs of capacity, fixed costs, costs of assignments and requirements."""
        rng = np.random.default_rng(seed)
        size, fixed = (rng.uniform(low, high, (cls.resources, cls.periods)) for low, high in ((5, 10), (10, 50)))
        cost = rng.uniform(5, 10, (scenarios, cls.resources, cls.tasks, cls.periods))
        return size, fixed, cost, rng.uniform(0.5, 1.5, (scenarios, cls.tasks, cls.periods))

    @classmethod
    def model(cls, data, chosen):
        """Return the model of some scenarios."""
        size, fixed, cost, need = data[0], data[1], data[2][chosen], data[3][chosen]
        S, F, J, T = range(len(chosen)), range(cls.resources), range(cls.tasks), range(cls.periods)
        most = float(cls.tasks * 1.5)
        m = pyo.ConcreteModel("dcap")
        m.expand, m.bought = pyo.Var(F, T, bounds=(0, most)), pyo.Var(F, T, domain=pyo.Binary)
        m.assign, m.left = pyo.Var(S, F, J, T, bounds=(0, 1)), pyo.Var(S, J, T, bounds=(0, 1))
        m.fixed = pyo.Constraint(F, T, rule=lambda m, i, t: m.expand[i, t] <= most * m.bought[i, t])
        m.room = pyo.Constraint(
            S, F, T,
            rule=lambda m, s, i, t: sum(float(need[s, j, t]) * m.assign[s, i, j, t] for j in J)
            <= sum(m.expand[i, k] for k in range(t + 1)),
        )  # fmt: skip
        m.done = pyo.Constraint(
            S, J, T, rule=lambda m, s, j, t: sum(m.assign[s, i, j, t] for i in F) + m.left[s, j, t] == 1
        )
        m.now = pyo.Expression(
            expr=sum(float(size[i, t]) * m.expand[i, t] + float(fixed[i, t]) * m.bought[i, t] for i in F for t in T)
        )
        work = pyo.quicksum(
            float(cost[s, i, j, t]) / len(S) * m.assign[s, i, j, t] for s in S for i in F for j in J for t in T
        )
        m.cost = pyo.Objective(expr=m.now + work + 500 / len(S) * pyo.quicksum(m.left.values()))
        m.first = [*m.expand.values(), *m.bought.values()]
        return m


class Sslp:
    """At most v servers are placed; then the clients that are present are served."""

    servers, clients, most, integer = 5, 25, 3, False
    lowest = -25.0 * clients

    @classmethod
    def draw(cls, scenarios, seed=0):
        """Return prices of servers, demands, and the clients that are present."""
        rng = np.random.default_rng(seed)
        price, demand = rng.uniform(40, 80, cls.servers), rng.uniform(0, 25, (cls.clients, cls.servers))
        return price, demand, (rng.random((scenarios, cls.clients)) < 0.5).astype(float)

    @classmethod
    def model(cls, data, chosen):
        """Return the model of some scenarios."""
        price, demand, present = data[0], data[1], data[2][chosen]
        S, F, J = range(len(chosen)), range(cls.servers), range(cls.clients)
        room = 1.5 * 0.5 * float(demand.mean(axis=1).sum()) / cls.most
        m = pyo.ConcreteModel("sslp")
        m.place = pyo.Var(F, domain=pyo.Binary)
        m.serve = pyo.Var(S, J, F, **({"domain": pyo.Binary} if cls.integer else {"bounds": (0, 1)}))
        m.over = pyo.Var(S, F, bounds=(0, None))
        m.few = pyo.Constraint(expr=sum(m.place.values()) <= cls.most)
        m.room = pyo.Constraint(
            S, F,
            rule=lambda m, s, i: sum(float(demand[j, i]) * m.serve[s, j, i] for j in J) - m.over[s, i]
            <= room * m.place[i],
        )  # fmt: skip
        m.served = pyo.Constraint(S, J, rule=lambda m, s, j: sum(m.serve[s, j, i] for i in F) == float(present[s, j]))
        m.now = pyo.Expression(expr=sum(float(price[i]) * m.place[i] for i in F))
        gain = pyo.quicksum(float(demand[j, i]) / len(S) * m.serve[s, j, i] for s in S for j in J for i in F)
        m.cost = pyo.Objective(expr=m.now - gain + 1000 / len(S) * pyo.quicksum(m.over.values()))
        m.first = list(m.place.values())
        return m


class SslpInteger(Sslp):
    """The same with binary recourse."""

    integer = True


FAMILIES = {"farmer": Farmer, "facility": Facility, "dcap": Dcap, "sslp": Sslp, "sslp, integer": SslpInteger}
