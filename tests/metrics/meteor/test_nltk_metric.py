"""nltk's METEOR against nltk: equal to the bit, as the scores are its own doing."""

from pathlib import Path

import numpy as np
import pytest
from nltk.translate.meteor_score import meteor_score

from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.metrics.meteor import nltk_metric
from metaeval.metrics.meteor.nltk_metric import (
    MeteorNltk,
    MeteorNltkScorer,
    install,
    read_wordnet,
)
from tests.metrics.metric_cases import images, ready

# two synsets in WordNet's own layout, wndb(5WN); offsets are bytes from the start of the file
SYNSETS = (("car", "auto", "motor_car"), ("dog", "hound"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder as distributions have it: WordNet's files, without `lexnames`."""
    folder = tmp_path / "dict"
    folder.mkdir()
    for part in nltk_metric.PARTS:
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (folder / name).write_text("")
    data, index = "  1 WordNet 3.0 Copyright\n", []
    for words in SYNSETS:
        offset = f"{len(data):08d}"
        data += f"{offset} 06 n {len(words):02x} {' '.join(f'{w} 0' for w in words)} 000 | x\n"
        index += [f"{word} n 1 0 1 0 {offset}\n" for word in words]
    (folder / "data.noun").write_text(data)
    (folder / "data.adj").write_text("  1 WordNet 3.0 Copyright\n")
    (folder / "index.noun").write_text("".join(sorted(index)))
    (folder / "noun.exc").write_text("hounddogs hound\n")
    return folder


def bound(data: CaptionDataset, cache: Path, **options: str) -> MeteorNltkScorer:
    return ready(MeteorNltk(cache=cache, **options), data)


@pytest.fixture
def cache(tmp_path: Path, small: Path) -> Path:
    install(tmp_path / "cache", small)
    return tmp_path / "cache"


def test_words_stems_and_synonyms_match_as_in_nltk(cache: Path) -> None:
    references = ("A dog runs to the car", "two dogs running")
    captions = [
        "a hound runs to the auto",
        "A Dog runs to the car.",
        "running dogs two",
        "x y",
        "",
        "the auto a a hound motor_car",
        "hounddogs run",
    ]
    scorer = bound(images([references]), cache)
    scores = scorer.score(captions, np.zeros(len(captions), dtype=np.intp))[:, 0]
    reader = read_wordnet(cache / "nltk_data" / "corpora" / "wordnet")
    split = [text.split() for text in references]
    expected = [meteor_score(split, caption.split(), wordnet=reader) for caption in captions]
    assert scores.tolist() == expected
    # by hand: all six words match in one chunk, so P = R = F = 1 and the penalty is 0.5 (1/6)³
    assert scores[0] == pytest.approx(1 - 0.5 / 216, abs=1e-12)
    assert scores[3] == scores[4] == 0


def test_the_mean_over_references_is_that_of_nltks_scores(cache: Path) -> None:
    references = ("A dog runs to the car", "two dogs running")
    data, caption = images([references]), "a hound runs"
    mean, best = bound(data, cache, references="mean"), bound(data, cache)
    reader = read_wordnet(cache / "nltk_data" / "corpora" / "wordnet")
    one, other = (meteor_score([r.split()], caption.split(), wordnet=reader) for r in references)
    assert mean.score([caption], np.zeros(1, dtype=np.intp))[0, 0] == (one + other) / 2 != one
    assert (mean.columns, mean.settings == best.settings) == (best.columns, False)


def test_tokens_and_files_are_in_the_signature(cache: Path, small: Path, tmp_path: Path) -> None:
    data = images([["a dog ."]])
    plain, ptb = bound(data, cache), bound(data, cache, tokenizer="ptb")
    assert plain.score(["a dog ."], np.zeros(1, np.intp))[0, 0] > 0.98
    (signature,) = plain.signatures
    assert signature.startswith("meteor (nltk)|tok:whitespace|nltk:")
    assert ptb.signatures[0] != signature
    with (small / "data.noun").open("a") as file:
        file.write("\n")
    install(tmp_path / "other", small)
    assert bound(data, tmp_path / "other").signatures[0] != signature


def test_without_wordnet_it_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("nltk.data.path", [str(tmp_path / "none")])
    assert "doctor --install wordnet" in MeteorNltk(cache=tmp_path).bind(images([["a"]])).remedy


def test_a_folder_that_is_no_wordnet_is_refused(tmp_path: Path, small: Path) -> None:
    (small / "index.verb").unlink()
    with pytest.raises(InputError, match=r"index\.verb"):
        install(tmp_path / "cache", small)
    assert not (tmp_path / "cache").exists()
