"""The page of examples: up to twenty captions of scenes a corruption, before and after.

Of scenes, because their captions are ours; what the table tells of COCO is in `table`.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from corruptions.base import Corruption
from experiments.sensitivity.suite import kind_of, suite
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes

EACH, SCENES, SEED = 20, 1000, 0
_HEAD = """# Examples of every corruption

Written by `python -m benchmarks.corruption_audit examples FILE`: the first \
twenty captions of `dataset=scenes dataset.n=1000` that each corruption changes, seed 0. What each \
is made for and how often it is possible on COCO: docs/corruptions.md.
"""


def write_examples(page: Path) -> None:
    """Write the page: a heading a kind, a heading a corruption and level, a line an example."""
    data = load_scenes(n=SCENES)
    lines = [_HEAD]
    for kind, corruptions in groupby(suite(data), key=kind_of):
        lines.append(f"\n## {kind.capitalize()}\n")
        for corruption in corruptions:
            lines += [f"### {corruption.label} (`{corruption.name}`)\n", *_of(corruption, data), ""]
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def _of(corruption: Corruption, data: CaptionDataset) -> list[str]:
    results = corruption.apply(data, SEED)
    pairs = [(a, b.text) for a, b in zip(data.human, results, strict=True) if b.applied]
    if not pairs:
        return ["No caption of these scenes offers a place."]
    return [f"- {_shown(a)} → {_shown(b) or 'nothing'}" for a, b in pairs[:EACH]]


def _shown(text: str) -> str:
    """A caption as Markdown shows it; a tab or more than one blank is told."""
    return text.replace("\t", "⇥").replace("  ", " ␣").replace("*", "\\*").replace("_", "\\_")
