"""Hydra's hook: gather a sweep when its last job has ended.

Hydra imports it in every command, so what draws and computes is imported only where a sweep ends:
scipy's statistics alone would make every start a second longer.
"""

import logging
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

from metaeval.errors import MetaevalError

log = logging.getLogger(__name__)


class SweepReport(Callback):
    """Writes the sweep's page, and prints what was saved and where the page is."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        from metaeval.reports.sweep.page import JSON, write_sweep
        from metaeval.results.files import read_result

        try:
            directory = Path(config.hydra.sweep.dir)
            path = write_sweep(directory)
        except MetaevalError as error:
            log.warning("the sweep could not be gathered: %s", error)
        else:
            print(read_result(directory / JSON).facts.get("Scores", ""))
            print(path)
