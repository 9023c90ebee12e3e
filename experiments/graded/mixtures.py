"""Mixtures of corruptions, by name: `corruption=mixture corruption.parts=[replace,shuffle]`."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.config import component, compose_config
from metaeval.corruptions.base import Corruption
from metaeval.corruptions.own.function import Mixture
from metaeval.errors import ConfigError
from metaeval.schema import Degrees


def mixtures(
    parts: Sequence[str] | None = None, rates: Sequence[float] | None = None
) -> list[Corruption]:
    """A mixture of the named corruptions at each rate, worst first; one in all if none has a rate.

    Raises ConfigError for names that are not corruptions, and for fewer than two.
    """
    if not parts or isinstance(parts, str):
        raise ConfigError("give the corruptions of the mixture: corruption.parts=[replace,shuffle]")
    nodes = [dict(compose_config([f"corruption={name}"]).corruption) for name in parts]
    rated = [node.get("rates") is not None for node in nodes]
    for node in nodes:
        for key in Degrees.__annotations__:
            node.pop(key, None)

    def mixture(rate: float | None) -> Mixture:
        made = [
            component({**node, "rate": rate} if has_rate else node, "corruption")
            for node, has_rate in zip(nodes, rated, strict=True)
        ]
        return Mixture(made, rate)

    if not any(rated):
        return [mixture(None)]
    if not rates:
        raise ConfigError("a mixture of corruptions with rates needs corruption.rates=[0.25,0.5]")
    return [mixture(rate) for rate in sorted(rates, reverse=True)]
