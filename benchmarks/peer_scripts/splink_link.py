"""Run by a Python that has splink: how likely each pair that shares a brand is the same article.

Splink takes no labels for its levels here: shares of random pairs, then expectation maximisation.
"""

import json
import logging
import sys
import time

import pyarrow as pa
import splink.comparison_level_library as levels
import splink.comparison_library as comparisons
from splink import Linker, SettingsCreator, block_on
from splink.backends.duckdb import DuckDBAPI

logging.disable()
task = json.load(sys.stdin)
began = time.process_time()
database = DuckDBAPI()
tables = [
    database.register(
        pa.table(dict(zip(("unique_id", "brand", "text", "price"), task[name], strict=True))),
        dataset_display_name=name,
    )
    for name in ("ours", "theirs")
]
apart = comparisons.CustomComparison(
    output_column_name="price",
    comparison_levels=[
        levels.NullLevel("price"),
        levels.PercentageDifferenceLevel("price", 0.05),
        levels.PercentageDifferenceLevel("price", 0.15),
        levels.ElseLevel(),
    ],
)
settings = SettingsCreator(
    link_type="link_only",
    comparisons=[comparisons.JaroWinklerAtThresholds("text", [0.95, 0.9, 0.85, 0.8]), apart],
    blocking_rules_to_generate_predictions=[block_on("brand")],
    probability_two_random_records_match=task["prior"],
)
linker = Linker(tables, settings)
linker.training.estimate_u_using_random_sampling(seed=1)
linker.training.estimate_parameters_using_expectation_maximisation(block_on("brand"))
found = linker.inference.predict().as_record_list()
pairs = [[row["unique_id_l"], row["unique_id_r"], row["match_probability"]] for row in found]
print(json.dumps({"pairs": pairs, "seconds": time.process_time() - began}))
