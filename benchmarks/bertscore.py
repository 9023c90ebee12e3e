"""BERTScore beside bert-score's BERTScorer: the same captions, model and device, the same scores.

    METAEVAL_DATA=… python benchmarks/bertscore.py [--limit N] [--threads N]
    METAEVAL_DATA=… python benchmarks/bertscore.py --device cuda --random-roberta

scores the four Replace sets of COCO val2017 (Human, Replace 25 %, Replace 50 %, Random; 4
references per image), asserts that all scores agree, and prints how many times as long BERTScorer
takes when it is called once a set, as it is used, and once with all sets together. Loading the
model is in neither. On a busy machine the ratio of processor times (one thread) is the one to
trust. With --random-roberta the network is roberta-large's with random weights,
which are as fast as real ones. --parts also prints where our time goes: tokenising, encoding and,
what is left, matching. Without the device that is asked for, the reason is printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from corruptions.graded.random import Random
from corruptions.graded.replace import Replace
from metaeval.compute.requirements import missing_packages
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.bertscore.metric import BertScore, BertScorer
from metaeval.text.transformers import locate
from metaeval.text.transformers.encoder import TextEncoder

# float32 in another order of summation; on a GPU the two use other kernels as well
TOLERANCE = {"cpu": 1e-5, "cuda": 1e-4}


def clocks() -> Any:
    """Seconds by the clock, and of processor time, which other work disturbs least."""
    return np.array([time.perf_counter(), time.process_time()])


def replace_sets(dataset: CaptionDataset) -> list[list[str]]:
    spoilt = [c.apply(dataset, seed=0) for c in (Replace(0.25), Replace(0.5), Random())]
    return [list(dataset.human), *([each.text for each in one] for one in spoilt)]


def ours(dataset: CaptionDataset, sets: list[list[str]], **options: Any) -> tuple[Any, Any]:
    """All scores [n], and the seconds from the loaded model to the scores."""
    scorer, _ = warm(dataset, **options)
    started = clocks()
    scorer.prepare()
    captions = [text for texts in sets for text in texts]
    scores = scorer.score(captions, np.tile(np.arange(len(dataset)), len(sets)))[:, 0]
    seconds = clocks() - started
    scorer.close()
    return scores, seconds


def parts(dataset: CaptionDataset, sets: list[list[str]], **options: Any) -> tuple[Any, Any]:
    """The seconds of tokenising and of encoding all distinct sentences, each for itself."""
    _, encoder = warm(dataset, **options)
    every = [text for texts in (*sets, *dataset.references) for text in texts]
    started = clocks()
    ids, _ = encoder.tokenize(list(dict.fromkeys(every)))
    tokenised = clocks()
    encoder.encode(ids, lambda _positions, vectors: vectors[0, 0, 0].item())  # waits for a GPU
    return tokenised - started, clocks() - tokenised


def warm(dataset: CaptionDataset, **options: Any) -> tuple[BertScorer, TextEncoder]:
    """A scorer whose network is loaded and has encoded something."""
    scorer = BertScore(**options).bind(dataset)
    assert isinstance(scorer, BertScorer), scorer
    ids, _ = scorer.encoder.tokenize(["a", "a b"])
    scorer.encoder.encode(ids, lambda _positions, _vectors: None)
    return scorer, scorer.encoder


def theirs(scorer: Any, dataset: CaptionDataset, sets: list[list[str]]) -> tuple[Any, Any]:
    started = clocks()
    references = [list(group) for group in dataset.references]
    found = [scorer.score(texts, references, batch_size=64)[2].numpy() for texts in sets]
    return np.concatenate(found), clocks() - started


def random_roberta(folder: Path, layers: int = 24) -> str:
    """A folder with roberta-large's architecture, random weights and a byte-level vocabulary."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    shape = {"hidden_size": 1024, "num_hidden_layers": layers, "num_attention_heads": 16}
    config = RobertaConfig(
        **shape, intermediate_size=4096, vocab_size=50265, max_position_embeddings=514,
        type_vocab_size=1,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(folder)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    texts = ["a man riding a wave on top of a surfboard", "two dogs in the park with a frisbee"]
    tokenizer.train_from_iterator(texts, vocab_size=600, special_tokens=special)
    tokenizer.save_model(str(folder))
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=None, help="only the first N images")
    parser.add_argument("--threads", type=int, default=None, help="processor threads")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", help="ours only")
    parser.add_argument("--random-roberta", action="store_true")
    parser.add_argument("--parts", action="store_true", help="where our time goes")
    options = parser.parse_args()
    if (absent := missing_packages("bertscore", "torch", "bert_score", "transformers")) is not None:
        sys.exit(f"nothing measured: {absent}")
    import torch
    from bert_score import BERTScorer

    if options.device != "cpu" and not torch.cuda.is_available():
        print("nothing measured: this machine has no CUDA device")
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        if options.random_roberta:
            model, layer = random_roberta(Path(folder)), 17
        else:
            found = locate.locate("all-MiniLM-L6-v2")
            if isinstance(found, Absent):
                sys.exit(f"nothing measured: {found}")
            model, layer = str(found.folder), 5
        dataset = load_coco("coco_val2017", limit=options.limit)
        sets = replace_sets(dataset)
        n = len(sets) * len(dataset)
        scores, fast = ours(
            dataset, sets, model=model, layer=layer, device=options.device, dtype=options.dtype
        )
        print(f"{n:,} captions, {torch.get_num_threads()} threads, {options.device}")
        print(f"{'':<24}{'clock':>11}{'processor':>11}{'captions/s':>13}{'ratios':>16}")
        print(f"{'metaeval':<24}{fast[0]:>9.1f} s{fast[1]:>9.1f} s{n / fast[0]:>13,.0f}")
        if options.parts:
            tokenising, encoding = parts(
                dataset, sets, model=model, layer=layer, device=options.device, dtype=options.dtype
            )
            for name, each in (("  tokenising", tokenising), ("  encoding", encoding)):
                print(f"{name:<24}{each[0]:>9.1f} s{each[1]:>9.1f} s")
        scorer = BERTScorer(model_type=model, num_layers=layer, device=options.device)
        joined = CaptionDataset(
            "all sets", tuple(range(n)), tuple(t for texts in sets for t in texts),
            dataset.references * len(sets), (), (),
        )  # fmt: skip
        for name, data, how in (
            ("BERTScorer, set by set", dataset, sets),
            ("BERTScorer, all at once", joined, [list(joined.human)]),
        ):
            expected, slow = theirs(scorer, data, how)
            difference = np.abs(scores - expected).max()
            ratios = " ".join(f"{ratio:.1f} ×" for ratio in slow / fast)
            print(
                f"{name:<24}{slow[0]:>9.1f} s{slow[1]:>9.1f} s{n / slow[0]:>13,.0f}{ratios:>16}"
                f"  greatest difference {difference:.0e}",
                flush=True,
            )
            if options.dtype == "float32":
                assert difference <= TOLERANCE[torch.device(options.device).type]


if __name__ == "__main__":
    main()
