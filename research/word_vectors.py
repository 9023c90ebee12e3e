"""Word vectors learnt from captions of other images, for a run without a model of others.

    python -m research.word_vectors OUT.txt --split karpathy_test --exclude val2017

writes a text file for `vectors=file vectors.path=OUT.txt`. The vectors are those of Levy, Goldberg
and Dagan (TACL 2015): positive pointwise mutual information of words and the words around them,
reduced by singular values. The images of `--exclude` lend no caption.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import svds

from metaeval.data.coco.load import load_coco
from metaeval.runs.files import atomic

WINDOW = 5  # words to either side
SMOOTHING = 0.75  # the power of the contexts' counts, against rare contexts
_WORD = re.compile(r"(?u)\b\w\w+\b")  # as VIFIDEL splits captions


def learn_vectors(
    captions: Sequence[str], dimension: int = 100, min_count: int = 2
) -> tuple[list[str], npt.NDArray[np.float64]]:
    """The words that occur at least `min_count` times, sorted, and their vectors [n, dimension].

    Vectors are U·√S of the truncated decomposition of max(0, log P(w, c) / (P(w) P(c)^0.75)),
    with counts of all pairs of words at most `WINDOW` apart. There are at most n − 1 dimensions.
    """
    texts = [_WORD.findall(caption.lower()) for caption in captions]
    counts = Counter(word for text in texts for word in text)
    words = sorted(word for word, n in counts.items() if n >= min_count)
    place = {word: i for i, word in enumerate(words)}
    pairs: Counter[tuple[int, int]] = Counter()
    for text in texts:
        known = [place[word] for word in text if word in place]
        for i, one in enumerate(known):
            for other in known[i + 1 : i + 1 + WINDOW]:
                pairs[one, other] += 1
                pairs[other, one] += 1
    rows, columns = np.array(list(pairs), dtype=np.intp).reshape(-1, 2).T
    together = np.array(list(pairs.values()), dtype=np.float64)
    n = len(words)
    of_word = np.bincount(rows, together, n) / together.sum()
    of_context = np.bincount(columns, together, n) ** SMOOTHING
    of_context /= of_context.sum()
    information = np.log(together / together.sum() / (of_word[rows] * of_context[columns]))
    positive = sparse.csr_matrix((np.maximum(information, 0.0), (rows, columns)), shape=(n, n))
    # the iteration's first vector and the axes' signs are fixed: same captions, same vectors
    first = np.random.default_rng(0).normal(size=n)
    u, s, _ = svds(positive, k=min(dimension, n - 1), v0=first)
    u *= np.sign(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])])
    return words, u * np.sqrt(s)


def write_vectors(path: Path, words: Sequence[str], vectors: npt.NDArray[np.float64]) -> None:
    """GloVe's text format: a word a line, and its numbers."""
    lines = (
        f"{word} {' '.join(f'{x:.6g}' for x in row)}\n"
        for word, row in zip(words, vectors, strict=True)
    )
    atomic(path, lambda part: part.write_text("".join(lines), encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT.txt")
    parser.add_argument("--split", default="karpathy_test", help="whose captions are read")
    parser.add_argument("--exclude", help="a split whose images are left out: those to be scored")
    parser.add_argument("--dimension", type=int, default=100)
    options = parser.parse_args(arguments)
    data = load_coco(f"coco_{options.split}", split=options.split, exclude=options.exclude)
    captions = [*data.human, *(text for group in data.references for text in group)]
    words, vectors = learn_vectors(captions, options.dimension)
    write_vectors(options.out, words, vectors)
    print(f"{len(words):,} words from {len(captions):,} captions of {len(data):,} images")


if __name__ == "__main__":
    main()
