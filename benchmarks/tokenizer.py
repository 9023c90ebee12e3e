"""PTB tokenisation: ours in Python and through the jar, beside pycocoevalcap's, in one run.

    METAEVAL_DATA=… python benchmarks/tokenizer.py [--captions 45000] [--repeat 3] [--json FILE]

Distinct captions of COCO val2017 and the Karpathy test split, as they are and with their words
shuffled (which puts punctuation where it never stands). Best of `--repeat` runs, each without
memory of the run before, all on one core; Java's JIT and collector may use more. Prints seconds,
captions a second, the ratio to pycocoevalcap's `PTBTokenizer` and how many captions differ from it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from metaeval.text.tokenizers.java import JavaPtbTokenizer
from metaeval.text.tokenizers.ptb import PtbTokenizer

FILES = ("captions_val2017.json", "captions_karpathy_test.json")
Tokenize = Callable[[Sequence[str]], list[list[str]]]


def pycocoevalcap(texts: Sequence[str]) -> list[list[str]]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    answer = PTBTokenizer().tokenize({n: [{"caption": text}] for n, text in enumerate(texts)})
    return [[t for t in answer[n][0].split(" ") if t] for n in range(len(texts))]


def captions(wanted: int) -> list[str]:
    folder = Path(os.environ["METAEVAL_DATA"], "coco/annotations")
    texts = [
        item["caption"]
        for name in FILES
        for item in json.loads((folder / name).read_bytes())["annotations"]
    ]
    return list(dict.fromkeys(texts))[:wanted]


def best(tokenize: Tokenize, texts: Sequence[str], repeat: int) -> tuple[float, list[list[str]]]:
    seconds, tokens = float("inf"), []
    for _ in range(repeat):
        start = time.perf_counter()
        tokens = tokenize(texts)
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", type=int, default=45_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    options = parser.parse_args()
    if "METAEVAL_DATA" not in os.environ:
        sys.exit("METAEVAL_DATA does not name a folder with COCO's annotations")

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
    rows = []
    print(
        f"{'captions':10} {'tokenizer':14} {'n':>6} {'s':>7} {'1/s':>8} {'ratio':>6} {'differ':>6}"
    )
    for name, texts in (("human", plain), ("shuffled", shuffled)):
        reference: list[list[str]] = []
        base = 0.0
        for way, tokenize in ways.items():
            seconds, tokens = best(tokenize, texts, options.repeat)
            if not reference:
                reference, base = tokens, seconds
            differ = sum(a != b for a, b in zip(tokens, reference, strict=True))
            rows.append(
                {
                    "captions": name,
                    "tokenizer": way,
                    "n": len(texts),
                    "seconds": seconds,
                    "ratio": base / seconds,
                    "differ": differ,
                }
            )
            print(
                f"{name:10} {way:14} {len(texts):6} {seconds:7.3f} {len(texts) / seconds:8.0f} "
                f"{base / seconds:6.2f} {differ:6}"
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
