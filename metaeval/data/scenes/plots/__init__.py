"""What can happen: small plots that put people, animals and things into relation on a stage.

Each plot places a few groups, relates them, and leaves the layout consistent with what it says:
a rider sits on the mount, whatever is on the table stands on its top.
"""

from __future__ import annotations

from metaeval.data.scenes.plots.people import (
    boarders,
    carrying,
    holding,
    keeper,
    kite_flyers,
    leash,
    luggage,
    packed,
    playing,
    riders,
    suited,
    wear,
)
from metaeval.data.scenes.plots.resting import hiding, inside, perched, seated, using
from metaeval.data.scenes.plots.things import (
    bystander,
    catching,
    counter,
    flying,
    herd,
    pair,
    parked,
    room,
    tabletop,
    wall,
)

__all__ = [
    "boarders", "bystander", "carrying", "catching", "counter", "flying", "herd", "hiding",
    "holding", "inside", "keeper", "kite_flyers", "leash", "luggage", "packed", "pair", "parked",
    "perched", "playing", "riders", "room", "seated", "suited", "tabletop", "using", "wall", "wear",
]  # fmt: skip
