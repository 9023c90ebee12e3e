"""What each network costs a caption, counted without a GPU, and what an H100 would allow.

    python -m benchmarks.networks.roofline

prints a Markdown table: floating-point operations (torch's FlopCounterMode, a multiplication and an
addition are two) and bytes that the operators of the forward pass read and write, of a batch of 512
captions on torch's meta device, divided by 512. Every operator's inputs and outputs count, so fused
kernels would move fewer bytes. The captions per second are the smaller of two limits of an H100:
its 67 TFLOP/s in float32 and its 3.35 TB/s. They are predictions, not measurements: tokenising,
transfers and the start of kernels come on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from metaeval.compute import transport_device
from metaeval.metrics.bertscore.sentences import best_cosines
from metaeval.metrics.faier.network import FaierNetwork, FaierShape, level_score
from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape
from metaeval.metrics.learn_to_eval.network import CaptionJudge, JudgeShape
from metaeval.metrics.scan.grounding import RegionBatch
from metaeval.metrics.scan.network import ScanShape, WordEncoder
from metaeval.metrics.scan.tiger_score import tiger as tiger_score
from metaeval.metrics.vifidel.device_sections import importance

FLOPS, BYTES = 67e12, 3.35e12  # of an H100, a second: float32, memory
N = 512  # captions in the batch
WORDS, TOKENS, REGIONS, REFERENCES = 12, 15, 20, 5  # of a caption, of BERT's, of an image


class Cost(NamedTuple):
    """FLOPs and bytes of one caption, and what limits it on the host."""

    flops: float
    bytes: float
    host: str

    @property
    def captions_per_second(self) -> float:
        """What an H100 allows at most."""
        limits = [BYTES / self.bytes]
        if self.flops:
            limits.append(FLOPS / self.flops)
        return min(limits)


class _MovedBytes(TorchDispatchMode):
    """Adds up the bytes of what operators read and write; views move nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            tensors = [t for t in tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor)]
            self.total += sum(t.numel() * t.element_size() for t in tensors)
        return out


def cost_of(work: Callable[[], Any], host: str) -> Cost:
    """The cost of one caption of a batch of N."""
    with torch.inference_mode():
        moved, counter = _MovedBytes(), FlopCounterMode(display=False)
        with counter, moved:
            work()
    return Cost(counter.get_total_flops() / N, moved.total / N, host)


def ids(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int64, device="meta")


def floats(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def on_meta(make: Callable[[], Any]) -> Any:
    """A network without weights; its first weights are not computed."""
    with torch.device("meta"):
        return make().eval()


def faier() -> Cost:
    network = on_meta(lambda: FaierNetwork(FaierShape(88, 2810, width=128, d=128)))
    d, text = network.shape.d, network.text
    union, mask = floats(N, REGIONS, d), torch.ones(N, REGIONS, dtype=torch.bool, device="meta")

    def work() -> None:
        states, _ = text.read(text.words, ids(N, WORDS))
        for _ in network.levels:
            level_score(union, mask, states)

    return cost_of(work, "parsing of captions into triplets")


def tiger() -> Cost:
    encoder = on_meta(lambda: WordEncoder(ScanShape(dim=88, words=6689, embed=128, word=200)))
    with torch.device("meta"):
        batch = RegionBatch.of(floats(N, REGIONS, 128))
    index = ids(N)
    reference, mask = torch.empty(2, N, REGIONS, dtype=torch.float64, device="meta")

    def work() -> None:
        vectors = batch.attend(index, encoder(ids(N, WORDS)), 9.0, ("i2t",))["i2t"]
        tiger_score(reference, vectors, mask.bool())

    return cost_of(work, "numbers of words")


def bert(layers: int, width: int, heads: int, host: str) -> Cost:
    import transformers

    config = transformers.BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        vocab_size=30_522,
    )
    network = on_meta(lambda: transformers.BertModel(config, add_pooling_layer=False))

    def work() -> None:
        vectors = network(ids(N, TOKENS))[0]
        for _ in range(REFERENCES):
            best_cosines(vectors, vectors)

    return cost_of(work, host)


def clip(image: bool) -> Cost:
    import open_clip

    model = on_meta(
        lambda: open_clip.model.CLIP(
            512,
            {"image_size": 224, "layers": 12, "width": 768, "patch_size": 32},
            {"context_length": 77, "vocab_size": 49_408, "width": 512, "heads": 8, "layers": 12},
        )
    )
    if image:
        return cost_of(lambda: model.encode_image(floats(N, 3, 224, 224)), "decoding of images")
    return cost_of(lambda: model.encode_text(ids(N, 77)), "tokenising")


def language_model() -> Cost:
    network = on_meta(lambda: CaptionLanguageModel(LanguageShape(2916)))
    return cost_of(lambda: network(ids(N, WORDS)), "tokenising")


def learn_to_eval() -> Cost:
    network = on_meta(lambda: CaptionJudge(JudgeShape(2425, dim=88)))
    lengths = torch.full((N,), WORDS, device="meta")

    def work() -> None:
        read = network.read(ids(N, WORDS), lengths)
        for _ in range(REFERENCES):
            network.judge(floats(N, 128), read, read)

    return cost_of(work, "tokenising")


def vifidel() -> Cost:
    """4 objects, 6 words, 30 words of references, vectors of 384 numbers; the start of transport
    and three ways, as captions of COCO need about."""
    masses = [torch.empty(k, N, dtype=torch.float64, device="meta") for k in (4, 6)]
    own, others = (torch.empty(N, k, 384, dtype=torch.float64, device="meta") for k in (10, 30))
    member = torch.empty(N, REFERENCES, 30, dtype=torch.bool, device="meta")

    def work() -> None:
        importance(own, others, member)
        problems = transport_device.begin(ids(4, 6, N), *masses, 7)
        for _ in range(3):
            problems = transport_device.augment(problems, 7)

    return cost_of(work, "bags of words; the start of kernels")


COSTS: dict[str, Callable[[], Cost]] = {
    "FAIEr, a caption against its unions": faier,
    "TIGEr, a caption in its image": tiger,
    "BERTScore, roberta-large (17 layers)": lambda: bert(17, 1024, 16, "tokenising"),
    "BERTScore, MiniLM (5 layers)": lambda: bert(5, 384, 12, "tokenising"),
    "CLIPScore, ViT-B/32, a caption": lambda: clip(False),
    "CLIPScore, ViT-B/32, an image": lambda: clip(True),
    "LM and SLOR": language_model,
    "LearnToEval": learn_to_eval,
    "VIFIDEL-ref": vifidel,
}


def table() -> str:
    """The table as Markdown."""
    lines = [
        "| | MFLOP | MB | predicted a second | bound by | on the host |",
        "|---|---:|---:|---:|---|---|",
    ]
    for name, count in COSTS.items():
        cost = count()
        compute = cost.flops / FLOPS > cost.bytes / BYTES
        lines.append(
            f"| {name} | {cost.flops / 1e6:,.1f} | {cost.bytes / 1e6:,.2f} "
            f"| {cost.captions_per_second:,.0f} | {'compute' if compute else 'memory'} "
            f"| {cost.host} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
