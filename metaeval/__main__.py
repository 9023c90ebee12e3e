"""The command: `python -m metaeval experiment=replace`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from metaeval import installation

installation.install()  # before Hydra imports anything by the name of `experiments` or `reports`

import hydra  # noqa: E402
from hydra.core.hydra_config import HydraConfig  # noqa: E402
from hydra.errors import HydraException  # noqa: E402
from omegaconf import DictConfig  # noqa: E402

from metaeval.errors import ConfigError, MetaevalError  # noqa: E402


def execute(config: DictConfig) -> dict[str, Any]:
    """Run the configured experiment; what goes wrong is raised."""
    from metaeval.config import component  # slow to import: not for --help

    if config.get("task") is None:
        choices = sorted(path.stem for path in (installation.conf() / "experiment").glob("*.yaml"))
        raise ConfigError(f"choose an experiment: experiment={'|'.join(choices)}")
    experiment = component(config.task, "task")
    # by name: the command hands over to the experiments, but metaeval imports nothing above it
    run = import_module("experiments.run").run
    summary: dict[str, Any] = run(experiment, config, Path(HydraConfig.get().runtime.output_dir))
    return summary


def main() -> None:
    """Entry point. Exit codes: 0, 1 (a metric failed under `strict`), 2 (bad input or config)."""
    started = False

    @hydra.main(version_base="1.3", config_path=str(installation.conf()), config_name="config")
    def command(config: DictConfig) -> None:
        nonlocal started
        started = True
        try:
            execute(config)
        except MetaevalError as error:
            print(f"metaeval: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            print("metaeval: interrupted; run the same command to go on", file=sys.stderr)
            sys.exit(130)

    try:
        command()
    except HydraException as error:  # --help over a configuration that cannot be composed
        print(f"metaeval: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(ConfigError.exit_code)
    except SystemExit as stop:
        # Hydra has already said what is wrong with the overrides, and exits with 1.
        if stop.code == 1 and not started:
            sys.exit(ConfigError.exit_code)
        raise


if __name__ == "__main__":
    main()
