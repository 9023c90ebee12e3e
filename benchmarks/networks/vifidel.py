"""VIFIDEL against its authors' scorer, and its transport against POT's and Sinkhorn's.

    METAEVAL_DATA=… python benchmarks/networks/vifidel.py [--scorer FILE] [--limit N]

scores the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace 50 %, Random: 20,000
captions, gold objects, 4 references each), without references and with, and then

* with `--scorer FILE` (scorer.py of github.com/ImperialNLP/vifidel, which needs pyemd; it is not
  part of this project): a sample of the same captions with the authors' code, from the same word
  vectors; the distances must agree to 1e-5. It has p = 1 only, so p = 1 is what is timed.
* the transport alone, on the very problems of these captions: POT's exact `ot.emd2` one by one (the
  default on a processor), the device solver run on the processor, and Sinkhorn's approximation in
  batches; and the same on random problems of growing size.

Word vectors are looked up beforehand, for both sides (the authors' scorer expects them as an array
in memory); how long MiniLM takes to make them is a line of its own. Measured by the clock and in
processor time, summed over this process's threads, which other work on the machine disturbs least.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import ot
import torch

from benchmarks.side_by_side import (
    Seconds,
    available,
    greatest_difference,
    joined,
    options_parser,
    replace_sets,
    timed,
)
from metaeval.compute import transport
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.vifidel.metric import Vifidel, VifidelScorer
from metaeval.metrics.vifidel.words import Lexicon
from metaeval.runs.store import MemoryStore
from metaeval.text.word_vectors.minilm import MiniLmVectors

Floats = npt.NDArray[np.float64]
Batch = tuple[Floats, Floats, Floats]
REGULARISATION, STEPS = 0.02, 100  # Sinkhorn's, costs scaled to a greatest of 1


def load_scorer(path: Path) -> types.ModuleType:
    """The authors' scorer, with the two things it needs that no longer exist put back."""
    from sklearn.feature_extraction.text import CountVectorizer

    if not hasattr(CountVectorizer, "get_feature_names"):  # its name until scikit-learn 1.2
        CountVectorizer.get_feature_names = CountVectorizer.get_feature_names_out
    for name in ("gensim", "gensim.models"):  # it only loads vectors with it
        sys.modules.setdefault(name, types.ModuleType(name))
    if not hasattr(sys.modules["gensim.models"], "KeyedVectors"):
        sys.modules["gensim.models"].KeyedVectors = None  # type: ignore[attr-defined]
    scorer = types.ModuleType("scorer")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(scorer))
    return scorer


def authors(
    scorer: types.ModuleType,
    data: CaptionDataset,
    captions: list[str],
    index: npt.NDArray[np.intp],
    lexicon: Lexicon,
    sample: npt.NDArray[np.intp],
) -> Floats:
    """[len(sample), 2] The authors' distances."""
    objects = data.part("objects")
    distances = np.full((len(sample), 2), np.nan)
    for row, k in enumerate(sample):
        labels = objects[data.image_ids[index[k]]].labels
        text = " ".join(label.replace(" ", "-") for label in labels)
        references = list(data.references[index[k]])
        with np.errstate(invalid="ignore"):
            distances[row, 0] = scorer.objdesc(lexicon.rows, lexicon.words, text, captions[k])
            distances[row, 1] = scorer.objdescrefs(
                lexicon.rows, lexicon.words, text, captions[k], references
            )
    return distances


def by_pot(batch: Batch) -> Floats:
    cost, supply, demand = batch
    costs = np.empty(cost.shape[2])
    for k in range(cost.shape[2]):
        rows, columns = supply[:, k] > 0, demand[:, k] > 0  # POT is spared the padding
        a, b = supply[rows, k], demand[columns, k]
        exact = np.ascontiguousarray(cost[..., k][rows][:, columns])
        costs[k] = ot.emd2(a / a.sum(), b / b.sum(), exact)
    return costs


def by_device_solver(batch: Batch) -> Floats:
    return transport.costs(batch[0], transport.flows_on(torch.device("cpu"), *batch))


def by_sinkhorn(batch: Batch) -> Floats:
    """Sinkhorn and Knopp's scaling of all problems of a batch side by side."""
    cost, supply, demand = batch
    a, b = supply / supply.sum(axis=0), demand / demand.sum(axis=0)
    greatest = np.maximum(cost.max(axis=(0, 1)), 1e-300)
    kernel = np.exp(-cost / greatest / REGULARISATION)
    v = np.ones_like(b)
    for _ in range(STEPS):
        u = a / np.maximum((kernel * v[None]).sum(axis=1), 1e-300)
        v = b / np.maximum((kernel * u[:, None]).sum(axis=0), 1e-300)
    flow = u[:, None] * kernel * v[None]
    return np.asarray((flow * cost).sum(axis=(0, 1)))


def compare(batches: list[Batch]) -> None:
    """Solve the batches in every way; a line each, with the greatest difference from POT."""
    count = sum(batch[0].shape[2] for batch in batches)
    ways: list[tuple[str, Callable[[Batch], Floats]]] = [
        ("POT, one by one", by_pot),
        ("device solver", by_device_solver),
        ("Sinkhorn", by_sinkhorn),
    ]
    expected: Floats | None = None
    slow = 0.0
    for name, way in ways:
        way(tuple(array[..., :3] for array in batches[0]))  # type: ignore[arg-type]  # imports
        distances, seconds = timed(lambda w=way: np.concatenate([w(b) for b in batches]))
        if expected is None:
            expected, slow = distances, seconds.clock
        difference = greatest_difference(
            distances, expected, np.inf if name == "Sinkhorn" else 1e-6
        )
        each = 1e6 * seconds.clock / count
        print(
            f"  {name:<24}{seconds}{each:9.1f} µs each{slow / seconds.clock:8.1f} × POT"
            f"   off by {difference:.0e}"
        )


def main() -> None:
    parser = options_parser(__doc__, "limit")
    parser.add_argument("--scorer", type=Path, help="the authors' scorer.py")
    parser.add_argument("--sample", type=int, default=1000, help="captions for the authors' scorer")
    options = parser.parse_args()

    data = load_coco("coco_val2017", limit=options.limit)
    data.part("objects")
    captions, index = joined(replace_sets(data))
    store = MemoryStore()

    def score(p: int) -> tuple[VifidelScorer, Floats]:
        scorer = available(Vifidel(MiniLmVectors(), p=p).bind(data, store))
        scorer.prepare()
        return scorer, scorer.score(captions, index)

    print(f"{'':<53}{'clock':>11}{'processor':>11}")

    def line(what: str, n: int, seconds: Seconds) -> None:
        print(f"{f'{n:,} captions, {what}':<53}{seconds}")

    _, made = timed(lambda: score(1))
    line("word vectors made on the way", len(captions), made)
    (_, scores), ours = timed(lambda: score(1))
    line("p = 1, both columns", len(captions), ours)
    (scorer, _), seconds = timed(lambda: score(2))
    line("p = 2, both columns", len(captions), seconds)

    lexicon = scorer.lexicon
    if options.scorer:
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(len(captions), min(options.sample, len(captions)), False))
        original = load_scorer(options.scorer)
        theirs, seconds = timed(lambda: authors(original, data, captions, index, lexicon, sample))
        has = np.isfinite(theirs)
        difference = greatest_difference(-np.log(scores[sample][has]), theirs[has], 1e-5)
        ratio = seconds.processor / len(sample) / (ours.processor / len(captions))
        line("authors' scorer", len(sample), seconds)
        print(
            f"  {ratio:.0f} × ours a caption by processor time; an answer for "
            f"{has.all(axis=1).mean():.1%}, off by {difference:.0e}"
        )

    bags = [lexicon.bag(lexicon.count(caption)) for caption in captions]
    pairs = [(scorer.object_bags[i], bag) for i, bag in zip(index, bags, strict=True)]
    whole = [k for k, pair in enumerate(pairs) if all(pair)]
    pairs = [pairs[k] for k in whole]
    batches = [
        (prices, problem.supply, problem.demand)
        for problem, prices in scorer.distance.problems(pairs, index[whole]).priced()
    ]
    print(f"transport of {len(pairs):,} captions, weighted by references")
    compare(batches)
    rng = np.random.default_rng(0)
    for m, n in ((4, 6), (8, 12), (16, 24), (20, 30)):
        a, b = rng.integers(1, 4, (m, 1000)), rng.integers(1, 4, (n, 1000))
        print(f"1,000 random problems of {m} × {n}")
        masses = (a * b.sum(axis=0)).astype(float), (b * a.sum(axis=0)).astype(float)
        compare([(rng.random((m, n, 1000)), *masses)])


if __name__ == "__main__":
    main()
