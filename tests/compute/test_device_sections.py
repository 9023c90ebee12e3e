"""Every device section of the networks, under fake tensors of a device.

A section takes tensors on the device and returns tensors there: no value is read, no tensor of the
host is mixed in, nothing is copied back, and nothing is float64 where the card says float32.

In `fake_device` tensors have shapes, types and devices and no values. torch refuses every operation
that mixes devices or whose shape depends on values. A counter in the same block refuses float64 on
the device where it is not declared, and counts the transfers between host and device.

The device is CUDA wherever torch lets a process without a driver pretend so. Its backward pass and
its own recurrent networks ask the driver; for these the device is "meta", which follows the same
rules: a device of its own, and no values.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import open_clip
import pytest
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from metaeval.compute.device import full_float32
from metaeval.metrics.bertscore.sentences import best_cosines
from metaeval.metrics.faier.network import (
    FaierNetwork,
    FaierShape,
    level_score,
)
from metaeval.metrics.language_model.causal import token_logs
from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape
from metaeval.metrics.learn_to_eval.network import CaptionJudge, JudgeShape
from metaeval.metrics.prefix_gru import advance
from metaeval.metrics.scan.grounding import RegionBatch
from metaeval.metrics.scan.network import RegionEncoder, ScanShape, WordEncoder
from metaeval.metrics.scan.tiger_score import tiger
from metaeval.text.transformers.encoder import TextEncoder
from research.train.networks import read_texts, read_words

CUDA, META = torch.device("cuda", 0), torch.device("meta")
_device, _real = CUDA, False


class DeviceRules(TorchDispatchMode):
    """Count transfers (`to_device`, `to_host`) and refuse undeclared float64 on the device."""

    def __init__(self, float64: bool) -> None:
        super().__init__()
        self._float64 = float64
        self.to_device = self.to_host = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {t.device.type for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for made in tree_leaves(out):
            if not isinstance(made, torch.Tensor):
                continue
            if made.device == _device and given == {"cpu"}:
                self.to_device += 1
            if made.device.type == "cpu" and _device.type in given:
                self.to_host += 1
            if made.device == _device and made.dtype == torch.float64 and not self._float64:
                raise AssertionError(f"{func} makes float64 on the device")
        return out


@contextmanager
def fake_device(kind: torch.device = CUDA, float64: bool = False) -> Iterator[DeviceRules]:
    """A block whose tensors are fake; real ones that are used in it are taken as the host's."""
    global _device, _real
    _device, _real = kind, False
    with FakeTensorMode(allow_non_fake_inputs=True), DeviceRules(float64) as rules:
        yield rules


def use_device(kind: torch.device) -> None:
    """From now on tensors are real and on the device, the same numbers on every device."""
    global _device, _real
    _device, _real = kind, True
    torch.manual_seed(0)


def on_device(module: torch.nn.Module) -> Any:
    """The module on the device; with fake parameters where tensors are fake."""
    if _real:
        return module.to(_device)
    for child in module.modules():
        for name, parameter in child._parameters.items():
            if parameter is not None:
                fake = torch.empty(parameter.shape, dtype=parameter.dtype, device=_device)
                child._parameters[name] = torch.nn.Parameter(fake, parameter.requires_grad)
        for name, buffer in child._buffers.items():
            if buffer is not None:
                child._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=_device)
        if isinstance(child, torch.nn.RNNBase):  # its list of weights is another than the modules'
            child._flat_weights = [getattr(child, name) for name in child._flat_weights_names]
    return module


Section = Callable[[int], Any]
N_REGIONS, N_WORDS, D = 6, 7, 16


SCAN = ScanShape(dim=5, words=20, embed=D, word=8)


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, device="cpu" if _real else _device).to(_device)


def ids(*shape: int, most: int = 20) -> torch.Tensor:
    return torch.randint(4, most, shape, device="cpu" if _real else _device).to(_device)


def there(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.bool, device=_device)


def faier() -> FaierNetwork:
    return on_device(FaierNetwork(FaierShape(5, 20, width=8, d=D)))


def faier_see(n: int) -> Any:
    return tuple(faier().see(floats(n, N_REGIONS, 5), floats(n, N_REGIONS, 4), there(n, N_REGIONS)))


def faier_read(n: int) -> Any:
    text = faier().text
    states, last = read_texts(text, text.words, ids(n, N_WORDS))
    return states, text.sentence(last)


def faier_attend(n: int) -> Any:
    nodes, mask = floats(n, 4, N_WORDS, D), there(n, 4, N_WORDS)
    return faier().fuse("objects").attended(floats(n, N_REGIONS, D), nodes, mask)


def faier_fuse(n: int) -> Any:
    return faier().fuse("objects").join(floats(n, D), floats(n, N_WORDS, D))


def faier_match(n: int) -> Any:
    return level_score(floats(n, N_REGIONS, D), there(n, N_REGIONS), floats(n, N_WORDS, D))


def scan_encode_regions(n: int) -> Any:
    return on_device(RegionEncoder(SCAN)).rows(floats(n, 5), floats(n, 5), floats(n, 1))


def scan_encode_words(n: int) -> Any:
    return read_words(on_device(WordEncoder(SCAN)), ids(n, N_WORDS))


def scan_attend(n: int) -> Any:
    batch = RegionBatch.of(floats(n, N_REGIONS, D))
    return batch.attend(torch.arange(n, device=_device), floats(n, N_WORDS, D), 9.0)


def prefix_gru_step(n: int) -> Any:
    after = floats(n, D)
    advance(floats(n, 3 * D), floats(n, 3 * D), floats(n, D), after)
    return after


def tiger_score(n: int) -> Any:
    vectors = floats(2, n, N_REGIONS, dtype=torch.float64)
    return tuple(tiger(vectors[0], vectors[1], there(n, N_REGIONS)))


TINY: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 20,
    "intermediate_size": 32,
    "max_position_embeddings": 16,
}


def bert_encode(n: int) -> Any:
    config = transformers.BertConfig(**TINY)
    encoder = TextEncoder.__new__(TextEncoder)
    encoder._network = on_device(transformers.BertModel(config).eval())
    return encoder.forward(
        ids(n, N_WORDS), torch.ones(n, N_WORDS, dtype=torch.int64, device=_device)
    )


def bertscore_match(n: int) -> Any:
    return best_cosines(floats(n, 5, D), floats(n, N_WORDS, D))


def clip_encode(n: int) -> Any:
    model: Any = open_clip.model.CLIP(
        embed_dim=8,
        vision_cfg={"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
        text_cfg={"context_length": 9, "vocab_size": 30, "width": 64, "heads": 1, "layers": 1},
    )
    on_device(model.eval())
    return model.encode_image(floats(n, 3, 32, 32)), model.encode_text(ids(n, 9))


def judge_logits(n: int) -> torch.Tensor:
    shape = JudgeShape(20, word=8, hidden=D, dense=8, dim=5)
    network = on_device(CaptionJudge(shape).eval())
    read = network.read(ids(n, N_WORDS), torch.full((n,), N_WORDS, device=_device))
    return network.judge(network.see(floats(n, 5)), read, read)


def language_model(n: int) -> Any:
    shape = LanguageShape(20, word=8, hidden=D)
    return on_device(CaptionLanguageModel(shape).eval())(ids(n, N_WORDS))


def causal_model(n: int) -> Any:
    config = transformers.LlamaConfig(**TINY)
    return token_logs(on_device(transformers.LlamaForCausalLM(config).eval()), ids(n, N_WORDS))


# with the device that a section pretends to be on (META: torch's own recurrent networks), and
# whether it may compute in float64 there
SECTIONS: dict[str, tuple[Section, torch.device, bool]] = {
    "FAIEr see": (faier_see, CUDA, False),
    "FAIEr read": (faier_read, META, False),
    "FAIEr attend": (faier_attend, CUDA, False),
    "FAIEr fuse": (faier_fuse, META, False),
    "FAIEr match": (faier_match, CUDA, False),
    "SCAN encode regions": (scan_encode_regions, CUDA, False),
    "SCAN encode words": (scan_encode_words, META, False),
    "SCAN and TIGEr attend": (scan_attend, CUDA, True),  # their card says float32+float64
    "FAIEr and TIGEr read words": (prefix_gru_step, CUDA, False),
    "TIGEr score": (tiger_score, CUDA, True),
    "BERTScore encode": (bert_encode, CUDA, False),
    "BERTScore match": (bertscore_match, CUDA, False),
    "CLIP encode": (clip_encode, CUDA, False),
    "LearnToEval": (judge_logits, META, False),
    "LM": (language_model, META, False),
    "causal language model": (causal_model, CUDA, False),
}


def transfers(section: Section, n: int, kind: torch.device, float64: bool) -> DeviceRules:
    """Run a section over a batch of n, whose results must be on the device; what it copied between
    host and device."""
    with fake_device(kind, float64) as rules:
        places = {tensor.device for tensor in tree_leaves(section(n))}
    assert places == {kind}, "a result is on the host"
    return rules


@pytest.mark.parametrize("name", SECTIONS)
def test_a_device_section_stays_on_the_device(name: str) -> None:
    section, *rest = SECTIONS[name]
    small, large = transfers(section, 8, *rest), transfers(section, 64, *rest)
    assert (small.to_host, large.to_host) == (0, 0)
    # places of a packing go to the device: as many times, however large the batch is
    assert small.to_device == large.to_device <= 12


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", SECTIONS)
def test_a_device_section_gives_the_numbers_of_the_processor(name: str) -> None:
    """float32 sums in other orders: 1e-4 of the largest number."""
    results = []
    for kind in (torch.device("cpu"), CUDA):
        use_device(kind)
        with full_float32(kind):
            results.append(tree_leaves(SECTIONS[name][0](64)))
    for on_cpu, on_cuda in zip(*results, strict=True):
        near = 1e-4 * max(1.0, float(on_cpu.double().abs().max()))
        torch.testing.assert_close(on_cuda.cpu(), on_cpu, rtol=0, atol=near)


def forgets_cpu(n: int) -> Any:
    return tuple(each.cpu() for each in faier_see(n))


def mixes_in_the_host(n: int) -> Any:
    return faier().see(floats(n, N_REGIONS, 5), floats(n, N_REGIONS, 4), torch.ones(n, N_REGIONS))


def reads_a_value(n: int) -> Any:
    return faier_match(n) / faier_match(n).max().item()


def leaves_float32(n: int) -> Any:
    return faier_match(n).double()


@pytest.mark.parametrize("kind", [CUDA, META])
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (forgets_cpu, "is on the host|Cannot copy out of meta"),
        (mixes_in_the_host, "on the same device|different devices"),
        (reads_a_value, "item|data-dependent|DataDependent|_local_scalar_dense"),
        (leaves_float32, "makes float64 on the device"),
    ],
)
def test_a_broken_section_is_caught(broken: Section, message: str, kind: torch.device) -> None:
    with pytest.raises(Exception, match=message):
        transfers(broken, 8, kind, False)
