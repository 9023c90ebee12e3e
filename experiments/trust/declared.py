"""What is declared before any run: the uses with their rules, and the batteries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval import installation
from metaeval.errors import ConfigError, InputError
from metaeval.options import did_you_mean
from metaeval.readers.files import user_path
from metaeval.readers.yaml_text import read_declared
from metaeval.results.base import Model

BATTERIES = ("quick", "standard", "full")
_Share = Annotated[float, Field(ge=0, lt=1)]


class Rules(Model):
    """What a verdict rests on.

    Attributes
    ----------
    minimal_effect
        The least effect that counts, on the scale from the best control (0) to the ceiling (1).
    alpha
        The level of significance, after Holm's correction over metrics × items of a use.
    least_room
        Where the ceiling is less than this above the best control, the item decides nothing.
    """

    minimal_effect: _Share
    alpha: Annotated[float, Field(gt=0, lt=1)]
    least_room: _Share


class Use(Model):
    """What a metric may be used for.

    `shows` says what a metric must do better than the best control on each item; `evidence` is
    source ("pairs.kinds") → the parts that count, `None` for all.
    """

    id: Annotated[str, Field(pattern="^[a-z0-9_]+$")]
    title: str
    shows: str
    evidence: Mapping[str, tuple[str, ...] | None]

    def asks(self, source: str, part: str) -> bool:
        """Whether a number is evidence for this use."""
        parts = self.evidence.get(source, ())
        return parts is None or part in parts


class Uses(Model):
    """conf/trust/uses.yaml."""

    rules: Rules
    uses: tuple[Use, ...]


class Battery(Model):
    """Item → the overrides of the command that runs it; `of` is a battery that this one adds to."""

    items: Mapping[Annotated[str, Field(pattern="^[a-z0-9_]+$")], tuple[str, ...]]
    of: str | None = None


def read_uses(file: str | None) -> Uses:
    """The declared uses: metaeval's, or those of a file."""
    path = user_path(file) if file else _own("uses")
    uses = read_declared(path, Uses)
    ids = [use.id for use in uses.uses]
    if len(set(ids)) != len(ids):
        raise InputError("two uses have the same id", file=path, field="uses")
    return uses


def read_battery(name: str) -> dict[str, tuple[str, ...]]:
    """Item → overrides, of a battery by name or file."""
    if name not in BATTERIES and not name.endswith((".yaml", ".yml")):
        meant = did_you_mean(name, BATTERIES)
        raise ConfigError(
            f"trust.battery: '{name}' is neither {', '.join(BATTERIES)} nor a .yaml file{meant}"
        )
    path = _own(name) if name in BATTERIES else user_path(name)
    battery = read_declared(path, Battery)
    return {**(read_battery(battery.of) if battery.of else {}), **battery.items}


def _own(name: str) -> Path:
    return installation.conf() / "trust" / f"{name}.yaml"
