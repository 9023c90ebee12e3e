"""BLEU, CIDEr and SPIDEr as metrics of torchmetrics.

    from metaeval.adapters.torchmetrics import CiderScore
    cider = CiderScore()
    cider.update(["a dog runs"], [["a dog is running", "the dog runs"]])
    cider.compute()

CIDEr needs no Java. Its document frequencies come from all references that were seen, as they
should; so it is a score of the whole, and `forward` of one batch is that of the batch as a corpus.
"""

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

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
        Options of the metric, those of its function in `metaeval.adapters.corpus`, and those of
        torchmetrics.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = True
    seen: list[torch.Tensor]
    scored: ClassVar[Callable[..., CorpusScore]]

    def __init__(self, per_caption: bool = False, **kwargs: Any) -> None:
        known = inspect.signature(type(self).scored).parameters
        self.options = {name: kwargs.pop(name) for name in known if name in kwargs}
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
        scores = type(self).scored(candidates, references, **self.options)
        together = torch.tensor(scores.together, dtype=torch.float64)
        return (together, torch.tensor(scores.each)) if self.per_caption else together


class BleuScore(CaptionTorchMetric):
    """Corpus BLEU in [0, 1], as pycocoevalcap's; options `max_n`, `tokenizer`."""

    plot_upper_bound = 1.0
    scored = staticmethod(corpus.bleu)


class CiderScore(CaptionTorchMetric):
    """CIDEr in [0, 10], as pycocoevalcap's; options `idf` (as in
    `metaeval.metrics.ngram.cider.Cider`), `tokenizer`."""

    plot_upper_bound = 10.0
    scored = staticmethod(corpus.cider)


class SpiderScore(CaptionTorchMetric):
    """SPIDEr: the mean of SPICE and CIDEr; options `idf`, `tokenizer`, `parser`. SPICE's parser is
    the original ("corenlp") where it is installed; "perceptron" needs no Java and is not quite the
    published metric."""

    plot_upper_bound = 5.5
    scored = staticmethod(corpus.spider)
