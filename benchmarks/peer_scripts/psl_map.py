"""Run by a Python that has pslpython (and Java): the likeliest soft truth values of the smokers theory."""

import contextlib
import json
import os
import sys
import time

from pslpython.model import Model
from pslpython.partition import Partition
from pslpython.predicate import Predicate
from pslpython.rule import Rule

task = json.load(sys.stdin)
RULES = (
    "1.1: Smokes(X) & Friends(X, Y) -> Smokes(Y) ^2",
    "1.5: Smokes(X) -> Cancer(X) ^2",
    "0.7: !Smokes(X) ^2",
    "2.0: !Cancer(X) ^2",
)
times = []
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    for number in range(task["repeats"]):
        began = time.perf_counter()
        model = Model(f"smokers{number}")
        friends = Predicate("Friends", size=2)
        smokes, cancer = Predicate("Smokes", size=1), Predicate("Cancer", size=1)
        for predicate in (friends, smokes, cancer):
            model.add_predicate(predicate)
        for rule in RULES:
            model.add_rule(Rule(rule))
        people = [f"p{i}" for i in range(task["people"])]
        friends.add_data(Partition.OBSERVATIONS, [[a, b, 1] for a, b in task["friends"]])
        known = set(task["smokers"])
        smokes.add_data(Partition.OBSERVATIONS, [[a, 1] for a in known])
        smokes.add_data(Partition.TARGETS, [[a] for a in people if a not in known])
        cancer.add_data(Partition.TARGETS, [[a] for a in people])
        found = model.infer(psl_options={"log4j.threshold": "OFF"})
        times.append(time.perf_counter() - began)
print(json.dumps({"seconds": times, "values": {"atoms": sum(len(table) for table in found.values())}}))
