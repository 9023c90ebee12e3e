"""The run of an experiment by the command: `metaeval replace`, `metaeval experiment=replace`."""

import errno
import gc
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, read_write
from omegaconf.errors import OmegaConfBaseException

from metaeval import choices
from metaeval.compute.device import keep_networks
from metaeval.errors import ConfigError, InputError, MetaevalError
from metaeval.java.process import shared_java_services
from metaeval.options import did_you_mean, is_unicode
from metaeval.overrides import (
    hydra_arguments,
    merge,
    metric_overrides,
    outside_the_grammar,
    override_value,
    split_flags,
)
from metaeval.runs.folder import new_folder, require_same_sweep

log = logging.getLogger(__name__)

EXIT_CODE = "exit_code.json"  # in a job's folder: {"exit_code": 2}
# states of a disk or a folder, not bugs of metaeval
_NOT_WRITABLE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR}
    | {errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO}
)


def execute(config: DictConfig) -> None:
    """Run the configured experiment; what goes wrong is raised."""
    # Captions and figures are hundreds of thousands of small objects that live on: looking through
    # them for cycles as often as Python does by itself costs a run over COCO seconds.
    gc.set_threshold(100_000, 20, 20)
    for source in HydraConfig.get().runtime.config_sources:
        if source.provider == "command-line" and source.schema == "file":  # --config-dir
            choices.add_config_folder(Path(source.path))
    if config.get("task") is None:
        names = "|".join(choices.list_choices("experiment"))
        raise ConfigError(f"choose an experiment: experiment={names}")
    if HydraConfig.get().mode is RunMode.MULTIRUN and not config.get("sweep", {}).get("reports"):
        config.report = {}  # the sweep has a page; those of the jobs would take longer than they
    from metaeval.experiments.run import run_configured  # slow to import: not for --help

    run_configured(config, Path(HydraConfig.get().runtime.output_dir))


def run_experiment(words: Sequence[str], verbs: Iterable[str]) -> int:
    """Compose the configuration and run the experiment, or the jobs of a sweep; the exit code.

    0, 1 (no metric has scores, or under `strict` one has none; the report failed), 2 (bad input or
    config). A job of a sweep that fails does not end the sweep: the others run, the sweep is
    gathered, and the exit code is the greatest of all jobs, wherever a launcher has run them.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # what Hydra cannot compose comes to us, for a line
    code, started, others = 0, False, dict[str, Any]()

    @hydra.main(version_base="1.3", config_path=str(choices.conf()), config_name="config")
    def command(config: DictConfig) -> None:
        nonlocal code, started
        started = True
        code = max(code, _job(config, others))

    try:
        if wrong := [word for word in words if not is_unicode(word)]:
            raise ConfigError(f"an argument is not UTF-8: {wrong[0]!a}")
        choices.register()
        given = hydra_arguments(_with_experiment(words, verbs))
        sys.argv[1:], others = outside_the_grammar(given)
        sys.argv += metric_overrides(given)
        sweep = not {"-m", "--multirun"}.isdisjoint(sys.argv)
        # what the jobs of a sweep that run here share; a run ends its own when they are done
        with (
            keep_networks() if sweep else nullcontext(),
            shared_java_services() if sweep else nullcontext(),
        ):
            command()
    except MetaevalError as error:
        code = _report(error)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        if started:  # not of composing the configuration
            raise
        from metaeval.config import no_config  # slow to import: not for --help

        code = _report(no_config(error, sys.argv[1:]))
    except OSError as error:
        # no folder can be made there (/proc), where it was the first thing to be made
        nowhere = error.errno == errno.ENOENT and not started
        if error.errno not in _NOT_WRITABLE and not nowhere:
            raise
        code = _report(
            ConfigError(f"{error.filename or 'the folder of the run'}: {error.strerror}")
        )
    return max(code, ExitCodes.greatest)


def _with_experiment(words: Sequence[str], verbs: Iterable[str]) -> list[str]:
    """The arguments with the name of an experiment as `experiment=NAME`; ConfigError for another
    word without "="."""
    flags, others = split_flags(words)
    given = []
    for word in others:
        if "=" in word or word[:1] in "~+":
            given.append(word)
        elif word in choices.list_choices("experiment"):
            given.append(f"experiment={word}")
        else:
            known = [*verbs, *choices.list_choices("experiment")]
            raise ConfigError(
                f"unknown command '{word}'{did_you_mean(word, known) or ';'} choose from "
                f"{', '.join(known)}, or write KEY=VALUE"
            )
    return [*flags, *given]


def _job(config: DictConfig, others: Mapping[str, Any]) -> int:
    """Run one job, say what went wrong, and return its exit code; of a sweep, write it down."""
    code, in_sweep = 0, HydraConfig.get().mode is RunMode.MULTIRUN
    try:
        _merge(config, others)
        execute(config)
    except MetaevalError as error:
        code = _report(error)
    except KeyboardInterrupt:
        _report(MetaevalError("interrupted; run the same command to go on"))
        sys.exit(130)
    except Exception:
        if not in_sweep:
            raise
        log.exception("this job of the sweep has failed")
        code = 1
    if in_sweep:  # for the process that has begun the sweep
        from metaeval.runs import files  # slow to import: not for --help

        with suppress(InputError):  # a full disk: then the job's own line is all there is
            out = Path(HydraConfig.get().runtime.output_dir)
            files.write_json(out / EXIT_CODE, {"exit_code": code})
    return code


def _merge(config: DictConfig, others: Mapping[str, Any]) -> None:
    """Set the options that Hydra cannot read, which are overrides like the others in run.json."""
    try:
        merge(config, others)
    except OmegaConfBaseException as error:
        from metaeval.config import no_config  # slow to import: not for --help

        raise no_config(error, sys.argv[1:]) from None
    overrides: Any = HydraConfig.get().overrides
    with read_write(overrides):
        overrides.task += [f"{key}={override_value(value)}" for key, value in others.items()]


def _report(error: MetaevalError) -> int:
    """Print an error in a line; its exit code."""
    print(f"metaeval: {error}", file=sys.stderr)
    return error.exit_code


# Hydra's hooks (conf/config.yaml): a folder that is not there yet, and the exit codes of a sweep's
# jobs, which may run in processes or on machines of their own.


class NewFolder(Callback):
    """Makes the folder, and names it in the configuration and in that of a sweep's jobs.

    A sweep whose folder holds runs of another one ends here, with exit code 2.
    """

    def on_run_start(self, config: Any, **_: Any) -> None:
        _make(config, "run")

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        _make(config, "sweep")
        overrides: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        try:
            require_same_sweep(Path(config.hydra.sweep.dir), overrides)
        except ConfigError as error:  # Hydra would go on after an exception of a callback
            print(f"metaeval: {error}", file=sys.stderr)
            sys.exit(error.exit_code)


def _make(config: Any, mode: str) -> None:
    name: Any = OmegaConf.to_container(config.hydra[mode], resolve=False)
    if "${now:" not in str(name["dir"]):
        return
    HydraConfig.instance().set_config(config)  # the name may refer to it
    with suppress(InputError), read_write(config.hydra):  # Hydra meets the same, and says so
        folder = str(new_folder(Path(config.hydra[mode].dir)))
        config.hydra[mode].dir = folder
        quoted = folder.replace("'", "\\'")
        config.hydra.overrides.hydra.append(f"hydra.{mode}.dir='{quoted}'")


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
