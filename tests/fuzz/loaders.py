"""The table of loaders: every way by which bytes of a file come into the project.

One entry makes a small valid file or folder, and reads it as the project does. To add a loader, add
an entry here, or to a list `FUZZED` in the test of a dataset: `tests/fuzz/test_loaders.py` fails
for a function that reads files and has none.
"""

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import metaeval
from metaeval.cli.main import run_verb
from metaeval.data.coco.load import load_coco
from metaeval.data.coco.objects import CocoObjects
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.judgments import benchmarks, pascal50s, table
from metaeval.data.own.captions import load_own
from metaeval.data.system_captions import read_system_captions
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.experiments.score.worker import read_rows
from metaeval.metrics.bertscore.metric import baseline_f1
from metaeval.metrics.scan.metric import choose_weights
from metaeval.metrics.vifidel.metric import read_labels
from metaeval.text.vocabulary import Vocabulary
from metaeval.text.word_vectors.base import VectorFile
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.boxes import FileRegions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from tests.data.judgments import test_judgments as judged
from tests.data.table_files import write
from tests.fuzz import pairs_and_own as own
from tests.fuzz.base import Loader, lines, one_file, tables
from tests.fuzz.judges import JUDGE_LOADERS
from tests.metrics.scan import scan_cases
from tests.reports.run_files import IMAGES, write_run

CAPTIONS = ("a dog runs, fast", "two “cats” on a bed", 'a "red" car', "un café", "犬 runs")
WORDS = ["dog", "cat", "car", "犬"]
ROWS = np.array([[3, 4, 0], [0, -2, 0.5], [1, 1, 1], [0.25, 0, -0.125]], dtype=np.float32)
IDS = (7, 42, 99)
FEATURES = np.arange(3 * 4 * 8, dtype=np.float32).reshape(3, 4, 8) / 7 - 3
BOXES = np.tile(np.array([0.1, 0.2, 0.5, 0.9], np.float32), (3, 4, 1))


# COCO's files


COCO_CAPTIONS = {
    "images": [{"id": i, "file_name": f"{i:012d}.jpg"} for i in IDS],
    "annotations": [
        {"id": 10 * i + k, "image_id": i, "caption": text}
        for i in IDS
        for k, text in enumerate(CAPTIONS)
    ],
}
COCO_OBJECTS = {
    "images": [{"id": i, "width": 640, "height": 480} for i in IDS],
    "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "traffic light"}],
    "annotations": [
        {
            "id": 10 * i + k,
            "image_id": i,
            "category_id": 1 + k % 2,
            "iscrowd": int(k == 2),
            "bbox": [10 * k, 5.5, 100, 200],
        }
        for i in IDS
        for k in range(3)
    ],
}
OF_SYSTEM = [{"image_id": i, "caption": CAPTIONS[k]} for k, i in enumerate(IDS)]


# tables of judgements


JUDGED = [
    {
        "image_id": f"{i}.jpg",
        "candidate": CAPTIONS[k],
        "references": list(CAPTIONS[:2]),
        "human": 1.5 + k,
        "system": "one",
    }
    for k, i in enumerate((1, 2, 3, 4))
]


def make_table(path: Path) -> None:
    """As pandas writes it: in CSV lists have Python's form."""
    if path.suffix == ".csv":
        pd.DataFrame(JUDGED).to_csv(path, index=False)
    else:
        write(path, JUDGED)


def read_table(path: Path, **options: Any) -> Any:
    return table.load_table(file=path, image_source="other", data=path.parent, **options)


WORD_MARKS = [
    {
        "image_id": i,
        "candidate": text,
        "references": [CAPTIONS[0]],
        "words": [[w, k == i] if i % 2 else int(k == i) for k, w in enumerate(text.split())],
    }
    for i, text in zip((1, 2, 3), CAPTIONS, strict=False)
]


EXPERT, CROWD = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt"


OWN = [{"image_id": f"{i}.jpg", "caption": text} for i in (1, 2) for text in CAPTIONS[:3]]


def read_own(path: Path) -> Any:
    return load_own(path, split="all" if path.name == "karpathy.json" else None)


# word vectors


VECTOR_LINES = [f"{w} {' '.join(map(repr, r))}" for w, r in zip(WORDS, ROWS.tolist(), strict=True)]
VECTOR_BYTES = b"4 3\n" + b"".join(
    w.encode() + b" " + row.tobytes() + b"\n" for w, row in zip(WORDS, ROWS, strict=True)
)


def read_vectors(path: Path) -> Any:
    return VectorFile(path, cache=path.parent / "cache").embed(WORDS)


# regions


DETECTED = [{"image_id": i, "category_id": 18, "bbox": [1.5, 2, 30, 4], "score": 0.75} for i in IDS]


def make_regions(path: Path) -> None:
    coded = [
        (i, *(base64.b64encode(a.tobytes()).decode() for a in (100 * b, x)))
        for i, x, b in zip(IDS, FEATURES, BOXES, strict=True)
    ]
    write(path, lines(f"{i}\t100\t100\t4\t{b}\t{x}" for i, b, x in coded))


def read_regions(path: Path) -> Any:
    words = ("a",) * len(IDS)
    data = CaptionDataset("x", IDS, words, (words,) * len(IDS), IDS, words)
    return BottomUpRegions(path, dim=8).load(data)


# weights


VOCABULARY_WORDS = ["<pad>", "<start>", "<end>", "<unk>", "dog", "犬"]
VOCABULARY = {
    "word2idx": {w: i for i, w in enumerate(VOCABULARY_WORDS)},
    "idx2word": {str(i): w for i, w in enumerate(VOCABULARY_WORDS)},
    "idx": 6,
    "tokenizer": "ptb",
}


def read_weights(folder: Path) -> Any:
    data = scan_cases.dataset()
    weights = choose_weights(str(folder / "w"), "", data, GoldRegions(), None)
    if isinstance(weights, Absent):  # what a run says in the metric's row
        raise InputError(str(weights), file=folder / "w")
    model, words = weights.load()
    return [model.state_dict(), words.words, weights.seen]


def read_cards(folder: Path) -> Any:
    """`doctor`'s line on a folder of weights, for any card."""
    (line,) = pretrained.shipped_lines(folder)
    if "cannot be used" in line:
        raise InputError(line, file=folder)
    assert line.isprintable()
    return "a line"


# the rest


LABELS = {str(i): ["dog", "traffic light"] for i in IDS}


BASELINE = "LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n"


def read_run(folder: Path) -> Any:
    """The page as the command writes it, and the run as Python reads it, end in a line or work."""
    error = io.StringIO()
    with redirect_stderr(error), redirect_stdout(io.StringIO()):
        code = run_verb(["report", str(folder / "run"), "--no-figures", "--explanations", "0"])
    if code:
        raise InputError(error.getvalue().strip())
    run = metaeval.load_run(folder / "run")
    shapes = [len(run.table()), len(run.result.metrics), len(run.scores), len(run.captions)]
    return [repr(run), shapes, run.config]


def of_tests() -> Iterator[Loader]:
    """The entries `FUZZED` in the tests of datasets."""
    root = Path(__file__).parents[2]
    for path in sorted((root / "tests/data").rglob("test_*.py")):
        if "\nFUZZED" in path.read_text(encoding="utf-8"):
            module = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
            yield from import_module(module).FUZZED


LOADERS: Sequence[Loader] = (
    one_file(
        "COCO captions",
        "captions.json",
        COCO_CAPTIONS,
        lambda p: load_coco("coco", captions=p, n_references=1),
    ),
    one_file("COCO instances", "instances.json", COCO_OBJECTS, CocoObjects),
    one_file(
        "system captions",
        "system.json",
        OF_SYSTEM,
        lambda p: read_system_captions(p, "system", IDS).captions,
    ),
    *tables("table", "table", make_table, read_table),
    one_file("word marks", "marked.json", WORD_MARKS, read_table),
    Loader(
        "Flickr8k-Expert",
        judged.flickr8k_files,
        lambda f: benchmarks.load_expert(root=f, own_captions="keep"),
        (CROWD,),
    ),
    Loader(
        "Flickr8k-CF",
        judged.flickr8k_files,
        lambda f: benchmarks.load_crowd(root=f, own_captions="keep"),
        (EXPERT,),
    ),
    Loader(
        "Composite",
        judged.composite,
        lambda f: benchmarks.load_composite(root=f, subsets=["8k"], own_captions="keep"),
        (EXPERT, CROWD),
    ),
    Loader("THumB", judged.thumb, lambda f: benchmarks.load_thumb(root=f, dimensions=["total"])),
    *own.PAIR_LOADERS,
    one_file("own captions, Karpathy", "karpathy.json", own.KARPATHY, read_own),
    *tables("rows to score", "rows", own.TO_SCORE, lambda p: read_rows([p], None, Tidy())),
    *tables("own captions", "own", own.OWN, read_own, (".jsonl", ".json", ".parquet")),
    one_file("own captions .csv", "own.csv", OWN, read_own),
    one_file("own captions, semicolons", "own.csv", own.SEMICOLONS, read_own),
    one_file("own captions, keyed", "own.json", own.KEYED, read_own),
    one_file("raters, semicolons", "wide.csv", own.WIDE_RATINGS, read_table),
    one_file("shape, TextCaps", "textcaps.json", own.TEXTCAPS, read_own),
    one_file("shape, keyed records", "keyed.json", own.KEYED_RECORDS, read_own),
    one_file(
        "shape, people's lists",
        "people.json",
        own.PEOPLE,
        partial(read_table, fields={"human": "human_score.2"}),
    ),
    one_file("shape, workbook", "own.xlsx", own.write_workbook, read_own),
    one_file("own captions .token", "own.token", judged.TOKENS, read_own),
    Loader("PASCAL-50S", judged.pascal50s, lambda f: pascal50s.load_pascal50s(root=f)),
    one_file("vectors, counted", "v.txt", lines(["4 3", *VECTOR_LINES]), read_vectors),
    one_file("vectors, plain", "v.txt", "\n".join(VECTOR_LINES), read_vectors),
    one_file("vectors, word2vec", "v.bin", lambda p: p.write_bytes(VECTOR_BYTES), read_vectors),
    one_file("frequencies of n-grams", "idf.npz", own.make_frequencies, own.read_frequencies),
    one_file("boxes", "boxes.json", DETECTED, lambda p: FileRegions(p)._read()[0]),
    one_file("regions .tsv", "f.tsv", make_regions, read_regions),
    one_file("vocabulary", "vocab.json", VOCABULARY, lambda p: vars(Vocabulary.load(p))),
    Loader("weights folder", lambda f: scan_cases.weights(f / "w"), read_weights, exact=True),
    Loader(
        "weights, for doctor", lambda f: scan_cases.weights(f / "w"), read_cards, forgiving=True
    ),
    one_file("object labels", "labels.json", LABELS, lambda p: read_labels(str(p))[0]),
    one_file("BERTScore baseline", "b.tsv", BASELINE, lambda p: baseline_f1(str(p), "any", 1)),
    Loader("files of a run", lambda f: write_run(f / "run", IMAGES[:4]), read_run, exact=True),
    *JUDGE_LOADERS,
    *of_tests(),
)
