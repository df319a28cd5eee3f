"""The example trains a network through the layer, and the rule helps it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "logic_layer" / "run.py"


def test_the_rule_helps_the_network() -> None:
    spec = importlib.util.spec_from_file_location("logic_layer_example", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.train(steps=25)
    assert found["network and rule"] > found["network alone"] + 0.05
