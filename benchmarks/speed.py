"""How many times as fast metaeval is as other code that gives the same results, in one run.

    METAEVAL_DATA=… python -m benchmarks.speed [NAME …] [--limit N] [--threads N]

A line for each comparison: how many items a second metaeval and the other code do, the ratio by the
clock and by processor time, which other work on the machine disturbs least, and the greatest
difference of the results, which is refused above a tolerance (of tokens: the share of captions that
have others). The captions are the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace
50 %, Random; four references). pycocoevalcap and bert-score are called
once a set, as they are used.
"""

import argparse
import contextlib
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.host import replace_sets
from metaeval.data.coco.files import find_coco_captions
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.metrics.bertscore.metric import BertScore
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.text.tokenizers import base as tokenizers
from metaeval.text.tokenizers.ptb import PtbTokenizer
from metaeval.text.transformers import hub

T = TypeVar("T")
Array = npt.NDArray[Any]


class Seconds(NamedTuple):
    """By the clock, and of processor time, which other work on the machine disturbs least."""

    clock: float
    processor: float


def coco_captions(split: str) -> list[list[str]]:
    """The captions of each image of COCO, images and captions by their ids."""
    file = available(find_coco_captions(split))
    images: dict[int, list[str]] = {}
    for annotation in sorted(json.loads(file.read_bytes())["annotations"], key=lambda a: a["id"]):
        images.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return [images[image] for image in sorted(images)]


def timed(work: Callable[[], T]) -> tuple[T, Seconds]:
    """What the work returns, and how long it took, with the processes that it started."""

    def processor() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    clock, spent = time.perf_counter(), processor()
    result = work()
    return result, Seconds(time.perf_counter() - clock, processor() - spent)


def available(value: T | Absent) -> T:
    """The value; if it is absent, the program ends with the reason."""
    if isinstance(value, Absent):
        sys.exit(f"nothing measured: {value}")
    return value


def joined(sets: Sequence[Sequence[str]]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """All captions of sets of one caption an image, and the image of each."""
    return [text for own in sets for text in own], np.tile(np.arange(len(sets[0])), len(sets))


def compare(
    name: str,
    ours: Callable[[], Array],
    theirs: Callable[[], Array],
    tolerance: float,
) -> None:
    """Print a line."""
    mine, fast = timed(ours)
    others, slow = timed(theirs)
    if mine.dtype.kind == "U":
        difference = float((mine != others).mean())
    else:
        difference = float(np.abs(mine - others).max())
    assert difference <= tolerance, f"{name}: the results differ by {difference}"
    ratios = [b / len(others) / (a / len(mine)) for a, b in zip(fast, slow, strict=True)]
    print(
        f"{name:<22}{len(mine) / fast.clock:>12,.0f}{len(others) / slow.clock:>12,.0f}"
        f"{ratios[0]:>9.1f} ×{ratios[1]:>9.1f} ×{difference:>10.0e}",
        flush=True,
    )


def scores_of(metric: Metric, dataset: CaptionDataset, captions: list[str], index: Array) -> Array:
    """All scores of a metric, from nothing."""
    tokenizers.get.cache_clear()  # no metric profits from what another has tokenised
    with closing(available(metric.scorer(dataset))) as scorer:
        scorer.prepare()
        return scorer.score(captions, index)


def against_pycocoevalcap(name: str, metric: Metric, make: Callable[[], Any], limit: int) -> None:
    """A metric on captions that are tokenised beforehand."""

    def split(texts: Sequence[str]) -> tuple[str, ...]:
        # a no-break space within a token would be split by some scorers and not by others
        return tuple(" ".join(words).replace("\xa0", "_") for words in tokenizers.get("ptb")(texts))

    coco = load_coco("coco_val2017", limit=limit)
    sets = [split(texts) for texts in replace_sets(coco)]
    references = tuple(split(group) for group in coco.references)
    ids = coco.image_ids
    dataset = CaptionDataset("tokenised", ids, sets[0], references, ids, sets[0])
    captions, index = joined(sets)

    def theirs() -> Array:
        scorer, known = make(), dict(enumerate(map(list, references)))
        each = [scorer.compute_score(known, {i: [t] for i, t in enumerate(s)})[1] for s in sets]
        return np.concatenate([np.reshape(scores, (-1, len(ids))).T for scores in each])

    compare(name, lambda: scores_of(metric, dataset, captions, index), theirs, 1e-9)


def rule_based(options: argparse.Namespace) -> None:
    from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
    from pycocoevalcap.cider.cider import Cider as CocoCider
    from pycocoevalcap.rouge.rouge import Rouge as CocoRouge

    bleu, rouge = Bleu(tokenizer="whitespace"), RougeL(tokenizer="whitespace")
    against_pycocoevalcap("BLEU-1 … BLEU-4", bleu, lambda: CocoBleu(4), options.limit)
    against_pycocoevalcap("ROUGE-L", rouge, CocoRouge, options.limit)
    against_pycocoevalcap("CIDEr", Cider(tokenizer="whitespace"), CocoCider, options.limit)


def meteor(options: argparse.Namespace) -> None:
    from pycocoevalcap.meteor.meteor import Meteor as CocoMeteor

    against_pycocoevalcap("METEOR", Meteor(tokenizer="whitespace"), CocoMeteor, options.limit)


def tokenizer(options: argparse.Namespace) -> None:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    texts = [text for image in coco_captions("val2017") for text in image]
    texts = list(dict.fromkeys(texts))[: 4 * options.limit]
    rng = np.random.default_rng(0)
    shuffled = [" ".join(rng.permutation(text.split())) for text in texts]
    for name, captions in (("PTB, human", texts), ("PTB, shuffled", shuffled)):
        records = {n: [{"caption": text}] for n, text in enumerate(captions)}

        def ours(captions: list[str] = captions) -> Array:
            return np.array([" ".join(tokens) for tokens in PtbTokenizer().tokenize(captions)])

        def theirs(records: dict[int, Any] = records) -> Array:
            tokens = PTBTokenizer().tokenize(records)
            return np.array([tokens[n][0] for n in range(len(records))])

        compare(name, ours, theirs, 0.01)


def bertscore(options: argparse.Namespace) -> None:
    from bert_score import BERTScorer

    model = available(hub.locate_model(hub.MINILM)).folder
    dataset = load_coco("coco_val2017", limit=options.limit)
    sets = replace_sets(dataset)
    captions, index = joined(sets)
    with contextlib.chdir(model.parent):  # it takes a model for T5 by "t5" in the path
        original = BERTScorer(model_type=model.name, num_layers=5, device="cpu")
    references = [list(group) for group in dataset.references]

    def theirs(sets: Sequence[list[str]] = sets, times: int = 1) -> Array:
        each = [original.score(texts, references * times, batch_size=64)[2] for texts in sets]
        return np.concatenate([scores.numpy() for scores in each])

    def ours() -> Array:
        metric = BertScore(layer=5, model=str(model), device="cpu")
        return scores_of(metric, dataset, captions, index)[:, 0]

    compare("BERTScore, set by set", ours, theirs, 1e-5)
    compare("BERTScore, all at once", ours, lambda: theirs([captions], len(sets)), 1e-5)


COMPARISONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "rule_based": rule_based,
    "meteor": meteor,
    "tokenizer": tokenizer,
    "bertscore": bertscore,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMPARISONS)}")
    parser.add_argument("--limit", type=int, default=5000, help="images of val2017")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(
        f"{'a second':<22}{'metaeval':>12}{'other':>12}{'clock':>11}{'processor':>11}{'apart':>10}"
    )
    for name in options.names or COMPARISONS:
        COMPARISONS[name](options)


if __name__ == "__main__":
    main()
