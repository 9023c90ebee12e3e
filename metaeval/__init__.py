"""metaeval: which image-captioning metric can you trust, and for what?

The library's face is `score`, `run`, `trust`, `combine`, `corrupt`, `signatures`, `load_run`
(`metaeval/api.py`) and `explain` (`metaeval/reproduce/explain.py`); they are imported when they are
first used, so that `import metaeval` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metaeval.api import (
        CaptionScores,
        Run,
        combine,
        corrupt,
        load_run,
        run,
        score,
        signatures,
        trust,
    )
    from metaeval.reproduce.explain import explain

__version__ = "0.1.0"
__all__ = [
    "CaptionScores",
    "Run",
    "combine",
    "corrupt",
    "explain",
    "load_run",
    "run",
    "score",
    "signatures",
    "trust",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "metaeval.reproduce.explain" if name == "explain" else "metaeval.api"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'metaeval' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
