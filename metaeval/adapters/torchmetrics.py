"""BLEU, CIDEr and SPIDEr as metrics of torchmetrics.

    from metaeval.adapters.torchmetrics import CiderScore
    cider = CiderScore()
    cider.update(["a dog runs"], [["a dog is running", "the dog runs"]])
    cider.compute()

CIDEr needs no Java. Its document frequencies come from all references that were seen, as they
should; so it is a score of the whole, and `forward` of one batch is that of the batch as a corpus.
"""

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from metaeval.adapters import corpus
from metaeval.adapters.corpus import CorpusScore

try:
    from torchmetrics import Metric as TorchMetric
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"metaeval.adapters.torchmetrics needs {error.name}; pip install torchmetrics",
        name=error.name,
    ) from None

Result = torch.Tensor | tuple[torch.Tensor, torch.Tensor]


class CaptionTorchMetric(TorchMetric):
    """Collects captions and references, and scores them together.

    `update(preds, target)` takes n captions and the references of each: a list, or one string. What
    was seen is a state of bytes, so that it is reset, and gathered from several processes, as every
    state.

    Parameters
    ----------
    per_caption
        Whether `compute` gives the scores [n] of the captions, too: (score, scores).
    kwargs
        torchmetrics' own options.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = True
    seen: list[torch.Tensor]

    def __init__(self, per_caption: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.per_caption = per_caption
        self.add_state("seen", default=[], dist_reduce_fx=None)

    def update(self, preds: Sequence[str], target: Sequence[str | Sequence[str]]) -> None:
        """Take in n captions and the references of each."""
        if isinstance(preds, str) or isinstance(target, str):
            raise ValueError("captions and references must be lists, not one string")
        if len(preds) != len(target):
            raise ValueError(f"{len(preds)} captions and references of {len(target)}")
        groups = [[group] if isinstance(group, str) else list(group) for group in target]
        record = json.dumps([list(preds), groups])
        self.seen.append(torch.frombuffer(bytearray(record.encode()), dtype=torch.uint8))

    def compute(self) -> Result:
        """The score of all captions together (float64), and with `per_caption` each one's."""
        candidates: list[str] = []
        references: list[list[str]] = []
        for record in self.seen:
            some, groups = json.loads(bytes(record.cpu().numpy().tobytes()).decode())
            candidates += some
            references += groups
        scores = self.scores(candidates, references)
        together = torch.tensor(scores.together, dtype=torch.float64)
        return (together, torch.tensor(scores.each)) if self.per_caption else together

    @abstractmethod
    def scores(self, candidates: list[str], references: list[list[str]]) -> CorpusScore:
        """The scores of n captions."""


class BleuScore(CaptionTorchMetric):
    """Corpus BLEU of order `max_n` in [0, 1], as pycocoevalcap's."""

    plot_upper_bound = 1.0

    def __init__(self, max_n: int = 4, tokenizer: str = "ptb", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_n, self.tokenizer = max_n, tokenizer

    def scores(self, candidates: list[str], references: list[list[str]]) -> CorpusScore:
        return corpus.bleu(candidates, references, self.max_n, self.tokenizer)


class CiderScore(CaptionTorchMetric):
    """CIDEr in [0, 10], as pycocoevalcap's; `idf` as in `metaeval.metrics.ngram.cider.Cider`."""

    plot_upper_bound = 10.0

    def __init__(self, idf: str = "dataset", tokenizer: str = "ptb", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.idf, self.tokenizer = idf, tokenizer

    def scores(self, candidates: list[str], references: list[list[str]]) -> CorpusScore:
        return corpus.cider(candidates, references, self.idf, self.tokenizer)


class SpiderScore(CaptionTorchMetric):
    """SPIDEr: the mean of SPICE and CIDEr. SPICE's parser is the original ("corenlp") where it is
    installed; "perceptron" needs no Java and is not quite the published metric."""

    plot_upper_bound = 5.5

    def __init__(
        self,
        idf: str = "dataset",
        tokenizer: str = "ptb",
        parser: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.idf, self.tokenizer, self.parser = idf, tokenizer, parser

    def scores(self, candidates: list[str], references: list[list[str]]) -> CorpusScore:
        return corpus.spider(candidates, references, self.idf, self.tokenizer, self.parser)
