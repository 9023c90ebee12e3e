"""Building what the configuration names: one way for metrics, corruptions and datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf

from metaeval.errors import ConfigError, MetaevalError


def component(node: Any, what: str) -> Any:
    """The object that a config node describes; `what` names the node in messages ("dataset").

    Hydra wraps what goes wrong in an exception of its own: errors of ours come out unchanged,
    anything else (an unknown option, a wrong type) as a ConfigError of one line.
    """
    try:
        return instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, MetaevalError):
            raise cause from None
        raise ConfigError(f"{what}: {cause or error}") from None


def plain(node: Mapping[str, Any]) -> dict[str, Any]:
    """A plain dictionary of a configuration node, which can be written as JSON."""
    found = OmegaConf.to_container(node) if OmegaConf.is_config(node) else dict(node)
    return found  # type: ignore[return-value]
