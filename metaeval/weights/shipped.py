"""The weights that come with the package, in words: for `doctor`. Reads cards only, no torch."""

from __future__ import annotations

from pathlib import Path

from metaeval.errors import InputError
from metaeval.readers.files import one_line
from metaeval.readers.json_text import read_json
from metaeval.weights.cards import CARD, WEIGHTS

SHIPPED = Path(__file__).resolve().parent


def lines(folder: Path = SHIPPED) -> list[str]:
    """One line for each folder of weights: name, size, what it is; or what is wrong with it."""
    there = folder.iterdir() if folder.is_dir() else ()
    folders = sorted(f for f in there if f.is_dir() and not f.name.startswith(("_", ".")))
    width = max((len(f.name) for f in folders), default=0)
    return [f"{f.name:<{width}}  {_describe(f)}" for f in folders]


def _describe(folder: Path) -> str:
    try:
        card, _ = read_json(folder / CARD)
        size = (folder / WEIGHTS).stat().st_size
    except InputError as error:
        return f"cannot be used: {error}"
    except OSError:
        return f"cannot be used: {folder / WEIGHTS} is not there"
    if not isinstance(card, dict):
        return f"cannot be used: {folder / CARD} holds no card"
    return f"{size / 1e6:.1f} MB, {_what(card)}"


def _what(card: dict[str, object]) -> str:
    """The card's own words, or what its entries say."""
    if isinstance(card.get("what"), str):
        return one_line(card["what"])
    name = " ".join(str(card[key]) for key in ("kind", "variant") if card.get(key))
    images = "drawn scenes" if card.get("family") == "scenes" else "photographs"
    return one_line(f"{name or 'a model'}, {card.get('regions', 'unknown')} regions of {images}")
