"""Run by a Python that has dedupe: how likely each given pair is the same article, by labels."""

import contextlib
import json
import os
import sys
import time

import dedupe
from dedupe import variables

task = json.load(sys.stdin)


def records(columns: list) -> dict:
    return {
        number: {"brand": brand, "text": text, "price": price}
        for number, brand, text, price in zip(*columns, strict=True)
    }


def labelled(label: str) -> list:
    return [(ours[a], theirs[b]) for a, b in task[label]]


ours, theirs = records(task["ours"]), records(task["theirs"])
began = time.process_time()
with (
    open(os.devnull, "w") as nowhere,
    contextlib.redirect_stdout(nowhere),
    contextlib.redirect_stderr(nowhere),
):
    linker = dedupe.RecordLink(
        [variables.Exact("brand"), variables.String("text"), variables.Price("price")],
        num_cores=0,
    )
    linker.prepare_training(ours, theirs, sample_size=1000)
    linker.mark_pairs({"match": labelled("match"), "distinct": labelled("distinct")})
    linker.train()
    asked = [((a, ours[a]), (b, theirs[b])) for a, b in task["asked"]]
    scored = linker.score(asked)
chances = {tuple(map(int, pair)): float(chance) for pair, chance in scored}
pairs = [[a, b, chances.get((a, b), 0.0)] for a, b in task["asked"]]
print(json.dumps({"pairs": pairs, "seconds": time.process_time() - began}))
