"""Tensors come back as they were saved, to the bit, with what was said of them; nothing else is taken."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.tensor_files import read_tensors, save_tensors
from tests.laws import tries

TYPES = [torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: name != "__metadata__"
)
values = st.recursive(
    st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    numbers = draw(st.lists(st.integers(0, 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    made = torch.tensor(numbers, dtype=torch.float64).reshape(shape).to(draw(st.sampled_from(TYPES)))
    return made.t() if made.dim() == 2 and draw(st.booleans()) else made


@settings(max_examples=tries(60))
@given(
    st.dictionaries(names, tensors(), max_size=4), st.dictionaries(st.text(max_size=5), values, max_size=4)
)
def test_what_was_saved_comes_back(
    tmp_path_factory: pytest.TempPathFactory, held: dict[str, torch.Tensor], about: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("tensors") / "state"
    save_tensors(path, held, about)
    found, told = read_tensors(path)
    assert told == about
    assert found.keys() == held.keys()
    for name, tensor in held.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        assert torch.equal(found[name], tensor)


def test_special_numbers_and_parameters_come_back(tmp_path: Path) -> None:
    special = torch.tensor([math.inf, -math.inf, math.nan, -0.0, 5e-324], dtype=torch.float64)
    layer = torch.nn.Linear(2, 1)
    save_tensors(tmp_path / "deep" / "folder" / "state", {"special": special, **layer.state_dict()}, {})
    found, _ = read_tensors(tmp_path / "deep" / "folder" / "state")
    assert found["special"].numpy().tobytes() == special.numpy().tobytes()
    assert torch.equal(found["weight"], layer.weight.detach())


def test_a_single_bit_that_is_changed_is_found(tmp_path: Path) -> None:
    """In a number as in what is said of it: a training went on from it without a word."""
    held, about = {"w": torch.arange(3.0), "n": torch.ones(1)}, {"steps": 3, "seeds": {10: 1, 9: 2}}
    save_tensors(tmp_path / "state", held, about)
    whole, refused = (tmp_path / "state").read_bytes(), 0
    _, saved = read_tensors(tmp_path / "state")
    for place in range(len(whole)):
        (tmp_path / "state").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found, told = read_tensors(tmp_path / "state")
        except HerbrandError as error:
            refused += "state" in str(error)
        else:  # the names of the sum and of the format themselves
            assert (
                all(torch.equal(found[name], held[name]) for name in held) and told.items() >= saved.items()
            )
    assert refused > len(whole) - 40


def test_equal_states_are_equal_files(tmp_path: Path) -> None:
    """Often enough that an order drawn by chance would show."""
    for _ in range(10):
        for name, about in (("one", {"a": 1, "b": 2}), ("other", {"b": 2, "a": 1})):
            save_tensors(tmp_path / name, {"w": torch.ones(3)}, about)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def _text(path: Path) -> None:
    path.write_text("no tensors")


def _empty(path: Path) -> None:
    path.touch()


def _half(path: Path) -> None:
    save_tensors(path, {"w": torch.ones(50)}, {})
    path.write_bytes(path.read_bytes()[:-9])


def _foreign(path: Path) -> None:
    save_file({"w": torch.ones(2)}, path)


def _not_json(path: Path) -> None:
    save_file({"w": torch.ones(2)}, path, {"herbrand": "{"})


def _nested(path: Path) -> None:
    save_file({"w": torch.ones(2)}, path, {"herbrand": "[" * 100_000})


def _a_list(path: Path) -> None:
    save_file({"w": torch.ones(2)}, path, {"herbrand": "[1, 2]"})


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_text, "Error while deserializing header"),
        (_empty, "Error while deserializing header"),
        (_half, "Error while deserializing header"),
        (_foreign, "it does not say what it holds"),
        (_not_json, "Expecting property name"),
        (_nested, "maximum recursion depth exceeded"),
        (_a_list, "what it says of itself is no JSON object"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, make, reason: str) -> None:
    path = tmp_path / "state"
    make(path)
    with pytest.raises(HerbrandError) as caught:
        read_tensors(path)
    assert str(caught.value).startswith(f"'{path}' is not a file of ours: {reason}")
    assert str(caught.value).endswith("\n  expected what herbrand saved")


@pytest.mark.parametrize("name", ["none", "", "folder"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(HerbrandError, match="there is no file '"):
        read_tensors(tmp_path / name)


def test_what_json_cannot_say_is_our_own_mistake(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        save_tensors(tmp_path / "state", {}, {"set": {1}})
    assert not list(tmp_path.iterdir())


def test_another_format_is_refused(tmp_path: Path) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "state", {"herbrand": '{"herbrand-format": 2}'})
    with pytest.raises(HerbrandError, match="saved by another version of herbrand: its format is 2, not 1"):
        read_tensors(tmp_path / "state")


THEORY = """
type person = {"a", "b", "c"}
predicate smokes(person)
predicate friends(person, person)
friends("a", "b") smokes("a")
?: smokes(x) and friends(x, y) => smokes(y)
""".replace('") smokes', '")\nsmokes')
PROOFS = """
predicate e(t, t): learned
predicate p(t, t)
e("a", "b")
p("a", "b")
p(x, y) :- e(x, y)
"""


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("pseudo-likelihood", {}),
        ("distillation", {"latent": ["smokes"], "size": 4, "layers": 1}),
        ("proof", {"target": ["p"]}),
    ],
)
def test_states_that_were_changed_are_refused(tmp_path: Path, method: str, told: dict[str, Any]) -> None:
    """Each entry missing, each entry of another kind, each tensor of another shape: a plain error or none."""
    text = PROOFS if method == "proof" else THEORY.replace("?:", "0.5:" if method == "distillation" else "?:")
    path = tmp_path / "state"

    def learn(**more: Any) -> None:
        hb.Model(hb.parse(text)).learn(method, iterations=3, **told, **more)

    learn(save=str(path))
    held, about = read_tensors(path)
    changed = [({n: t for n, t in held.items() if n != name}, about) for name in held]
    changed += [({**held, name: torch.ones(7, 7)}, about) for name in held]
    changed += [(held, {n: v for n, v in about.items() if n != name}) for name in about]
    changed += [(held, {**about, name: value}) for name in about for value in ("x", None, [[[]]], {}, -1)]
    refused = 0
    for tensors_now, about_now in changed:
        save_tensors(path, tensors_now, about_now)
        try:
            learn(resume=str(path))
        except HerbrandError as error:
            refused += str(path) in str(error)
    assert refused > len(changed) / 2


@pytest.mark.parametrize("held", [b"1.5: rain => wet\n", b'{"atom": {}}', b"a,b\n", bytes(8)])
def test_no_other_file_is_written_over(tmp_path: Path, held: bytes) -> None:
    file = tmp_path / "state"
    save_tensors(file, {}, {"step": 1})
    save_tensors(file, {}, {"step": 2})
    file.write_bytes(held)
    with pytest.raises(HerbrandError, match="is no file that herbrand saved"):
        save_tensors(file, {}, {})
    with pytest.raises(HerbrandError, match="is no file that herbrand saved"):
        hb.Model(hb.parse("?: p(x)"), {"p": ["a"]}).learn(save=file)
    assert file.read_bytes() == held
