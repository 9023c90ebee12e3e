"""Training of the built-in parser, on CoreNLP's analyses of 36 sentences."""

from pathlib import Path

from metaeval.text.scene_graphs.dependencies.linear import Linear
from metaeval.text.scene_graphs.dependencies.parser import (
    ARC_FEATURES,
    TAG_FEATURES,
    attach_sentences,
    tag_sentences,
)
from research import dependencies as train

TREES = Path(__file__).parents[2] / "tests/text/scene_graphs/corenlp_trees.jsonl"


def test_what_is_trained_is_learned_and_survives_the_disk(tmp_path: Path) -> None:
    """CoreNLP's 36 sentences, learned by heart: the oracle leads to the very trees."""
    examples = train.read_examples(TREES.read_text(encoding="utf-8").splitlines())
    assert len(examples) >= 36
    train.save(train.train_tagger(examples, 12), tmp_path / "tagger.npz")
    tags = [example.tags for example in examples]
    train.save(train.train_parser(examples, tags, 12, lambda *_: None), tmp_path / "arcs.npz")
    words = [example.words for example in examples]
    guesses = tag_sentences(Linear.load(tmp_path / "tagger.npz", TAG_FEATURES), words)
    arcs = attach_sentences(Linear.load(tmp_path / "arcs.npz", ARC_FEATURES), words, tags)
    total = right = tagged = 0
    for example, guessed, (heads, relations) in zip(examples, guesses, arcs, strict=True):
        tagged += sum(a == b for a, b in zip(guessed, example.tags, strict=True))
        right += sum(
            (a, b) == (c, d)
            for a, b, c, d in zip(heads, relations, example.heads, example.relations, strict=True)
        )
        total += len(example.words)
    assert tagged / total > 0.98
    assert right / total > 0.98


def test_training_twice_is_the_same() -> None:
    examples = train.read_examples(TREES.read_text(encoding="utf-8").splitlines())[:8]
    first, second = (train.train_tagger(examples, 2) for _ in range(2))
    assert (first.classes, first.names) == (second.classes, second.names)
    assert first.weights.tolist() == second.weights.tolist()
