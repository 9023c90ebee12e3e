"""Explanations in the schema of `Metric.explain`, put into a run's files for tests and for looking.

The numbers are arbitrary but fixed: what is tested is that they arrive where they belong.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.runs import files as results

REGIONS: list[dict[str, Any]] = [
    {"label": "whole image", "box": [0.0, 0.0, 1.0, 1.0]},
    {"label": "top left", "box": [0.0, 0.0, 0.5, 0.5], "cell": True},
    {"label": "horse", "box": [0.25, 0.3, 0.75, 0.9]},
    {"label": "person", "box": [0.4, 0.1, 0.6, 0.6]},
    {"label": "person", "box": [0.05, 0.4, 0.12, 0.7]},
    {"label": "", "box": [0.8, 0.7, 1.0, 0.95]},
]


def transport(words: Sequence[str]) -> dict[str, Any]:
    """An explanation of VIFIDEL: two objects, every word, and a word without a vector."""
    rng = np.random.default_rng(len(words))
    moves = list(product(("horse", "person"), sorted(set(words))))
    numbers = zip(
        rng.dirichlet(np.ones(len(moves))), rng.uniform(0.1, 1.5, len(moves)), strict=True
    )
    flows: list[dict[str, Any]] = [
        {"object": a, "word": b, "mass": mass, "price": price, "cost": mass * price}
        for (a, b), (mass, price) in zip(moves, numbers, strict=True)
    ]
    flows.sort(key=lambda flow: -flow["cost"])
    objects, named = (
        [
            {"word": name, "mass": sum(f["mass"] for f in flows if f[side] == name)}
            for name in dict.fromkeys(f[side] for f in flows)
        ]
        for side in ("object", "word")
    )
    distance = sum(flow["cost"] for flow in flows)
    plan = {"objects": objects, "words": named, "flows": flows, "distance": distance}
    plans = {"VIFIDEL": {**plan, "score": np.exp(-distance)}}
    unknown = {"unknown_objects": [], "unknown_words": ["quux"]}
    return {"kind": "transport", "p": 1, "plans": plans, **unknown}


def grounding(regions: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    """An explanation of TIGEr."""
    rng = np.random.default_rng(seed)
    return {
        "kind": "grounding",
        "regions": list(regions),
        "candidate": rng.normal(0.3, 0.2, len(regions)).round(4).tolist(),
        "references": np.random.default_rng(0).normal(0.4, 0.2, len(regions)).round(4).tolist(),
        "values": {"TIGEr": 0.7257, "TIGEr-RRS": 0.9773, "TIGEr-WDS": 0.4741},
    }


def matches(
    regions: Sequence[Mapping[str, Any]], words: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """An explanation of FAIEr."""
    rng = np.random.default_rng(len(words))

    def table(rows: Sequence[str]) -> list[list[float]]:
        return rng.gamma(1.2, 1.0, (len(rows), len(regions))).round(4).tolist()

    relations = [" ".join(words[k : k + 3]) for k in range(0, max(len(words) - 2, 1), 3)]
    return {
        "kind": "matches",
        "regions": list(regions),
        "words": list(words),
        "matches": table(words),
        "relations": relations,
        "relation_matches": table(relations),
        "references": [{"words": list(r), "matches": table(r)} for r in references],
        "values": {"FAIEr": 4.67, "FAIEr-object": 2.5, "FAIEr-relation": 2.17},
    }


def alignment(words: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """An explanation of BERTScore."""
    rng = np.random.default_rng(len(words))

    def cosines(*shape: int) -> list[list[float]]:
        return (rng.uniform(-0.2, 1, shape).round(3) + 0.0).tolist()

    aligned = [
        {
            "words": ["[CLS]", *reference],
            "weights": [0.0, *(1.0 for _ in reference)],
            "similarity": cosines(len(words) + 1, len(reference) + 1),
            "precision": 0.71 + k / 100,
            "recall": 0.61 + k / 100,
            "f1": 0.66 + k / 100,
        }
        for k, reference in enumerate(references)
    ]
    return {
        "kind": "alignment",
        "words": ["[CLS]", *words],
        "weights": [0.0, *(1.0 for _ in words)],
        "references": aligned,
        "best": len(aligned) - 1,
        "values": {"BERTScore": aligned[-1]["f1"]},
    }


def tuples(words: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """An explanation of SPICE: here every word is an object, and neighbours are related."""
    theirs = sorted({word for reference in references for word in reference})

    def graph(text: Sequence[str], others: Sequence[str]) -> list[dict[str, Any]]:
        said = [*((w,) for w in text), *pairwise(text)]
        return [{"tuple": list(t), "matched": set(t) <= set(others) and len(t) == 1} for t in said]

    return {
        "kind": "tuples",
        "candidate": graph(list(words), theirs),
        "references": graph(theirs, words),
        "values": {"SPICE": 0.25},
    }


def objects(words: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """An explanation of CHAIR: here every word is an object, named by its capitals."""
    there = sorted({word.upper() for reference in references for word in reference})
    mentions = [
        {"words": word, "object": word.upper(), "matched": word.upper() in there} for word in words
    ]
    return {"kind": "objects", "candidate": mentions, "image": there, "values": {"CHAIR-i": 0.5}}


def write_explanations(
    run: Path,
    payloads: Mapping[str, Mapping[int | str, Mapping[str, Any]]],
    columns: Mapping[str, Sequence[str]],
) -> None:
    """Write explanations.json: family → image id → set → payload; family → its columns."""
    metrics = {
        family: {
            "columns": list(columns[family]),
            "images": [{"image_id": i, "sets": dict(sets)} for i, sets in images.items()],
        }
        for family, images in payloads.items()
    }
    explained = {"schema": 1, "images_per_column": 12, "metrics": metrics}
    results.write_json(run / results.EXPLANATIONS, explained, indent=None)
