"""Where published values come from that metaeval's defaults do not give: hypotheses, one per row.

    python -m benchmarks.numbers.published_gaps [--seeds 5] [--limit N] [METRIC …]

On COCO val2017, with the published values of González-Chávez et al. for METEOR, ROUGE-L, SacreBLEU
and BLEU. A hypothesis is another implementation, tokeniser or use of references for a metric,
and another rule of replacing or shuffling. Printed, as Markdown: rank-order ρ, the mean over
corruption seeds, and how far the published value lies from it, in standard deviations of seeds and
random tie-breaking. A hypothesis counts only if it fits a rule of replacing and one of shuffling.
Scores are cached, and nltk's METEOR needs WordNet (`python -m metaeval.doctor --install wordnet`).

Not tried: BERTScore, whose model in the paper (roberta-large) has to be on the machine.
"""

from __future__ import annotations

import argparse
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.side_by_side import available
from metaeval.config import component, compose_config
from metaeval.corruptions.base import Caption, Corrupted, Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.corruptions.tokens import rewritten, with_word, words
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.graded.seeds import seed_spread
from metaeval.experiments.graded.task import REPLACE, SHUFFLE
from metaeval.experiments.scores import open_store
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.meteor.nltk_metric import NltkPairScore, find_wordnet
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.metrics.ngram.sacrebleu import SacreBleu
from metaeval.readers.files import user_path
from metaeval.results.graded import paper_distance
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.scoring import score_captions
from metaeval.stats.correlation.rank_order import rank_order, tie_breaking_seeds
from metaeval.text.tokenizers import base as tokenizers

Tokens = Sequence[str]
Columns = dict[str, npt.NDArray[np.float64]]  # [n_images, n_sets] of each column

LETTERS = "letters and digits"  # the tokens of Google's rouge_score
USES = ("best reference", "mean over references", "first reference", "references joined")
NEAR_SD = 2.0

SHUFFLES: Mapping[str, Mapping[str, Any]] = {
    "Shuffle": {},
    "punctuation stays": {"punctuation": "stays"},
    "stays, derange": {"punctuation": "stays", "derange": True},
}


class ReplaceByChance(Replace):
    """Each word for itself gives way with the rate as its probability, not a fixed number."""

    name = "replace_by_chance"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        chosen = [i for i in words(tokens) if rng.random() < self.rate]
        new = {i: with_word(tokens[i], self.bag[rng.integers(len(self.bag))]) for i in chosen}
        return rewritten(caption.text, new, self.rate)


class ReplaceTokens(Replace):
    """round(rate · n) of the tokens between blanks give way, with the punctuation at them."""

    name = "replace_tokens"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        chosen = rng.permutation(len(tokens))[: round(self.rate * len(tokens))].tolist()
        new = {i: self.bag[rng.integers(len(self.bag))] for i in chosen}
        return rewritten(caption.text, new, self.rate)


REPLACES: Mapping[str, type[Replace]] = {
    "Replace": Replace,
    "each word by chance": ReplaceByChance,
    "punctuation goes too": ReplaceTokens,
}


class UseOfReferences(Metric):
    """A score of two texts, by what is done with several references: the four of `USES`."""

    title: ClassVar[str]

    def __init__(self, tokens: str) -> None:
        self.tokens = tokens
        self.name = f"{self.title} on {tokens}"  # type: ignore[misc]

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return tuple(ScoreColumn(f"{self.name}, {use}") for use in USES)

    @abstractmethod
    def comparison(self) -> Callable[[Tokens, Tokens], float]:
        """The score of a caption, the second, against one reference."""

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ReferenceScorer | Absent:
        return _UseScorer(self, {"tok": self.tokens, "v": 1}, dataset)

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        if self.tokens == LETTERS:
            return [re.findall("[a-z0-9]+", text.lower()) for text in texts]
        return tokenizers.get(self.tokens)(texts)


class _UseScorer(ReferenceScorer):
    metric: UseOfReferences

    def prepare(self) -> None:
        self._score = self.metric.comparison()
        self._references = [self.metric.split(texts) for texts in self.dataset.references]

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        rows = []
        for caption, image in zip(self.metric.split(captions), image_index.tolist(), strict=True):
            references = self._references[image]
            each = [self._score(reference, caption) for reference in references]
            joined = self._score([word for reference in references for word in reference], caption)
            rows.append([max(each), sum(each) / len(each), each[0], joined])
        return np.array(rows)


class RougeF(UseOfReferences):
    """ROUGE-L's F1 of one caption and one reference, as in rouge_score (without stems)."""

    title = "ROUGE-L (F1)"

    def comparison(self) -> Callable[[Tokens, Tokens], float]:
        def f1(reference: Tokens, caption: Tokens) -> float:
            common = common_subsequence(reference, caption)
            return 2 * common / max(len(reference) + len(caption), 1)

        return f1


class NltkMeteor(UseOfReferences):
    """nltk's METEOR of one caption and one reference."""

    title = "METEOR (nltk)"

    def __init__(self, tokens: str, wordnet: Path) -> None:
        super().__init__(tokens)
        self.wordnet = wordnet

    def comparison(self) -> Callable[[Tokens, Tokens], float]:
        return NltkPairScore(self.wordnet)


def common_subsequence(a: Tokens, b: Tokens) -> int:
    """The length of the longest common subsequence (Hyyrö, 2004: a bit for each word of `a`)."""
    places: dict[str, int] = {}
    for i, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << i
    full = (1 << len(a)) - 1
    state = full
    for word in b:
        match = state & places.get(word, 0)
        state = ((state + match) | (state & ~match)) & full
    return (full & ~state).bit_count()


class Hypothesis(NamedTuple):
    """A column of a metric that may be what was published, and what it is in words."""

    words: str
    metric: Metric
    column: str


def hypotheses(wordnet: Path) -> dict[str, list[Hypothesis]]:
    """The hypotheses by published metric."""

    def plain(words: str, metric: Metric) -> Hypothesis:
        return Hypothesis(words, metric, metric.columns[0].name)

    def uses(metric: UseOfReferences) -> list[Hypothesis]:
        return [
            Hypothesis(f"{metric.name}, {use}", metric, f"{metric.name}, {use}") for use in USES
        ]

    bleu = {tokens: Bleu(tokens, unsmoothed=True) for tokens in ("ptb", "whitespace")}
    return {
        **{
            column: [Hypothesis(f"on {tokens}", metric, column) for tokens, metric in bleu.items()]
            for column in ("BLEU-1", "BLEU-2 (unsmoothed)")
        },
        "SacreBLEU": [
            plain("13a", SacreBleu()),
            plain("13a, lower case", SacreBleu(lowercase=True)),
            plain("intl", SacreBleu(tokenizer="intl")),
            plain("none", SacreBleu(tokenizer="none")),
            plain("char", SacreBleu(tokenizer="char")),
            plain("13a, no smoothing", SacreBleu(smooth="none")),
        ],
        "METEOR": [
            plain("METEOR 1.5 on ptb", Meteor()),
            plain("METEOR 1.5 on raw text", Meteor(tokenizer="none")),
            *uses(NltkMeteor("whitespace", wordnet)),
        ],
        "ROUGE-L": [
            plain("pycocoevalcap's on ptb", RougeL()),
            plain("pycocoevalcap's on whitespace", RougeL(tokenizer="whitespace")),
            *uses(RougeF(LETTERS)),
            *uses(RougeF("ptb")),
            *uses(RougeF("whitespace")),
        ],
    }


def corrupted(dataset: CaptionDataset, corruptions: Sequence[Corruption], seed: int) -> list[str]:
    """All captions of the sets, worst first, the human ones last."""
    sets = [[each.text for each in c.apply(dataset, seed)] for c in corruptions]
    return [text for texts in (*sets, list(dataset.human)) for text in texts]


def experiments() -> dict[str, Callable[[], list[Corruption]]]:
    """Each rule of replacing and of shuffling → its corruptions, worst first."""

    def replaced(kind: type[Replace]) -> Callable[[], list[Corruption]]:
        return lambda: [Random(), kind(0.5), kind(0.25)]

    def shuffled(options: Mapping[str, Any]) -> Callable[[], list[Corruption]]:
        return lambda: [Shuffle(rate, **options) for rate in (1.0, 0.5, 0.25)]

    return {
        **dict(
            zip(REPLACES, map(replaced, (Replace, ReplaceByChance, ReplaceTokens)), strict=True)
        ),
        **{name: shuffled(options) for name, options in SHUFFLES.items()},
    }


def measured(
    dataset: CaptionDataset, hypothesis: Hypothesis, sets: Sequence[list[str]], store: Store
) -> dict[str, float | int]:
    """The spread of a hypothesis over corruption seeds in an experiment."""
    levels = list(range(len(sets[0]) // len(dataset)))
    tables = []
    for captions in sets:
        image = np.tile(np.arange(len(dataset)), len(levels))
        scored = score_captions(hypothesis.metric, dataset, captions, image, store)
        if scored.scores is None:
            raise RuntimeError(f"{hypothesis.words}: {scored.reason}")
        column = [c.name for c in scored.columns].index(hypothesis.column)
        tables.append(scored.scores[:, column].reshape(len(levels), -1).T)
    ties = rank_order(tables[0], levels, tie_breaking_seeds(20, 0))
    spread = seed_spread(tables, levels, float("nan"), ties.tie_std)
    if spread is None:
        raise ConfigError("--seeds: two or more are needed for a spread")
    return spread


def cell(spread: Mapping[str, Any], published: float) -> tuple[str, bool]:
    """A value and its distance for the table, and whether it is near enough."""
    mean = spread["rank_order_rho_mean"]
    distance = paper_distance(spread, published)
    if distance is None:
        return f"{mean:z.3f}", False
    return f"{mean:z.3f} ({distance:+.0f})", abs(distance) <= NEAR_SD


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=int, help="only the first N images")
    parser.add_argument("metrics", nargs="*", metavar="METRIC", help="BLEU-1, METEOR, …")
    parser.add_argument("--seeds", type=int, default=5, help="corruption seeds, two or more")
    options = parser.parse_args()
    config = compose_config(["dataset=coco_val2017"])
    dataset = component(config.dataset, "dataset").limited(options.limit)
    wordnet = available(find_wordnet(user_path(config.paths.cache)))

    @cache
    def sets(experiment: str, seed: int) -> list[str]:
        return corrupted(dataset, experiments()[experiment](), seed)

    names = list(experiments())
    print(f"| published as | hypothesis | {' | '.join(names)} | fits both |")
    print(f"|---|---|{'---:|' * len(names)}---|")
    with open_store(config) as store:
        for metric, rows in hypotheses(wordnet).items():
            if options.metrics and metric.partition(" ")[0] not in options.metrics:
                continue
            values = [REPLACE[metric]] * len(REPLACES) + [SHUFFLE[metric]] * len(SHUFFLES)
            print(f"| **{metric}** | | {' | '.join(f'**{v:.3f}**' for v in values)} | |")
            for hypothesis in rows:
                cells = []
                for name, value in zip(names, values, strict=True):
                    texts = [sets(name, seed) for seed in range(options.seeds)]
                    cells.append(cell(measured(dataset, hypothesis, texts, store), value))
                near = [name for name, (_, is_near) in zip(names, cells, strict=True) if is_near]
                both = {*near} & {*REPLACES} and {*near} & {*SHUFFLES}
                verdict = ", ".join(near) if both else "no"
                texts_of = " | ".join(text for text, _ in cells)
                print(f"| | {hypothesis.words} | {texts_of} | {verdict} |", flush=True)


if __name__ == "__main__":
    main()
