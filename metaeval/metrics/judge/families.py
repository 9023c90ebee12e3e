"""The family of a model by its name, from the table `families.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from metaeval.readers.yaml_text import read_yaml

_TABLE = Path(__file__).with_name("families.yaml")


@cache
def families() -> Mapping[str, Sequence[str]]:
    """Family → how the names of its models begin, in lower case."""
    return read_yaml(_TABLE)


def family_of(names: Iterable[str]) -> str | None:
    """The only family that occurs in the names of models; `None` for none or several.

    A beginning counts at the start of the name or after a character that is not a letter or digit.

    >>> family_of(["org/LLaVA-1.5-7b"]), family_of(["MiniGPT-4"]), family_of(["gpt-4o", "qwen2"])
    ('llava', None, None)
    """
    text = " ".join(names).lower()
    known = [
        family
        for family, beginnings in families().items()
        if any(re.search(rf"(?<![a-z0-9]){re.escape(word)}", text) for word in beginnings)
    ]
    return known[0] if len(known) == 1 else None
