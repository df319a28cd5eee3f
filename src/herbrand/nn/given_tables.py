"""Check the tensors that are given with a call of a layer."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from herbrand.errors import UnsupportedError

ROUNDED = 1e-4
"""Tolerance of a probability's range, for rounding and finite differences."""


def given_tables(what: str, given: Mapping[str, Tensor] | None) -> Mapping[str, Tensor]:
    """Tables by name, empty for ``None``; raises an error for anything but tensors. ``what``: their name in
    messages."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UnsupportedError(
            f"{what} of a layer are a mapping, not of type {type(given).__name__}",
            hint='tensors by name, such as {"smokes": torch.zeros(3)}',
        )
    for name, table in given.items():
        if not isinstance(table, Tensor):
            raise UnsupportedError(
                f"the {what} of {name} are of type {type(table).__name__}, not a tensor",
                hint="make one of them: torch.as_tensor(...)",
            )
        if table.is_complex():
            raise UnsupportedError(f"the {what} of {name} are complex numbers", hint="expected real ones")
    return given


def no_probabilities(table: Tensor) -> Tensor:
    """Entries outside of 0 to 1, NaN among them."""
    known = table.detach()
    return known[~((known >= -ROUNDED) & (known <= 1 + ROUNDED))]
