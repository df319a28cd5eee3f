"""Run by a Python that has pgmpy: all marginals of a binary ground network by variable elimination."""

import json
import sys
import time

from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteMarkovNetwork

task = json.load(sys.stdin)
times = []
for _ in range(task["repeats"]):
    began = time.perf_counter()
    network = DiscreteMarkovNetwork()
    network.add_nodes_from(task["variables"])
    for factor in task["factors"]:
        names = factor["variables"]
        network.add_edges_from((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
        network.add_factors(DiscreteFactor(names, [2] * len(names), factor["values"]))
    inference = VariableElimination(network)
    values = {}
    for name in task["variables"]:
        no, yes = inference.query([name], show_progress=False).values
        values[name] = float(yes / (no + yes))
    times.append(time.perf_counter() - began)
json.dump({"seconds": times, "values": values}, sys.stdout)
