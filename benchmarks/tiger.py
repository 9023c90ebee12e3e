"""TIGEr in batches against the per-image loop of its authors' code, with equal results.

    METAEVAL_DATA=… python benchmarks/tiger.py [--capeval FOLDER --scan FOLDER] [--limit N]

takes the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace 50 %, Random) with the
shipped weights and gold regions, and random captions with random weights and regions of the
official size (36 regions of 2,048 numbers, 1,024 dimensions), and scores them

* in the structure of the authors' `Evaluator.tiger_score`: an image at a time, a caption at a time,
  attention by `func_attention`, RRS and WDS number by number. With `--capeval` and `--scan`,
  folders of github.com/SeleenaJM/CapEval and github.com/kuanghuei/SCAN (no part of this project),
  it is their functions that are called, edited in memory to run on today's torch; otherwise the
  same steps implemented again;
* by this project's metric.

Both begin at encoded regions and captions as text: splitting into words (by the same tokeniser,
which is faster than the authors'), encoding (the authors' code does that in batches, too, of 128),
grounding and scoring are all within the time; and once more from encoded words on both sides, which
is the loop over images by itself. They must agree to 1e-6. They take turns, three times; medians,
by the clock and by processor time, which other work on the machine disturbs less. The loop runs on
one thread, on which it is at its best: its operators are too small to be divided. `--threads` is
ours.

    METAEVAL_DATA=… python benchmarks/tiger.py --rectifier [--limit N]

prints instead what Eq. 3 of the paper, max(0, ·), makes of the scores instead of SCAN's LeakyReLU:
the mean absolute difference of each column, over the human captions and over all four sets.
"""

from __future__ import annotations

import math
import types
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.side_by_side import (
    Seconds,
    T,
    available,
    begin_torch,
    greatest_difference,
    joined,
    options_parser,
    replace_sets,
    timed,
)
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.scan.attention import l2norm
from metaeval.metrics.scan.grounding import Grounder
from metaeval.metrics.scan.metric import Rectifier, Tiger
from metaeval.metrics.scan.network import Scan, ScanShape
from metaeval.metrics.scan.tiger_score import compare_groundings
from metaeval.text.tokenizers.base import get
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.gold import GoldRegions
from tests.metrics.scan.test_tiger import slow as halves_of_tiger

Floats = npt.NDArray[np.float64]
SMOOTH, TAU = 9.0, 1.5
_BATCH = 128  # captions the authors encode at a time
_ROUNDS = 3  # of which the median counts


class Steps(NamedTuple):
    """Grounding vector of a caption's words; two such vectors (the references', its own) → TIGEr.

    Attributes
    ----------
    ground
        (image [r, d], words [k, d]) → [r].
    score
        Of two lists of r numbers.
    """

    ground: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    score: Callable[[list[float], list[float]], float]


def load_authors(capeval: Path, scan: Path) -> Steps:
    """The steps by the authors' functions."""
    steps: dict[str, Any] = {}
    for path, names in (
        (scan / "model.py", ("func_attention", "cosine_similarity")),
        (capeval / "tiger.py", ("ndcg", "kld_softmax", "absolute_distance", "sigmoid")),
    ):
        text = path.read_text(encoding="utf-8")
        # only the requested parts: the others need old libraries
        wanted = (*names, "l2norm", "self_softmax")
        parts = ["\ndef " + part for part in ("\n" + text).split("\ndef ")[1:]]
        code = "".join(p.split("\nclass ")[0] for p in parts if p[5:].split("(")[0] in wanted)
        module = types.ModuleType(path.stem)
        module.__dict__.update(torch=torch, nn=torch.nn, np=np, math=math)
        code = code.replace("nn.Softmax()", "nn.Softmax(dim=1)")
        exec(compile(code, str(path), "exec"), vars(module))
        steps.update({name: vars(module)[name] for name in names})
    options = Namespace(raw_feature_norm="clipped_l2norm")

    def ground(image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        attended, _ = steps["func_attention"](image[None], words[None], options, smooth=SMOOTH)
        cosine: torch.Tensor = steps["cosine_similarity"](image[None], attended, dim=2)
        return cosine.reshape(-1)

    def score(ref: list[float], test: list[float]) -> float:
        # the authors' code divides by zero where an image has a single region
        rank = steps["ndcg"](ref, test) if len(test) > 1 else 1.0
        distance = steps["kld_softmax"](ref, test) + steps["absolute_distance"](ref, test)
        return 0.5 * rank + 0.5 * (1 - steps["sigmoid"](distance, TAU))

    return Steps(ground, score)


def own_steps() -> Steps:
    """The same steps from the equations, for a machine without the authors' code."""

    def ground(image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        scores = torch.nn.functional.leaky_relu(words @ image.T, 0.1)
        scores = scores / (scores.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-8)
        attended = torch.softmax(scores.T * SMOOTH, dim=1) @ words
        return torch.nn.functional.cosine_similarity(image, attended, dim=1)

    def score(ref: list[float], test: list[float]) -> float:
        # gains cannot be scaled where an image has a single region, which ranks right in any case
        return sum(halves_of_tiger(ref, test, TAU, raw=len(test) == 1)) / 2

    return Steps(ground, score)


def by_loop(
    steps: Steps,
    regions: list[torch.Tensor],
    references: list[list[torch.Tensor]],
    candidates: list[list[torch.Tensor]],
) -> list[list[float]]:
    """TIGEr as the authors compute it, image by image; regions and words encoded, float64."""
    out = []
    for image, refs, cands in zip(regions, references, candidates, strict=True):
        stacked = torch.stack([steps.ground(image, words) for words in refs])
        mean = [x[0] for x in torch.t(stacked).mean(dim=1, keepdim=True).tolist()]
        out.append([steps.score(mean, steps.ground(image, words).tolist()) for words in cands])
    return out


def on_one_thread(work: Callable[[], T]) -> tuple[T, Seconds]:
    """`timed`, with one thread for torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    measured = timed(work)
    torch.set_num_threads(before)
    return measured


def spared(work: Callable[[], Any], *methods: Any) -> Seconds:
    """How long the work takes where these methods give at once what they gave in a call before."""
    results: dict[Any, list[Any]] = {method: [] for method in methods}

    def recorded(method: Any) -> Callable[[Any], Any]:
        def call(argument: Any) -> Any:
            results[method].append(method(argument))
            return results[method][-1]

        return call

    for method in methods:
        setattr(method.__self__, method.__name__, recorded(method))
    work()
    for method in methods:
        given = iter(results[method])
        setattr(method.__self__, method.__name__, lambda _, given=given: next(given))
    _, seconds = timed(work)
    for method in methods:
        delattr(method.__self__, method.__name__)
    return seconds


def encoded(model: Scan, ids: list[list[int]]) -> list[torch.Tensor]:
    """The word states of each caption, float64: packed batches of 128, as the authors have them."""
    out = []
    with torch.inference_mode():
        for start in range(0, len(ids), _BATCH):
            lengths = torch.tensor([len(own) for own in ids[start : start + _BATCH]])
            tokens = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.int64)
            for row, own in zip(tokens, ids[start : start + _BATCH], strict=True):
                row[: len(own)] = torch.tensor(own)
            packed = torch.nn.utils.rnn.pack_padded_sequence(
                model.text.embed(tokens), lengths, batch_first=True, enforce_sorted=False
            )
            states, _ = torch.nn.utils.rnn.pad_packed_sequence(
                model.text.rnn(packed)[0], batch_first=True
            )
            ahead, behind = states.chunk(2, dim=-1)
            words = l2norm((ahead + behind) / 2)
            out += [own[:n].double() for own, n in zip(words, lengths.tolist(), strict=True)]
    return out


def cut(items: list[Any], sizes: list[int]) -> list[list[Any]]:
    """The items in groups of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [items[i:j] for i, j in pairwise(ends)]


def compare(
    title: str,
    steps: dict[str, Any],
    grounder: Grounder,
    images: Regions,
    references: list[list[str]],
    candidates: list[str],
    index: npt.NDArray[np.intp],
    n_loop: int,
) -> None:
    """Time both from captions to scores (the loop over the first `n_loop` images)."""
    n = len(references)
    model, vocabulary = grounder._model, grounder._vocabulary
    forget: Callable[[], None] = get("ptb")._memory.clear

    def ours() -> Floats:
        owner = np.repeat(np.arange(n), [len(group) for group in references])
        vectors = grounder.grounding([text for group in references for text in group], owner)
        first = np.searchsorted(owner, np.arange(n))
        mean = np.add.reduceat(vectors, first, axis=0) / np.bincount(owner)[:, None]
        vectors = grounder.grounding(candidates, index)
        return compare_groundings(mean, grounder.n_regions, vectors, index)[:, 0]

    some = range(min(n, n_loop))
    with torch.inference_mode():
        features, _, there = images.subset(some).tensors(torch.device("cpu"))
        vectors = model.image(features, there).double()
        regions = [own[:k] for own, k in zip(vectors, there.sum(dim=1).tolist(), strict=True)]
    rows = [np.flatnonzero(index == i) for i in some]

    def words() -> list[list[list[torch.Tensor]]]:
        groups = [references[i] for i in some], [[candidates[k] for k in own] for own in rows]
        states = []
        for texts in groups:
            ids = vocabulary.encode_all([text for group in texts for text in group])
            states.append(cut(encoded(model, ids), [len(group) for group in texts]))
        return states

    def loop(words: list[list[list[torch.Tensor]]]) -> list[list[float]]:
        with torch.inference_mode():
            return by_loop(steps, regions, *words)

    count = sum(map(len, rows))
    print(f"\n{title}: {len(candidates):,} captions and {sum(map(len, references)):,} references")
    spent: dict[str, list[Floats]] = {"from captions to scores": [], "from encoded words": []}
    for _ in range(_ROUNDS):  # in turn, for the machine's other work
        forget()
        states, encoding = on_one_thread(words)
        slow, grounding = on_one_thread(partial(loop, states))
        forget()
        scores, whole = timed(ours)
        rest = spared(ours, grounder._encoded_words, vocabulary.encode_all)
        loops = np.array([np.add(encoding, grounding), grounding]) / count
        mine = np.array([whole, rest]) / len(candidates)
        for k, each in enumerate(spent.values()):
            each.append(np.stack([loops[k], mine[k]]))
    difference = max(
        greatest_difference(scores[at], own, 1e-6) for at, own in zip(rows, slow, strict=True)
    )
    for what, seconds in spent.items():
        both = 1 / np.median(seconds, axis=0)  # captions per second: by the clock, and by processor
        print(f"  {what}, captions per second by the clock and by processor time:")
        names = "the loop, 1 thread", f"ours, {torch.get_num_threads()} thread(s)"
        for name, rate in zip(names, both, strict=True):
            print(f"    {name:22}{rate[0]:10,.0f}{rate[1]:10,.0f}")
        print(
            f"    {'ours is … as fast':22}{both[1][0] / both[0][0]:9.1f}×"
            f"{both[1][1] / both[0][1]:9.1f}×"
        )
    print(f"  greatest difference {difference:.0e}")


def print_rectifiers(data: CaptionDataset) -> None:
    """How far scores with Eq. 3's max(0, ·) are from those with the code's LeakyReLU."""
    captions, index = joined(replace_sets(data))
    scores = []
    for name in get_args(Rectifier):
        scorer = available(Tiger(GoldRegions(), device="cpu", rectifier=name).bind(data))
        scorer.prepare()
        scores.append(scorer.score(captions, index))
    difference = np.abs(scores[0] - scores[1])
    n = len(data.image_ids)
    print(
        f"mean |difference| of {' and '.join(get_args(Rectifier))}, {n:,} images, "
        "Human and all four sets"
    )
    for k, column in enumerate(scorer.columns):
        human, every = difference[:n, k].mean(), difference[:, k].mean()
        print(f"  {column.name:12}{human:9.4f}{every:9.4f}")


def main() -> None:
    parser = options_parser(__doc__, "limit", "threads")
    parser.add_argument("--capeval", type=Path, help="a folder with the authors' tiger.py")
    parser.add_argument("--scan", type=Path, help="a folder with SCAN's model.py")
    parser.add_argument("--loop", type=int, default=200, help="images for the loop")
    parser.add_argument("--rectifier", action="store_true", help="compare Eq. 3 with the code")
    options = parser.parse_args()
    begin_torch(options)
    if options.rectifier:
        print_rectifiers(load_coco("coco_val2017", limit=options.limit))
        return
    given = options.capeval and options.scan
    steps = load_authors(options.capeval, options.scan) if given else own_steps()
    print(f"the loop is {'the authors’ own' if given else 'written anew in their structure'}")

    data = load_coco("coco_val2017", limit=options.limit)
    scorer = available(Tiger(GoldRegions(), device="cpu").bind(data))
    scorer.prepare()
    groups = [list(group) for group in data.references]
    title, (captions, index) = "val2017, gold regions", joined(replace_sets(data))
    compare(title, steps, scorer.grounder, scorer.regions, groups, captions, index, options.loop)

    rng, n = np.random.default_rng(0), 200
    words = Vocabulary((*SPECIAL, *(f"w{i}" for i in range(5000))))
    torch.manual_seed(0)
    model = Scan(ScanShape(dim=2048, words=len(words)))
    features = rng.random((n, 36, 2048), np.float32)
    names = tuple(("",) * 36 for _ in range(n))
    regions = Regions(features, np.zeros((n, 36, 4), np.float32), np.ones((n, 36), bool), names)
    grounder = Grounder(model, words, regions, SMOOTH, "cpu")

    def caption() -> str:
        return " ".join(f"w{k}" for k in rng.integers(0, 5000, rng.integers(6, 18)))

    groups = [[caption() for _ in range(4)] for _ in range(n)]
    some = [caption() for _ in range(4 * n)]
    index = np.tile(np.arange(n), 4)
    title = "36 × 2,048 features, 1,024 dimensions"
    compare(title, steps, grounder, regions, groups, some, index, 100)


if __name__ == "__main__":
    main()
