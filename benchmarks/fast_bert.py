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

from typing import Any

from benchmarks.bertscore import LAYER, TOLERANCE
from benchmarks.side_by_side import (
    available,
    begin_torch,
    greatest_difference,
    options_parser,
    replace_sets,
    timed,
)
from metaeval.data.coco.load import load_coco
from metaeval.text.transformers import locate
from metaeval.text.transformers.encoder import TextEncoder, keep_layers

BATCH = 64


class ModuleEncoder(TextEncoder):
    """The same interface with transformers' own network inside."""

    uses_fast_bert = False


def encode(encoder: TextEncoder, ids: list[list[int]]) -> list[Any]:
    """Token vectors [length, width] of each sentence."""
    vectors: dict[int, Any] = {}
    encoder.encode(
        ids, lambda rows, batch: vectors.update(zip(map(int, rows), batch.clone(), strict=True))
    )
    return [vectors[j] for j in range(len(ids))]


def encode_sorted(network: Any, ids: list[list[int]]) -> list[Any]:
    """The same in padded batches of sentences of similar length."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    vectors: dict[int, Any] = {}
    order = sorted(range(len(ids)), key=lambda j: len(ids[j]))
    with torch.inference_mode():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = pad_sequence([torch.tensor(ids[j]) for j in rows], batch_first=True)
            lengths = torch.tensor([len(ids[j]) for j in rows])
            mask = (torch.arange(batch.shape[1]) < lengths[:, None]).long()
            states = network(batch, attention_mask=mask)[0]
            states = states / states.norm(dim=-1, keepdim=True)
            vectors.update((j, states[k, : len(ids[j])].clone()) for k, j in enumerate(rows))
    return [vectors[j] for j in range(len(ids))]


def main() -> None:
    parser = options_parser(__doc__, "limit", "threads")
    parser.set_defaults(limit=500, threads=1)
    options = parser.parse_args()
    begin_torch(options, "transformers")
    import torch
    from transformers import AutoModel

    model = available(locate.locate(locate.MINILM))
    fast, slow = TextEncoder(model, LAYER, "cpu"), ModuleEncoder(model, LAYER, "cpu")
    network = keep_layers(AutoModel.from_pretrained(model.folder), LAYER).eval()
    dataset = load_coco("coco_val2017", limit=options.limit)
    texts = [t for group in (*replace_sets(dataset), *dataset.references) for t in group]
    ids, _ = fast.tokenize(list(dict.fromkeys(texts)))
    encode(fast, ids[:200])  # warms up
    vectors, seconds = timed(lambda: encode(fast, ids))
    mine = torch.cat(vectors)
    print(f"{len(ids):,} sentences, {len(mine):,} tokens, {options.threads} threads")
    print(f"{'':<40}{'clock':>9}{'processor':>11}{'ratios':>16}")
    print(f"{'metaeval':<40}{seconds}", flush=True)
    for name, run in (
        ("transformers, sorted by length", lambda some: encode_sorted(network, some)),
        ("transformers, batches of one length", lambda some: encode(slow, some)),
    ):
        run(ids[:200])
        expected, longer = timed(lambda run=run: run(ids))
        difference = greatest_difference(mine, torch.cat(expected), TOLERANCE["cpu"])
        print(
            f"{name:<40}{longer}{longer.times(seconds):>16}  greatest difference {difference:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
