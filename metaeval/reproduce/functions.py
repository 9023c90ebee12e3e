"""Values of papers that are not one number of a run's result: functions of a run's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from metaeval.reproduce.compare import Values

# name in a paper's file → function of the folder of the item's run, `None` for an item without
FUNCTIONS: Mapping[str, Callable[[Path | None], Values]] = {}
