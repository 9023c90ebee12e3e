"""How many times as fast metaeval is as other code that gives the same results, in one run.

    METAEVAL_DATA=… python -m benchmarks.speed [NAME …] [--limit N] [--threads N] [--loop N]

A line for each comparison: how many items a second metaeval and the other code do, the ratio by the
clock and by processor time, which other work on the machine disturbs least, and the greatest
difference of the results, which is refused above a tolerance (of tokens: the share of captions that
have others). The captions are the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace
50 %, Random; four references), of `faier` those of 2,000 scenes; `bootstrap` and `tau` have made-up
scores. pycocoevalcap and bert-score are called once a set, as they are used. A loop does a caption
or a replicate at a time, `--loop` of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats

from benchmarks.side_by_side import available, coco_captions, joined, replace_sets, timed
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.base import Metric
from metaeval.metrics.bertscore.metric import BertScore
from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.metrics.faier.network import encode, load_network
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.metrics.scan.attention import l2norm
from metaeval.metrics.scan.metric import Tiger
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.replicates import replicate_statistics
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.text.tokenizers import base as tokenizers
from metaeval.text.tokenizers.ptb import PtbTokenizer
from metaeval.text.transformers import locate
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from tests.metrics.faier import plain
from tests.metrics.scan.test_tiger import slow as halves_of_tiger

Array = npt.NDArray[Any]
LEVELS = np.arange(4)
SMOOTH, TAU = 9.0, 1.5  # of the authors of TIGEr
EVERYTHING = slice(None)


def compare(
    name: str,
    ours: Callable[[], Array],
    theirs: Callable[[], Array],
    tolerance: float,
    rows: slice | Array = EVERYTHING,
) -> None:
    """Print a line. `rows` are those of our results that the other code has too."""
    mine, fast = timed(ours)
    others, slow = timed(theirs)
    if mine.dtype.kind == "U":
        difference = float((mine[rows] != others).mean())
    else:
        difference = float(np.abs(mine[rows] - others).max())
    assert difference <= tolerance, f"{name}: the results differ by {difference}"
    ratios = [b / len(others) / (a / len(mine)) for a, b in zip(fast, slow, strict=True)]
    print(
        f"{name:<22}{len(mine) / fast.clock:>12,.0f}{len(others) / slow.clock:>12,.0f}"
        f"{ratios[0]:>9.1f} ×{ratios[1]:>9.1f} ×{difference:>10.0e}",
        flush=True,
    )


def on_one_thread(loop: Callable[[], Array]) -> Array:
    """What a loop over small operators gives, on the one thread on which it is at its best."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return loop()
    finally:
        torch.set_num_threads(before)


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

    model = str(available(locate.locate(locate.MINILM)).folder)
    dataset = load_coco("coco_val2017", limit=options.limit)
    sets = replace_sets(dataset)
    captions, index = joined(sets)
    original = BERTScorer(model_type=model, num_layers=5, device="cpu")
    references = [list(group) for group in dataset.references]

    def theirs(sets: Sequence[list[str]] = sets, times: int = 1) -> Array:
        each = [original.score(texts, references * times, batch_size=64)[2] for texts in sets]
        return np.concatenate([scores.numpy() for scores in each])

    def ours() -> Array:
        metric = BertScore(layer=5, model=model, device="cpu")
        return scores_of(metric, dataset, captions, index)[:, 0]

    compare("BERTScore, set by set", ours, theirs, 1e-5)
    compare("BERTScore, all at once", ours, lambda: theirs([captions], len(sets)), 1e-5)


@torch.inference_mode()
def tiger_loop(scorer: Any, captions: Sequence[str], index: Array) -> Array:
    """TIGEr in the structure of the authors' code: a caption at a time from encoded batches."""
    model, vocabulary = scorer.grounder._model, scorer.grounder._vocabulary
    images = np.unique(index).tolist()
    features, _, there = scorer.regions.subset(images).tensors(torch.device("cpu"))
    regions = [v[m] for v, m in zip(model.image(features, there).double(), there, strict=True)]
    texts = [*captions, *(text for i in images for text in scorer.dataset.references[i])]
    ids = vocabulary.encode_all(texts)
    words = []
    for start in range(0, len(ids), 128):
        some = [torch.tensor(own) for own in ids[start : start + 128]]
        lengths = torch.tensor([len(own) for own in some])
        padded = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            model.text.embed(padded), lengths, batch_first=True, enforce_sorted=False
        )
        states = torch.nn.utils.rnn.pad_packed_sequence(model.text.rnn(packed)[0], True)[0]
        ahead, behind = states.chunk(2, dim=-1)
        both = l2norm((ahead + behind) / 2).double()
        words += [own[:n] for own, n in zip(both, lengths.tolist(), strict=True)]

    def ground(image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        scores = torch.nn.functional.leaky_relu(words @ image.T, 0.1)
        scores = scores / (scores.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-8)
        attended = torch.softmax(scores.T * SMOOTH, dim=1) @ words
        return torch.nn.functional.cosine_similarity(image, attended, dim=1)

    means, place = {}, len(captions)
    for image, i in zip(regions, images, strict=True):
        n = len(scorer.dataset.references[i])
        grounded = [ground(image, own) for own in words[place : place + n]]
        means[i], place = torch.stack(grounded).mean(dim=0).tolist(), place + n
    scores = []
    for own, i in zip(words[: len(captions)], index.tolist(), strict=True):
        candidate = ground(regions[images.index(i)], own).tolist()
        raw = len(candidate) == 1  # the gains of a single region cannot be scaled
        scores.append(sum(halves_of_tiger(means[i], candidate, TAU, raw=raw)) / 2)
    return np.array(scores)


def tiger(options: argparse.Namespace) -> None:
    dataset = load_coco("coco_val2017", limit=options.limit)
    captions, index = joined(replace_sets(dataset))
    metric = Tiger(GoldRegions(), device="cpu")
    scorer = available(metric.bind(dataset))
    scorer.prepare()
    rows = np.flatnonzero(index < options.loop // 4)
    some = [captions[k] for k in rows]

    def ours() -> Array:
        return scores_of(metric, dataset, captions, index)[:, 0]

    def loop() -> Array:
        return on_one_thread(lambda: tiger_loop(scorer, some, index[rows]))

    compare("TIGEr", ours, loop, 1e-6, rows)


def faier(options: argparse.Namespace) -> None:
    dataset = load_scenes(n=2000)
    weights = available(pretrained.choose("faier", dataset, pretrained.AUTO, variant="r"))
    model, vocabulary = load_network(weights), weights.vocabulary()
    regions, read = GoldRegions().load(dataset), TripletParser()
    flat = [text for own in dataset.references for text in own]
    ends = np.cumsum([len(own) for own in dataset.references]).tolist()
    groups = [list(range(a, b)) for a, b in zip([0, *ends], ends, strict=False)]
    references = encode(flat, read, vocabulary)
    matcher = UnionMatcher(model)
    matcher.prepare(regions, references, groups)
    texts, index = joined(replace_sets(dataset))
    captions = encode(texts, read, vocabulary)
    chosen = np.random.default_rng(0).permutation(len(texts))[: options.loop]

    @torch.inference_mode()
    def loop() -> Array:
        """A caption at a time, each with its own union of image and references."""
        scores = []
        for k in chosen:
            image = regions.subset([index[k]]).tensors(torch.device("cpu"))
            own = groups[index[k]]
            unions = plain.unite(
                model,
                model.see(*image),
                0,
                model.read(references.take(np.array(own))),
                range(len(own)),
            )
            nodes = model.read(captions.take(np.array([k])))
            scores.append(plain.score(unions, nodes, 0).double().numpy())
        return np.array(scores)

    compare(
        "FAIEr", lambda: matcher.score(captions, index), lambda: on_one_thread(loop), 1e-4, chosen
    )


def bootstrap(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(5000, 4)) + 0.5 * LEVELS, 2)
    counts = bootstrap_counts(5000, 2000, seed=0)

    def by_scipy(count: Array) -> list[float]:
        """A replicate of every statistic except rank-order ρ, which depends on how ties break."""
        x = np.repeat(scores, count, axis=0)
        y = np.broadcast_to(LEVELS, x.shape)
        pairs = np.array([x[:, b] - x[:, a] for b in range(4) for a in range(b)])
        steps = [stats.mannwhitneyu(x[:, g + 1], x[:, g]).statistic for g in range(3)]
        return [
            stats.spearmanr(y.ravel(), x.ravel()).statistic,
            stats.kendalltau(x.ravel(), y.ravel()).statistic,
            *(float(u) / len(x) ** 2 for u in steps),
            (pairs > 0).mean(),
            (pairs < 0).mean(),
            (np.diff(x, axis=1) > 0).all(axis=1).mean(),
        ]

    def ours() -> Array:
        parts = replicate_statistics(scores, LEVELS, counts)
        return np.vstack([np.atleast_2d(part) for part in parts]).T[:, 1:]

    n = min(options.loop, 5)
    compare("bootstrap", ours, lambda: np.array(list(map(by_scipy, counts[:n]))), 1e-10, slice(n))


def tau(options: argparse.Namespace) -> None:
    """Data of Flickr8k-Expert's size: 16,992 ratings of 5,664 captions of 1,000 images."""
    rng = np.random.default_rng(0)
    quality, row = rng.normal(size=5664), np.repeat(np.arange(5664), 3)
    human = np.clip(np.round(quality[row] + 0.7 * rng.normal(size=len(row)) + 1.7), 1, 4)
    x, image = (quality + rng.normal(size=5664))[row], rng.integers(1000, size=5664)[row]
    counts = bootstrap_counts(1000, 1000, seed=0)
    rows_of = [np.flatnonzero(image == k) for k in range(1000)]

    def by_scipy(weights: Array) -> float:
        drawn = np.concatenate([np.tile(rows_of[k], w) for k, w in enumerate(weights) if w])
        return float(stats.kendalltau(x[drawn], human[drawn], variant="c").statistic)

    def ours() -> Array:
        weighted = WeightedCorrelations(x, human, image, 1000, names=("kendall_tau_c",))
        return np.asarray(weighted.of(counts).kendall_tau_c)

    n = min(options.loop, 20)
    compare(
        "τ-c with ratings", ours, lambda: np.array(list(map(by_scipy, counts[:n]))), 1e-9, slice(n)
    )


COMPARISONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "rule_based": rule_based,
    "meteor": meteor,
    "tokenizer": tokenizer,
    "bertscore": bertscore,
    "tiger": tiger,
    "faier": faier,
    "bootstrap": bootstrap,
    "tau": tau,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMPARISONS)}")
    parser.add_argument("--limit", type=int, default=5000, help="images of val2017")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--loop", type=int, default=200, help="captions or replicates of a loop")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(
        f"{'a second':<22}{'metaeval':>12}{'other':>12}{'clock':>11}{'processor':>11}{'apart':>10}"
    )
    for name in options.names or COMPARISONS:
        COMPARISONS[name](options)


if __name__ == "__main__":
    main()
