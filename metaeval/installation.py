"""Paths of this installation: the configuration folder, and folders given by `--config-dir`."""

from pathlib import Path

from metaeval.errors import ConfigError

_CONF = Path(__file__).parent / "conf"  # in a checkout a link to ../conf
_added: list[Path] = []


def conf() -> Path:
    """The folder of metaeval's own configuration."""
    return _CONF.resolve()


def config_folders() -> list[Path]:
    """The folders of the configuration: metaeval's own, then those of `--config-dir`."""
    return [conf(), *_added]


def add_config_folder(folder: Path) -> None:
    """Add a folder with metrics, datasets and corruptions, for this process.

    Raises ConfigError where the folder does not exist.
    """
    if not folder.is_dir():
        raise ConfigError(f"--config-dir: the folder {folder} does not exist")
    if folder.resolve() not in (conf(), *_added):
        _added.append(folder.resolve())
