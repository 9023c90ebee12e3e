"""`metaeval check FILE`: would the score bank take a file, and what does it cover?

FILE is NAME.csv with NAME.yaml next to it (docs/bank.md). Prints the metric, how many captions have
a score, and how many captions of its benchmark these are, where the data folder has the benchmark.
Exit codes: 0 the file is taken, 1 it covers no caption of its benchmark, 2 it is refused.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metaeval.config import compose_config, load_dataset
from metaeval.data.judgments.judged import Judgments
from metaeval.data.judgments.pascal50s import ForcedChoice
from metaeval.data.own.bank import description_of, read_entry
from metaeval.data.own.score_files import ScoreFiles
from metaeval.data.pairs.pairs import CaptionPairs
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.adapters.bank import scores_metric
from metaeval.overrides import require_listed


def check_file(file: Path) -> int:
    """Print what a file would add to the bank; 1 where it covers nothing of its benchmark."""
    entry = read_entry(file)
    require_listed([f"dataset={entry.benchmark}"], description_of(file) or file, "benchmark")
    scores = scores_metric(file, entry).scores
    n = sum(not math.isnan(value) for (value,) in scores.scores.values())
    read = ", ".join(entry.reads) or "the caption alone"
    print(f"{file.name}: {entry.metric}, {n:,} captions with a score; reads {read}")
    print(f"source: {entry.source}; licence: {entry.licence}")
    try:
        captions = set(captions_of(load_dataset(compose_config([f"dataset={entry.benchmark}"]))))
    except InputError as error:
        print(f"{entry.benchmark}: not compared; {error}")
        return 0
    covered = covered_captions(scores, captions)
    print(f"{entry.benchmark}: {covered:,} of {len(captions):,} captions have a score")
    return 0 if covered else 1


def covered_captions(scores: ScoreFiles, captions: set[tuple[str, str]]) -> int:
    """How many (image id, caption) of a benchmark the file has, with any references."""
    images = sorted({image for image, _ in captions})
    theirs = dict(zip(images, scores.ids_of(images), strict=True))
    known = {(item[0], item[1]) for item, (v,) in scores.scores.items() if not math.isnan(v)}
    return sum((theirs[image], caption) in known for image, caption in captions)


def captions_of(data: Any) -> Iterator[tuple[str, str]]:
    """(image id, caption) of every judged caption; ConfigError for other data."""
    if isinstance(data, Judgments):
        for k, judged in zip(data.image_index.tolist(), data.judged, strict=True):
            yield str(data.dataset.image_ids[k]), judged.candidate
    elif isinstance(data, ForcedChoice):
        for pair in zip(data.image, data.first, data.second, strict=True):
            yield from ((str(pair[0]), caption) for caption in pair[1:])
    elif isinstance(data, CaptionPairs):
        for p in data.pairs:
            yield from ((p.image, caption) for caption in (p.true, p.false))
    else:
        raise ConfigError("benchmark: give a dataset of judged captions or of pairs of captions")
