"""Files in YAML: configurations of runs, and declarations of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from metaeval.errors import InputError
from metaeval.readers.files import one_line, read_text

# what OmegaConf raises for a text that is not a mapping in YAML
_NO_YAML = (YAMLError, OmegaConfBaseException, ValueError, AssertionError, RecursionError)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; InputError, naming the file, for other content."""
    try:
        content = OmegaConf.to_container(OmegaConf.create(read_text(path).text))
    except _NO_YAML as error:
        raise InputError(f"is not YAML ({one_line(error)})", file=path) from None
    if not isinstance(content, dict):
        raise InputError("is not a mapping", file=path)
    return {str(key): value for key, value in content.items()}
