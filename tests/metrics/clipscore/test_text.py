"""CLIP's text tower without padding, and the tokeniser of small vocabularies."""

from __future__ import annotations

import open_clip
import torch

from metaeval.metrics.clipscore.network import (
    WordTokenizer,
    can_be_short,
    text_features,
    words_of,
)


def test_without_padding_nothing_changes() -> None:
    torch.manual_seed(0)
    model = open_clip.create_model("ViT-S-32-alt").eval()
    assert can_be_short(model)
    ids = open_clip.get_tokenizer("ViT-S-32-alt")(["a dog runs on the beach", "cats"])
    with torch.inference_mode():
        expected = model.encode_text(ids)
        for row in (0, 1):
            n = int((ids[row] != 0).sum())
            found = text_features(model, ids[row : row + 1, :n])
            torch.testing.assert_close(found[0], expected[row], rtol=1e-5, atol=1e-5)


def test_a_tower_that_looks_ahead_is_left_whole() -> None:
    assert not can_be_short(open_clip.create_model("ViT-B-16-SigLIP", load_weights=False))


def test_words() -> None:
    words = words_of(["A dog's life.", "two dogs"])
    assert words == ["a", "dog's", "dogs", "life", "two"]
    tokenizer = WordTokenizer(words, 6)
    assert tokenizer.vocab_size == 9
    ids = tokenizer(["Two DOGS, two zebras", "a a a a a a a", ""]).tolist()
    assert ids == [[1, 7, 5, 7, 2, 8], [1, 3, 3, 3, 3, 8], [1, 8, 0, 0, 0, 0]]
