"""The page of examples: captions of scenes, before and after each corruption.

Of scenes, because their captions may be published; the numbers on COCO are in `table`.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, zip_longest
from pathlib import Path

from metaeval.corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.task import corruption_kind, suite

SCENES, SEED = 1000, 0
_HEAD = """# Examples of every corruption

Up to {each} captions of `dataset=scenes dataset.n={scenes}` that each corruption changes, before
and after, seed {seed}; of one with several degrees, some of each. What they are for, how often
each is possible on COCO and how they were checked: [corruptions.md](corruptions.md). More of them
(`--each`) are on the site and written by

```
python -m research.corruption_audit examples FILE --each 20
```
"""
_KINDS = {"truth": "those that know the scene"}
_EFFECTS = {"lower": "harms", "same": "harmless"}


def write_examples(page: Path, each: int) -> None:
    """Write the page: a heading a kind, a heading a corruption, a line an example."""
    data = load_scenes(n=SCENES)
    lines = [_HEAD.format(each=each, scenes=SCENES, seed=SEED)]
    for kind, corruptions in groupby(suite(data), key=corruption_kind):
        lines.append(f"## {_KINDS.get(kind, kind).capitalize()}\n")
        for _, levels in groupby(corruptions, key=lambda c: c.name):
            lines += section(list(levels), data, each)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def section(levels: Sequence[Corruption], data: CaptionDataset, each: int) -> list[str]:
    """A corruption in all its degrees: what it declares, how often it is possible, examples."""
    changed = [_changed(corruption, data) for corruption in levels]
    first, several = levels[0], len(levels) > 1
    degrees = f"degrees: {', '.join(c.label for c in levels)}" if several else "one degree"
    made = max(map(len, changed))
    facts = f"{_EFFECTS[first.expected]}; {degrees}; made in {made:,} of {len(data):,} captions"
    lines = [f"### {first.title} (`{first.name}`)\n", f"{facts}.\n"]
    if not made:
        return [*lines, "No caption of these scenes offers a place.\n"]
    for label, before, after in islice(_in_turn(levels, changed), each):
        prefix = f"{label}: " if several else ""
        lines.append(f"- {prefix}{_shown(before)} → {_shown(after) or 'nothing'}")
    return [*lines, ""]


def _changed(corruption: Corruption, data: CaptionDataset) -> list[tuple[str, str]]:
    results = corruption.apply(data, SEED)
    return [(a, b.text) for a, b in zip(data.human, results, strict=True) if b.applied]


def _in_turn(
    levels: Sequence[Corruption], changed: Sequence[Sequence[tuple[str, str]]]
) -> Iterator[tuple[str, str, str]]:
    """The k-th changed caption of the k-th degree, and so on around, so that captions differ."""
    n = len(levels)
    turns = [
        [(levels[k].label, *pair) for i, pair in enumerate(pairs) if n == 1 or i % n == k]
        for k, pairs in enumerate(changed)
    ]
    for turn in zip_longest(*turns):
        yield from (example for example in turn if example is not None)


def _shown(text: str) -> str:
    """A caption as Markdown shows it; tabs and runs of blanks are made visible."""
    return text.replace("\t", "⇥").replace("  ", " ␣").replace("*", "\\*").replace("_", "\\_")
