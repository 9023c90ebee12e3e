"""Our forward pass of BERT beside transformers' own network, on the same sentences and weights.

    METAEVAL_DATA=… taskset -c 0 python benchmarks/fast_bert.py [--limit N] [--threads N]

encodes the distinct sentences of the four Replace sets of COCO val2017 and of their references
with MiniLM, the upper layers left out everywhere. The network runs in two ways: in padded batches
of 64, sorted by length, as bert-score runs it; and in batches of one length and of fixed sizes, as
`TextEncoder` runs any network, so that a sentence's vectors do not depend on the others. Asserts
that all token vectors agree and prints the times and their ratios; on a busy machine the processor
time is the one to trust.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks.bertscore import TOLERANCE, clocks, replace_sets
from metaeval.compute.requirements import missing_packages
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent
from metaeval.text.transformers import locate
from metaeval.text.transformers.encoder import TextEncoder, keep_layers

LAYER = 5
BATCH = 64


class ModuleEncoder(TextEncoder):
    """The same interface with transformers' own network inside."""

    uses_fast_bert = False


def encode(encoder: TextEncoder, ids: list[list[int]]) -> tuple[list[Any], Any]:
    """Token vectors [length, width] of each sentence, and the seconds."""
    vectors: dict[int, Any] = {}
    started = clocks()
    encoder.encode(
        ids, lambda rows, batch: vectors.update(zip(map(int, rows), batch.clone(), strict=True))
    )
    return [vectors[j] for j in range(len(ids))], clocks() - started


def encode_sorted(network: Any, ids: list[list[int]]) -> tuple[list[Any], Any]:
    """The same in padded batches of sentences of similar length."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    vectors: dict[int, Any] = {}
    order = sorted(range(len(ids)), key=lambda j: len(ids[j]))
    started = clocks()
    with torch.inference_mode():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = pad_sequence([torch.tensor(ids[j]) for j in rows], batch_first=True)
            lengths = torch.tensor([len(ids[j]) for j in rows])
            mask = (torch.arange(batch.shape[1]) < lengths[:, None]).long()
            states = network(batch, attention_mask=mask)[0]
            states = states / states.norm(dim=-1, keepdim=True)
            vectors.update((j, states[k, : len(ids[j])].clone()) for k, j in enumerate(rows))
    return [vectors[j] for j in range(len(ids))], clocks() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=500, help="only the first N images")
    parser.add_argument("--threads", type=int, default=1, help="processor threads")
    options = parser.parse_args()
    if (absent := missing_packages("bertscore", "torch", "transformers")) is not None:
        sys.exit(f"nothing measured: {absent}")
    import torch
    from transformers import AutoModel

    torch.set_num_threads(options.threads)
    model = locate.locate(locate.MINILM)
    if isinstance(model, Absent):
        sys.exit(f"nothing measured: {model}")
    fast, slow = TextEncoder(model, LAYER, "cpu"), ModuleEncoder(model, LAYER, "cpu")
    network = keep_layers(AutoModel.from_pretrained(model.folder), LAYER).eval()
    dataset = load_coco("coco_val2017", limit=options.limit)
    texts = [t for group in (*replace_sets(dataset), *dataset.references) for t in group]
    ids, _ = fast.tokenize(list(dict.fromkeys(texts)))
    encode(fast, ids[:200])  # warms up
    vectors, seconds = encode(fast, ids)
    n = sum(map(len, ids))
    print(f"{len(ids):,} sentences, {n:,} tokens, {options.threads} threads")
    print(f"{'':<40}{'clock':>9}{'processor':>11}{'ratios':>16}")
    print(f"{'metaeval':<40}{seconds[0]:>7.1f} s{seconds[1]:>9.1f} s", flush=True)
    for name, run in (
        ("transformers, sorted by length", lambda some: encode_sorted(network, some)),
        ("transformers, batches of one length", lambda some: encode(slow, some)),
    ):
        run(ids[:200])
        expected, longer = run(ids)
        pairs = zip(vectors, expected, strict=True)
        difference = max(float((a - b).abs().max()) for a, b in pairs)
        ratios = " ".join(f"{ratio:.1f} ×" for ratio in longer / seconds)
        print(
            f"{name:<40}{longer[0]:>7.1f} s{longer[1]:>9.1f} s{ratios:>16}"
            f"  greatest difference {difference:.0e}",
            flush=True,
        )
        assert difference <= TOLERANCE["cpu"]


if __name__ == "__main__":
    main()
