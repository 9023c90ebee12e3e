"""Self-CIDEr and vocabulary: by hand, and its kernel against CIDEr's own scorer."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from metaeval.metrics.ngram.cider import CiderPlain
from metaeval.metrics.ngram.diversity import count_idf, diversity, main, self_cider
from tests.metrics.ngram.ngram_cases import Case, scores

CORPUS = [
    [["a", "dog", "runs"], ["the", "dog", "is", "running"]],
    [["two", "cats"], ["cats", "sleep"]],
    [["a", "man"]],
]


def test_the_ends_of_the_scale() -> None:
    idf, unseen = count_idf(CORPUS)
    same = [["dog", "runs", "on", "grass"]] * 3
    assert self_cider(same, idf, unseen) == pytest.approx(0, abs=1e-12)
    apart = [["dog", "runs", "very", "fast"], ["two", "cats", "sleep", "well"]]
    assert self_cider(apart, idf, unseen) == pytest.approx(1, abs=1e-12)
    assert math.isnan(self_cider([[], []], idf, unseen))
    with pytest.raises(ValueError, match="at least two"):
        self_cider(same[:1], idf, unseen)


def test_two_captions_by_their_cider() -> None:
    """The eigenvalues of [[1, k], [k, 1]] are 1 ± k. k is CIDEr (not D) of the one against the
    other, over ten, with the same corpus."""
    idf, unseen = count_idf(CORPUS)
    one, other = ["a", "dog", "runs", "on", "grass"], ["the", "dog", "runs", "on", "sand"]
    references = (tuple(map(" ".join, CORPUS[0])), *(tuple(map(" ".join, d)) for d in CORPUS[1:]))
    # as a reference of a fourth image it would change the idf: so CIDEr is counted by hand there
    kernel = 0.0
    for n in range(1, 5):
        grams = [[tuple(t[i : i + n]) for i in range(len(t) - n + 1)] for t in (one, other)]
        words = sorted({g for each in grams for g in each})
        x, y = (np.array([each.count(w) * idf.get(w, unseen) for w in words]) for each in grams)
        kernel += x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) / 4
    mine = self_cider([one, other], idf, unseen)
    assert mine == pytest.approx(-math.log2((1 + kernel) / 2), abs=1e-12)
    # and the cosine is CIDEr's own: a caption against the only reference of its image
    case = Case((references[0][:1], *references[1:]), (("the dog runs", "two", "man"),))
    idf, unseen = count_idf([[text.split() for text in group] for group in case.references])
    pair = [["the", "dog", "runs"], case.references[0][0].split()]
    k = float(scores(CiderPlain(tokenizer="whitespace"), case)[0, 0]) / 10
    # three words have no n-gram of order 4: 3/4 on the diagonal, and of the reference's too
    n = len(pair[1])
    assert n == 3
    expected = -math.log2((0.75 + k) / 1.5)
    assert self_cider(pair, idf, unseen) == pytest.approx(expected, abs=1e-12)


def test_counts_by_hand() -> None:
    groups = [[["a", "dog"], ["a", "dog"]], [["a", "cat", "a", "cat"]]]
    d = diversity(groups, *count_idf(CORPUS))
    assert d[:4] == (3, 1 / 3, 3, 8 / 3)
    # 3 words of 8; pairs: a dog, a dog; a cat, cat a, a cat: 3 of 5
    assert (d.distinct_1, d.distinct_2) == (3 / 8, 3 / 5)
    assert d.self_cider == pytest.approx(0, abs=1e-12)
    assert math.isnan(diversity(groups[1:], *count_idf(CORPUS)).self_cider)


@pytest.mark.coco
def test_the_command(coco_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotations = json.loads(
        (coco_root / "coco/annotations/captions_val2017.json").read_text()
        if (coco_root / "coco").is_dir()
        else (coco_root / "annotations/captions_val2017.json").read_text()
    )
    ids = [image["id"] for image in annotations["images"]][:50]
    results = [{"image_id": i, "caption": "a man on a horse"} for i in ids]
    path = tmp_path / "dull.json"
    path.write_text(json.dumps(results))
    main([str(path), "--split", "val2017"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "| dull | 50 | 0 % | 4 | 5.0 | 0.016 | 0.020 | – |"
    assert lines[2].startswith("| people, all references | 2")
