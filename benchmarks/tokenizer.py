"""PTB tokenisation: ours in Python and through the jar, against pycocoevalcap's, in one run.

    METAEVAL_DATA=… python benchmarks/tokenizer.py [--captions 45000] [--repeat 3]

Distinct captions of COCO val2017 and the Karpathy test split, as they are and with their words
shuffled (which puts punctuation where it never stands). Best of `--repeat` runs, each without
memory of the run before, all on one core; Java's JIT and collector may use more. Prints seconds,
captions per second, the ratio to pycocoevalcap's `PTBTokenizer` and how many captions differ from
it.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Sequence

from benchmarks.side_by_side import coco_annotations, options_parser, timed
from metaeval.text.tokenizers.java import JavaPtbTokenizer
from metaeval.text.tokenizers.ptb import PtbTokenizer

Tokenize = Callable[[Sequence[str]], list[list[str]]]


def pycocoevalcap(texts: Sequence[str]) -> list[list[str]]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    answer = PTBTokenizer().tokenize({n: [{"caption": text}] for n, text in enumerate(texts)})
    return [[t for t in answer[n][0].split(" ") if t] for n in range(len(texts))]


def captions(wanted: int) -> list[str]:
    splits = ("val2017", "karpathy_test")
    texts = (item["caption"] for split in splits for item in coco_annotations(split))
    return list(dict.fromkeys(texts))[:wanted]


def main() -> None:
    parser = options_parser(__doc__)
    parser.add_argument("--captions", type=int, default=45_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()

    plain = captions(options.captions)
    rng = random.Random(0)
    shuffled = [" ".join(rng.sample(words := text.split(), len(words))) for text in plain]
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    ways: dict[str, Tokenize] = {
        "pycocoevalcap": pycocoevalcap,
        "java": lambda texts: JavaPtbTokenizer().tokenize(texts),
        "ptb": lambda texts: PtbTokenizer().tokenize(texts),
    }
    print(
        f"{'captions':10} {'tokenizer':14} {'n':>6} {'s':>7} {'1/s':>8} {'ratio':>6} {'differ':>6}"
    )
    for name, texts in (("human", plain), ("shuffled", shuffled)):
        expected: list[list[str]] = []
        base = 0.0
        for way, tokenize in ways.items():
            runs = [timed(lambda t=tokenize, x=texts: t(x)) for _ in range(options.repeat)]
            tokens, seconds = runs[-1][0], min(taken.clock for _, taken in runs)
            if not expected:
                expected, base = tokens, seconds
            differ = sum(a != b for a, b in zip(tokens, expected, strict=True))
            print(
                f"{name:10} {way:14} {len(texts):6} {seconds:7.3f} {len(texts) / seconds:8.0f} "
                f"{base / seconds:6.2f} {differ:6}"
            )


if __name__ == "__main__":
    main()
