"""BERTScore against bert-score's BERTScorer: the same captions, model and device, the same scores.

    METAEVAL_DATA=… python benchmarks/bertscore.py [--limit N] [--threads N] [--device cuda]

scores the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace 50 %, Random; 4
references per image) with MiniLM, asserts that all scores agree, and prints how many times as long
BERTScorer takes when it is called once a set, as it is used, and once with all sets together.
Loading the model is in neither. On a busy machine the ratio of processor times (one thread) is the
one to trust. Without the device that is asked for, the reason is printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side_by_side import (
    Seconds,
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
from metaeval.metrics.bertscore.metric import BertScore, BertScorer
from metaeval.text.transformers import locate

# float32 in another order of summation; on a GPU the two use other kernels as well
TOLERANCE = {"cpu": 1e-5, "cuda": 1e-4}
LAYER = 5


def warm(dataset: CaptionDataset, **options: Any) -> BertScorer:
    """A scorer whose network is loaded and has encoded something."""
    scorer = BertScore(layer=LAYER, **options).bind(dataset)
    assert isinstance(scorer, BertScorer), scorer
    ids, _ = scorer.encoder.tokenize(["a", "a b"])
    scorer.encoder.encode(ids, lambda _positions, _vectors: None)
    return scorer


def ours(scorer: BertScorer, sets: list[list[str]]) -> Any:
    """All scores [n]."""
    scorer.prepare()
    scores = scorer.score(*joined(sets))[:, 0]
    scorer.close()
    return scores


def theirs(scorer: Any, dataset: CaptionDataset, sets: list[list[str]]) -> Any:
    references = [list(group) for group in dataset.references]
    scores = [scorer.score(texts, references, batch_size=64)[2].numpy() for texts in sets]
    return np.concatenate(scores)


def random_roberta(
    folder: Path, layers: int = 24, texts: Iterable[str] = ("two dogs in the park",)
) -> str:
    """A folder with roberta-large's architecture, random weights, and a vocabulary of the texts."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    shape = {"hidden_size": 1024, "num_hidden_layers": layers, "num_attention_heads": 16}
    config = RobertaConfig(
        **shape,
        intermediate_size=4096,
        vocab_size=50265,
        max_position_embeddings=514,
        type_vocab_size=1,
    )
    RobertaModel(config).save_pretrained(folder)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(texts, vocab_size=5000, special_tokens=special)
    tokenizer.save_model(str(folder))
    return str(folder)


def main() -> None:
    options = options_parser(__doc__, "limit", "threads", "device").parse_args()
    begin_torch(options, "bert_score", "transformers")
    import torch
    from bert_score import BERTScorer

    model = str(available(locate.locate(locate.MINILM)).folder)
    dataset = load_coco("coco_val2017", limit=options.limit)
    sets = replace_sets(dataset)
    n = len(sets) * len(dataset)
    scorer = warm(dataset, model=model, device=options.device)
    scores, fast = timed(lambda: ours(scorer, sets))

    def line(name: str, seconds: Seconds, ratios: str = "") -> None:
        print(f"{name:<24}{seconds}{n / seconds.clock:>13,.0f}{ratios}", flush=True)

    print(f"{n:,} captions, {torch.get_num_threads()} threads, {options.device}")
    print(f"{'':<24}{'clock':>11}{'processor':>11}{'captions/s':>13}{'ratios':>16}")
    line("metaeval", fast)
    original = BERTScorer(model_type=model, num_layers=LAYER, device=options.device)
    everything = CaptionDataset(
        "all sets", tuple(range(n)), tuple(joined(sets)[0]), dataset.references * len(sets), (), ()
    )
    for name, data, how in (
        ("BERTScorer, set by set", dataset, sets),
        ("BERTScorer, all at once", everything, [list(everything.human)]),
    ):
        expected, slow = timed(lambda data=data, how=how: theirs(original, data, how))
        difference = greatest_difference(
            scores, expected, TOLERANCE[torch.device(options.device).type]
        )
        line(name, slow, f"{slow.times(fast):>16}  greatest difference {difference:.0e}")


if __name__ == "__main__":
    main()
