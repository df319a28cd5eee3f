"""A step of the site's build: names in docstrings such as :class:`~herbrand.model.Model` become links."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:class|mod|func|meth|attr|data):<code>(~?)([\w.]+)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """The page with every role as a reference, which stays plain text where the page has no such name."""
    return ROLE.sub(_reference, html)


def _reference(role: re.Match[str]) -> str:
    shown = role[2].rpartition(".")[2] if role[1] else role[2]
    return f'<autoref optional identifier="{role[2]}"><code>{shown}</code></autoref>'
