"""Run by a Python that has ProbLog: the probability of each query of a program."""

import json
import sys
import time

from problog import get_evaluatable
from problog.program import PrologString

task = json.load(sys.stdin)
times = []
for _ in range(task["repeats"]):
    began = time.perf_counter()
    found = get_evaluatable().create_from(PrologString(task["program"])).evaluate()
    times.append(time.perf_counter() - began)
json.dump({"seconds": times, "values": {str(goal): float(p) for goal, p in found.items()}}, sys.stdout)
