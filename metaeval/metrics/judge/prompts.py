"""Prompts: Jinja files, shipped or the user's own, and their digests."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment

from metaeval.errors import ConfigError
from metaeval.readers.files import read_text, user_path

FOLDER = Path(__file__).parent / "prompts"
SHIPPED = ("absolute", "aspects", "pairwise")
_MOST = 1 << 20  # bytes of a prompt file
_EXAMPLE = {
    "caption": "a dog", "first": "a dog", "second": "a cat", "references": ["a dog runs"],
    "image": True,
}  # fmt: skip


class Prompt:
    """A prompt file that renders to the text of a request.

    A template sees `caption` (or, pairwise, `first` and `second`), `references` (a list, perhaps
    empty) and `image` (whether one is attached).

    Parameters
    ----------
    name
        One of `SHIPPED`, or the path of a .jinja file.

    Raises ConfigError for a template that cannot be rendered, InputError for a missing file.
    """

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.jinja" if name in SHIPPED else user_path(name)
        if name not in SHIPPED and self.path.suffix not in (".jinja", ".j2", ".txt"):
            raise ConfigError(
                f"metric.judge.prompt: '{name}' is neither a shipped prompt "
                f"({', '.join(SHIPPED)}) nor a .jinja file"
            )
        self.source = read_text(self.path, _MOST).text
        self.label = self.path.stem
        text = self.render(**_EXAMPLE)
        other = self.render(**{**_EXAMPLE, "caption": "a bus", "first": "a bus"})
        if text == other:
            raise ConfigError(
                f"{self.path}: the prompt does not contain the caption; "
                "write {{ caption }}, or {{ first }} and {{ second }}"
            )

    @property
    def pairwise(self) -> bool:
        """Whether it is pairwise."""
        one, other = (self.render(**{**_EXAMPLE, "second": text}) for text in ("a cat", "a bus"))
        return one != other

    @property
    def digest(self) -> str:
        """12 hexadecimal digits of SHA-256 of the file's text."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]

    @cached_property
    def _template(self) -> Template:
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        return environment.from_string(self.source)

    def render(self, **values: Any) -> str:
        """The text of a request."""
        try:
            return self._template.render(**values)
        except Exception as error:  # whatever the user's template does with its values
            line = getattr(error, "lineno", None)
            where = f", line {line}" if line else ""
            problem = " ".join(str(getattr(error, "message", None) or error).split())
            raise ConfigError(
                f"{self.path}{where}: the prompt cannot be rendered: {problem}; "
                "it may use caption, first, second, references and image"
            ) from None

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key != "_template"}
