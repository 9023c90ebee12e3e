"""What a network needs before it can run: packages that are installed, weights that are local."""

from __future__ import annotations

import os
from importlib.util import find_spec

from metaeval.data.dataset import Absent

REMEDY = "pip install 'metaeval[models]'"


def missing_packages(part: str, *modules: str) -> Absent | None:
    """The `Absent` that names those modules that are not installed; nothing is imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return Absent(part, f"{' and '.join(missing)} {verb} not installed", REMEDY)


def truthy(value: object) -> bool:
    """Whether an option or an environment variable (HF_HUB_OFFLINE=1) says yes."""
    return str(value).strip().lower() in ("1", "true", "yes", "on")


def offline() -> bool:
    """Whether the environment forbids the network, in Hugging Face's own words."""
    return truthy(os.environ.get("HF_HUB_OFFLINE")) or truthy(
        os.environ.get("TRANSFORMERS_OFFLINE")
    )
