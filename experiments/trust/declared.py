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
from metaeval.results.trust import Use

BATTERIES = ("quick", "standard", "full")
_Share = Annotated[float, Field(ge=0, lt=1)]


class DeclaredRules(Model):
    """As `metaeval.results.trust.Rules`, with limits."""

    minimal_effect: _Share
    alpha: Annotated[float, Field(gt=0, lt=1)]
    least_room: _Share


class DeclaredUse(Model):
    """A use, and its evidence: source ("pairs.kinds") → the parts that count, `None` for all."""

    id: Annotated[str, Field(pattern="^[a-z0-9_]+$")]
    title: str
    shows: str
    evidence: Mapping[str, tuple[str, ...] | None]

    def shown(self) -> Use:
        """The use as the result has it."""
        return Use(id=self.id, title=self.title, shows=self.shows)

    def asks(self, source: str, part: str) -> bool:
        """Whether a number is evidence for this use."""
        parts = self.evidence.get(source, ())
        return parts is None or part in parts


class Uses(Model):
    """conf/trust/uses.yaml."""

    rules: DeclaredRules
    uses: tuple[DeclaredUse, ...]


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
