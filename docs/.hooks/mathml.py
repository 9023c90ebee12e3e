"""mkdocs hook: blocks of LaTeX (```math) become MathML when the site is built.

Browsers draw MathML themselves: the site fetches no script and no font.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

_BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with a `div` of MathML for each block; an empty line parts its formulas."""
    return _BLOCK.sub(_formulas, markdown)


def _formulas(block: re.Match[str]) -> str:
    parts = [part.strip() for part in block[1].split("\n\n") if part.strip()]
    drawn = "".join(convert(part.replace("\n", " "), display="block") for part in parts)
    return f'<div class="formula">{drawn}</div>'
