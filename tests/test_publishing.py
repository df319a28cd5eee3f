"""What a release needs is there and fits together; ``make dist`` tries the wheel itself."""

from __future__ import annotations

import re
import tomllib

import pytest

import herbrand as hb
from herbrand.extras import EXTRAS
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRA_PACKAGES = PROJECT["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text()


def named(requirement: str) -> str:
    return re.split(r"[<>=\[ ;]", requirement)[0].lower()


def test_the_core_brings_no_extra() -> None:
    core = {named(each) for each in PROJECT["dependencies"]}
    assert not core & {
        "torch",
        "safetensors",
        "pygls",
        "ipython",
        "fastapi",
        "uvicorn",
        "pandas",
        "scikit-learn",
    }


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_package_names_an_extra_that_exists(package: str) -> None:
    assert EXTRA_PACKAGES[EXTRAS[package]]


def test_the_workflow_runs_targets_of_make() -> None:
    text = (ROOT / ".github" / "workflows" / "check.yml").read_text()
    targets = re.findall(r"target: \[(.*)\]", text)[0].split(", ")
    assert not [target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]


def test_versions_agree() -> None:
    assert f"version: {hb.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert PROJECT["classifiers"] and PROJECT["license"] == "Apache-2.0"
