"""How a caption's VIFIDEL came about: which object is matched with which word, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metaeval.compute import transport
from metaeval.metrics.vifidel.distance import BagDistance
from metaeval.metrics.vifidel.words import Bag, Lexicon


def explain_transport(
    lexicon: Lexicon,
    distance: BagDistance,
    bags: tuple[Bag, Bag],
    image: int,
    columns: Sequence[str],
) -> dict[str, object]:
    """Column → its transport plan; a column that has no score, or 0 for want of words, has none.

    A plan holds `objects` and `words` (each with its share of the mass), `flows` (object, word,
    share moved, price per unit, and the cost: share times price), dearest first, `distance`, the
    sum of the costs, and `score`.
    """
    plans: dict[str, object] = {}
    if not all(bags):
        return plans
    for column, images in zip(columns, (None, np.array([image])), strict=True):
        problems = distance.problems([bags], images)
        for problem, prices in problems.priced():
            flow = transport.flows(prices, problem.supply, problem.demand)
            total = float(transport.costs(prices, flow)[0])
            share = flow[..., 0] / problem.supply.sum()
            numbers = (
                problems.object_words[problem.objects[:, 0]],
                problems.caption_words[problem.words[:, 0]],
            )
            names = [[lexicon.words[word] for word in side.tolist()] for side in numbers]
            moves = [
                {
                    "object": names[0][i],
                    "word": names[1][j],
                    "mass": float(share[i, j]),
                    "price": float(prices[i, j, 0]),
                    "cost": float(share[i, j] * prices[i, j, 0]),
                }
                for i, j in np.argwhere(share > 0)
            ]
            plans[column] = {
                "objects": _shares(names[0], share.sum(axis=1)),
                "words": _shares(names[1], share.sum(axis=0)),
                "flows": sorted(moves, key=lambda m: (-m["cost"], m["object"], m["word"])),
                "distance": total,
                "score": float(np.exp(-total)),
            }
    return plans


def _shares(names: Sequence[str], masses: Any) -> list[dict[str, object]]:
    return [
        {"word": name, "mass": float(mass)}
        for name, mass in zip(names, masses, strict=True)
        if mass > 0
    ]
