"""Hydra's hook: a run or sweep whose folder is named by the time gets one that is not there yet."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf, read_write

from metaeval.errors import InputError


class NewFolder(Callback):
    """Makes the folder, and names it in the configuration and in that of a sweep's jobs."""

    def on_run_start(self, config: Any, **_: Any) -> None:
        _make(config, "run")

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        _make(config, "sweep")


def _make(config: Any, mode: str) -> None:
    from metaeval.runs.folder import new_folder  # slow to import: not for --help

    name: Any = OmegaConf.to_container(config.hydra[mode], resolve=False)
    if "${now:" not in str(name["dir"]):
        return
    HydraConfig.instance().set_config(config)  # the name may refer to it
    with suppress(InputError), read_write(config.hydra):  # Hydra meets the same, and says so
        folder = str(new_folder(Path(config.hydra[mode].dir)))
        config.hydra[mode].dir = folder
        quoted = folder.replace("'", "\\'")
        config.hydra.overrides.hydra.append(f"hydra.{mode}.dir='{quoted}'")
