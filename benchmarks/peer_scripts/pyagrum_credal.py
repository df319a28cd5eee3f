"""Run by a Python that has pyAgrum: intervals of all nodes of a binary credal network, by propagation."""

import json
import sys
import time

import pyagrum as gum

task = json.load(sys.stdin)
times = []
for _ in range(task["repeats"]):
    began = time.perf_counter()
    lower, upper = gum.BayesNet("lower"), gum.BayesNet("upper")
    for network in (lower, upper):
        for name in task["nodes"]:
            network.add(gum.LabelizedVariable(name, name, 2))
        for name, parents in task["parents"].items():
            for parent in parents:
                network.addArc(parent, name)
    for name, parents in task["parents"].items():
        for case, (low, high) in zip(task["cases"][name], task["tables"][name], strict=True):
            at = dict(zip(parents, case, strict=True))
            for network, one in ((lower, low), (upper, high)):
                other = 1 - (high if network is lower else low)
                if at:
                    network.cpt(name)[at] = [other, one]
                else:
                    network.cpt(name).fillWith([other, one])
    credal = gum.CredalNet(lower, upper)
    credal.intervalToCredal()
    credal.computeBinaryCPTMinMax()
    propagation = gum.CNLoopyPropagation(credal)
    propagation.makeInference()
    values = {
        name: [float(propagation.marginalMin(name)[1]), float(propagation.marginalMax(name)[1])]
        for name in task["nodes"]
    }
    times.append(time.perf_counter() - began)
json.dump({"seconds": times, "values": values}, sys.stdout)
