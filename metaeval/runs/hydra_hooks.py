"""Hydra's hooks: a folder that is not there yet, and the exit codes of a sweep's jobs.

The jobs may run in processes or on machines of their own.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf, read_write

from metaeval.errors import ConfigError, InputError


class NewFolder(Callback):
    """Makes the folder, and names it in the configuration and in that of a sweep's jobs.

    A sweep whose folder holds runs of another one ends here, with exit code 2.
    """

    def on_run_start(self, config: Any, **_: Any) -> None:
        _make(config, "run")

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        from metaeval.runs.folder import require_same_sweep  # slow to import: not for --help

        _make(config, "sweep")
        overrides: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        try:
            require_same_sweep(Path(config.hydra.sweep.dir), overrides)
        except ConfigError as error:  # Hydra would go on after an exception of a callback
            print(f"metaeval: {error}", file=sys.stderr)
            sys.exit(error.exit_code)


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


EXIT_CODE = "exit_code.json"  # in a job's folder: {"exit_code": 2}


def write_exit_code(folder: Path, code: int) -> None:
    """Leave a job's exit code in its folder, for the process that has begun the sweep."""
    from metaeval.runs import files  # slow to import: not for --help

    with suppress(InputError):  # a full disk: then the job's own line is all there is
        files.write_json(folder / EXIT_CODE, {"exit_code": code})


class ExitCodes(Callback):
    """Hydra's hook: after the last job, the greatest exit code that the jobs have left.

    Class attributes
    ----------------
    greatest
        0 until a sweep has ended, and where all jobs went well.
    """

    greatest: ClassVar[int] = 0

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        for file in _written(config):
            file.unlink(missing_ok=True)

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        from metaeval.runs import files

        codes = [files.read_run_json(file)["exit_code"] for file in _written(config)]
        ExitCodes.greatest = max(codes, default=0)


def _written(config: Any) -> list[Path]:
    return list(Path(config.hydra.sweep.dir).glob(f"**/{EXIT_CODE}"))
