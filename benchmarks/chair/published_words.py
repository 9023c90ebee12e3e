"""CHAIR of captioners by our words and by the list that its authors published.

    python -m benchmarks.chair.published_words SYNONYMS.txt RESULTS.json …

SYNONYMS.txt is data/synonyms.txt of LisaAnne/Hallucination, a category a line, which is not ours to
ship; it is given plurals and the rules for qualifiers of ours. RESULTS.json are captions of COCO's
Karpathy test images in COCO's format of results. Prints CHAIR-s and CHAIR-i by both, in per cent,
and for how many captions both find the same categories.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from lemminflect import getInflection

from benchmarks.chair.ontology import QUALIFIERS
from metaeval.data.coco.load import load_coco
from metaeval.metrics.hallucination.chair import Chair, ChairScorer
from metaeval.readers.json_text import read_json


def read_published(path: Path) -> dict[str, list[str]]:
    """Category → words; a word in two lines belongs to the first."""
    owner: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = [word.strip() for word in line.split(",")]
        for word in words:
            owner.setdefault(word, words[0])
    for word, category in list(owner.items()):
        head, _, last = word.rpartition(" ")
        for plural in getInflection(last, tag="NNS"):
            owner.setdefault(f"{head} {plural}".strip(), category)
    return {c: [w for w, of in owner.items() if of == c] for c in dict.fromkeys(owner.values())}


def main(published: str, *results: str) -> None:
    dataset = load_coco("coco_karpathy_test", split="karpathy_test")
    place = {image: k for k, image in enumerate(dataset.image_ids)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        value = {"words": read_published(Path(published)), "qualifiers": QUALIFIERS}
        file.write(json.dumps(value))
        file.flush()
        scorers = [Chair(ontology=path).bind(dataset) for path in (None, file.name)]
    same = total = 0
    print("| | CHAIR-s | by their list | CHAIR-i | by their list |\n|---|---:|---:|---:|---:|")
    for path in results:
        records = [r for r in read_json(Path(path))[0] if r["image_id"] in place]
        captions = [record["caption"] for record in records]
        images = np.array([place[record["image_id"]] for record in records])
        shares = []
        for scorer in scorers:
            assert isinstance(scorer, ChairScorer)
            scorer.prepare()
            sums = np.nansum(scorer.statistics(captions, images), axis=0, keepdims=True)
            shares.append(100 * scorer.metric.of_statistics(sums, corpus=True)[0])
        cells = [f"{shares[k][c]:.1f}" for c in (0, 1) for k in (0, 1)]
        print(f"| {Path(path).stem} | {' | '.join(cells)} |")
        for caption in captions:
            ours, theirs = (
                sorted(c for _, c in s.ontology.mentions(caption))  # type: ignore[union-attr]
                for s in scorers
            )
            same, total = same + (ours == theirs), total + 1
    print(f"\nThe same categories in {100 * same / total:.1f} % of {total:,} captions.")


if __name__ == "__main__":
    main(*sys.argv[1:])
