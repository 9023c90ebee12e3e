"""The packaged MiniLM without transformers against the same through transformers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from metaeval.data.dataset import Absent  # noqa: E402
from metaeval.errors import ConfigError  # noqa: E402
from metaeval.text.transformers.encoder import TextEncoder, keep_layers  # noqa: E402
from metaeval.text.transformers.fast_bert import fast_version  # noqa: E402
from metaeval.text.transformers.locate import MINILM, TextModel, locate  # noqa: E402
from metaeval.text.transformers.packaged import WordPieces, read_minilm  # noqa: E402

TEXTS = [
    "A man riding a wave on top of a surfboard.",
    "two pizzas, sliced; on a Table (wooden) -- 3.5 inches",
    "Über-große Kätzchen & naïve café's",
    "犬が走る 🐕 dog",
    "[CLS] a [MASK] dog [SEP] zzzzqqqxxy",
    "",
    "dog " * 600,
]


@pytest.fixture(scope="module")
def model() -> TextModel:
    found = locate(MINILM)
    if isinstance(found, Absent):
        pytest.skip(str(found))
    return found


def test_tokens_are_those_of_transformers(model: TextModel) -> None:
    theirs = transformers.AutoTokenizer.from_pretrained(model.folder, local_files_only=True)
    ours = WordPieces(model.folder)
    cut = {"truncation": True, "max_length": 512, "return_attention_mask": False}
    assert ours(TEXTS, **cut)["input_ids"] == theirs(TEXTS, **cut)["input_ids"]
    assert ours(TEXTS)["input_ids"] == [theirs(text)["input_ids"] for text in TEXTS]
    assert ours("a dog")["input_ids"] == theirs("a dog")["input_ids"]
    assert ours.get_vocab() == theirs.get_vocab()
    some = [*range(0, 30_522, 97), ours.cls_token_id, ours.sep_token_id]
    assert [ours.decode([i]).strip() for i in some] == [theirs.decode([i]).strip() for i in some]
    for name in ("cls_token_id", "sep_token_id", "model_max_length"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_vectors_are_those_of_the_module_to_the_last_bit(model: TextModel) -> None:
    tokenizer, fast, longest = read_minilm(model.folder, 5)
    network = transformers.AutoModel.from_pretrained(model.folder, dtype=torch.float32)
    other = fast_version(keep_layers(network, 5).eval(), longest)
    assert other is not None
    ids = tokenizer(TEXTS, max_length=longest)["input_ids"]
    vectors: list[dict[int, Any]] = [{}, {}]
    for which, kept in zip((fast, other), vectors, strict=True):
        which.encode(ids, lambda p, v, kept=kept: kept.update(zip(p, v.clone(), strict=True)))
    assert all(torch.equal(vectors[0][i], vectors[1][i]) for i in range(len(TEXTS)))


def test_layers_that_are_not_there(model: TextModel) -> None:
    with pytest.raises(ConfigError, match="1…6"):
        TextEncoder(model, 7, "cpu")


def test_transformers_is_not_imported(model: TextModel) -> None:
    """It would take several seconds."""
    code = (
        "import sys\n"
        "from metaeval.text.transformers.encoder import TextEncoder\n"
        "from metaeval.text.transformers.locate import MINILM, locate\n"
        "encoder = TextEncoder(locate(MINILM), 5, 'cpu')\n"
        "encoder.encode(encoder.tokenize(['a dog'])[0], lambda p, v: None)\n"
        "print([name for name in ('transformers', 'torch._dynamo') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
