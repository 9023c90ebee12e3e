"""The table's loaders of true and false captions, and of what users bring."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import metaeval.corruptions.own.function as own_corruptions
from metaeval.data.judgments import battles
from metaeval.data.judgments.table import load_table
from metaeval.data.own.bank import read_entry
from metaeval.data.own.given import given_captions
from metaeval.data.own.score_files import read_scores
from metaeval.data.pairs import benchmarks, pairs
from metaeval.data.system_captions import read_system_captions
from metaeval.errors import InputError
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.metrics.ngram import ngrams as frequencies
from metaeval.metrics.ngram.ngrams import distinct_ngrams
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.data.pairs import pair_files
from tests.data.pairs.pair_files import SAID
from tests.data.table_files import write
from tests.fuzz.base import Loader, one_file, tables

COCO = ("captions_val2017.json", "instances_val2017.json")  # which have a loader of their own


def benchmark(name: str, folder: str, make: Callable[[Path], object], load: Any) -> Loader:
    """A loader of a benchmark's folder, next to COCO's files."""
    return Loader(
        name,
        lambda top: (make(top), pair_files.coco(top)),
        lambda top: load(root=top / folder, data=top),
        spared=COCO,
    )


BATTLES = [
    {
        "image_id": f"{image}.jpg",
        "first": true,
        "second": false,
        "winner": winner,
        "first_system": "one",
        "second_system": "two",
        "references": [other, "a “dog”"],
    }
    for (image, true, false, other), winner in zip(
        SAID, ("one", "second", "tie", "A", "two"), strict=True
    )
]


def read_battles(path: Path) -> Any:
    return battles.load_battles(path, own_captions="keep", image_source="other")


def make_captioner_battles(folder: Path) -> None:
    pair_files.coco(folder)
    for name in ("one", "two"):
        texts = {image: f"{name} {true}" for image, true, _, _ in SAID}
        rows = [{"image_id": image, "caption": text} for image, text in texts.items()]
        write(folder / f"{name}.json", rows)


def read_captioner_battles(folder: Path) -> Any:
    files = [str(folder / f"{name}.json") for name in ("one", "two")]
    captions = next(folder.rglob(COCO[0]))
    return battles.load_captioner_battles(files, 99, 0, captions, image_source="coco")


VALSE_KINDS = ("plurals", "relations", "foil-it")
VALSE_VOTES = (3, 2, 1, 3, 0)


def make_valse(folder: Path) -> None:
    for kind in VALSE_KINDS:
        pair_files.write(
            folder / "valse" / f"{kind}.json",
            {
                f"{kind}_{k}": {
                    "image_file": f"{image:012d}.jpg",
                    "caption": true,
                    "foil": false,
                    "mturk": {"foil": 3 - VALSE_VOTES[k], "caption": VALSE_VOTES[k], "other": 0},
                    **({"orig_caption": true.lower()} if kind == "plurals" else {}),
                }
                for k, (image, true, false, _) in enumerate(SAID)
            },
        )


FOIL = "foilv1.0_test_2017.json"


def make_foil(folder: Path) -> None:
    listed = [
        {
            "id": key,
            "image_id": image,
            "caption": caption,
            "foil": is_foil,
            "foil_id": key,
            "target_word": "x" if is_foil else "ORIG",
            "foil_word": "y" if is_foil else "ORIG",
        }
        for key, (image, true, false, _) in enumerate(SAID)
        for caption, is_foil in ((true, False), (false, True))
    ]
    pair_files.write(folder / "foil" / FOIL, {"annotations": listed})


# users' tables


PAIRS = [
    {
        "image_id": f"{image}.jpg",
        "true": true,
        "false": [false, "no dog"],
        "paraphrase": other,
        "kind": "object",
        "references": [true.lower(), "a “dog”"],
    }
    for image, true, false, other in SAID
]


def read_pairs(path: Path) -> Any:
    return pairs.load_pairs_table(file=path, image_source="other", data=path.parent)


CAPTIONED = [(image, true) for image, true, _, _ in SAID]
WIDE = [
    {"image_id": i, "caption": c, "references": ["a", "b c"], "Mine": k / 7, "Other": -k}
    for k, (i, c) in enumerate(CAPTIONED)
]
LONG = [
    {"image_id": i, "caption": c, "metric": metric, "score": 0.5 + k}
    for k, (i, c) in enumerate(CAPTIONED)
    for metric in ("A", "B")
]


def read_score_file(path: Path) -> Any:
    return read_scores(path, ["Mine", "Other"] if path.stem == "wide" else None)


KARPATHY = {
    "images": [
        {
            "filename": f"{image:012d}.jpg",
            "cocoid": image,
            "split": "test" if k else "train",
            "sentences": [{"raw": true, "sentid": k}, {"raw": other, "sentid": k + 9}],
        }
        for k, (image, true, _, other) in enumerate(SAID[::2])
    ],
    "dataset": "coco",
}


TO_SCORE = [
    {"image_id": image, "caption": true, "references": [other, true]}
    for image, true, _, other in SAID
]


OWN = [
    {"image_id": image, "captions": [true, other], "image_path": f"{image}.jpg"}
    for image, true, _, other in SAID[1:]
]


SEMICOLONS = "image;caption_1;caption_2\n" + "".join(
    f'{image};"{true}";"{other}"\n' for image, true, _, other in SAID
)
KEYED = {str(image): [true, other] for image, true, _, other in SAID}
WIDE_RATINGS = "img;hyp;refs;rater1;rater2\n" + "".join(
    f'{image}.jpg;"{true}";"{other}";{k},5;{k},25\n'
    for k, (image, true, _, other) in enumerate(SAID)
)


# several pairs or captions a record, as other projects have them

BRACE = [
    {
        "file_name": f"{image}.wav",
        "references": [other, "a “dog”"],
        "Human-Human": [true, f"no {true}", "human", "human", [1, -1, 1]],
        "Human-Machine_1": [true, false, "human", "LTU", [1, 0, -1]],
    }
    for image, true, false, other in SAID
]
BRACE_HALLUCINATION = [
    {
        "file_name": f"{image}.wav",
        "caption_1": [true, false, "human", "LTU", {"references": [other]}],
        "caption_2": [false, f"{true} there", "LTU", "human", {"references": [other]}],
    }
    for image, true, false, other in SAID
]
LISTED_PAIRS = [
    {
        "img": f"{image}.jpg",
        "refs": [other],
        "pairs": [{"caption_a": true, "caption_b": false, "vote": vote} for vote in ("A", "B")],
    }
    for image, true, false, other in SAID
]
TEXTCAPS = {
    "dataset_type": "val",
    "data": [
        {"image_id": f"x{image}", "caption_str": text, "reference_strs": [true, other]}
        for image, true, _, other in SAID[1:]
        for text in (true, other)
    ],
}
KEYED_RECORDS = {str(image): [{"text": true}, {"text": other}] for image, true, _, other in SAID}
PEOPLE = {
    f"vid{image}": {"ref": [other], "candidate": true, "human_score": [[4, k, 3.5], [2, k, 1.25]]}
    for k, (image, true, _, other) in enumerate(SAID)
}
NUMBERED = [{"caption": true, "imgid": f"{image:012d}"} for image, true, _, _ in SAID[1:]]


def write_workbook(path: Path) -> None:
    pd.DataFrame(OWN).astype({"captions": str}).to_excel(path, index=False)


GIVEN = [{"image_id": image, "caption": true} for image, true, _, _ in SAID[1:]]


CORRUPTED = [
    {"image_id": str(image), "caption": text, "set": name, "level": level}
    for image, true, false, _ in SAID[1:]
    for name, level, text in (("worse", 0, false), ("better", 1, true))
]


def read_corrupted(path: Path) -> Any:
    versions = own_corruptions.read_corruptions(path)
    return [[v.title, v.expected, dict(v._captions)] for v in versions]  # type: ignore[attr-defined]


# scores joined to judged captions: two captions an image, each with references of its own

JUDGED = [
    {
        "image_id": f"{name}.jpg",
        "candidate": f"a dog {k}",
        "references": [f"dog {k}"],
        "human": 0.5 + k,
    }
    for name in ("7", "dogs/42", "099")
    for k in range(2)
]
SCORED = [
    {"image_id": row["image_id"], "caption": row["candidate"], "Mine": 0.25 * k - 0.5}
    for k, row in enumerate(JUDGED)
]


def make_joined(folder: Path) -> None:
    write(folder / "judged.jsonl", JUDGED)
    write(folder / "scores.csv", SCORED)


def read_joined(folder: Path) -> Any:
    """Of each judged caption the image's id, as a function is given it, and the file's score."""
    judged = load_table(
        file=folder / "judged.jsonl", image_source="other", data=folder, documents="pair"
    )
    captions, seen = [j.candidate for j in judged.judged], []

    def look(captions: Sequence[str], image_ids: Sequence[Any]) -> list[float]:
        seen.extend(zip(map(str, image_ids), captions, strict=True))
        return [0.0] * len(captions)

    values = []
    for metric in (
        FunctionMetric(look),
        ScoresFileMetric(folder / "scores.csv", columns=["Mine"]),
    ):
        scored = score_captions(metric, judged.dataset, captions, judged.image_index, MemoryStore())
        if scored.scores is None:
            raise InputError(str(scored.reason), file=folder / "scores.csv")
        values.append(scored.scores[:, 0].tolist())
    assert {image for image, _ in seen} == {j.image for j in judged.judged}
    return [sorted(Counter(seen)), [None if value != value else value for value in values[1]]]


# document frequencies of CIDEr's idf


def make_frequencies(path: Path) -> None:
    documents = [[["a", "dog"], ["a", "cat", "runs"]], [["a", "dog", "runs"]]]
    counted = frequencies.CountedCorpus(2, "12345678", "whitespace")
    frequencies.DocumentFrequencies.of(documents).save(path, counted)


def read_frequencies(path: Path) -> Any:
    read = frequencies.DocumentFrequencies.load(path)
    ngrams = distinct_ngrams(read.words.encode([["a", "dog", "runs"]]), 4)
    return [
        *frequencies.read_corpus(path),
        read.words.words(),
        *(idf.tolist() for idf in read.idf()),
        *(numbers.tolist() for numbers in read.find(ngrams)),
    ]


BANK_ENTRY = {
    "metric": "CLAIR",
    "benchmark": "thumb",
    "citation": ["@misc{clair, title = {“CLAIR”}}", "chan2023clair"],
    "source": "https://example.org",
    "licence": "CC BY 4.0",
    "reads": ["references", "image"],
    "higher_is_better": True,
}


PAIR_LOADERS = [
    benchmark("SugarCrepe", "sugarcrepe", pair_files.sugarcrepe, benchmarks.load_sugarcrepe),
    benchmark("RoCOCO", "rococo", pair_files.rococo, benchmarks.load_rococo),
    *tables("battles", "battles", BATTLES, read_battles),
    Loader("battles of captioners", make_captioner_battles, read_captioner_battles, spared=COCO),
    benchmark(
        "SugarCrepe++", "sugarcrepe_pp", pair_files.sugarcrepe_pp, benchmarks.load_sugarcrepe_pp
    ),
    benchmark("VALSE", "valse", make_valse, benchmarks.load_valse),
    benchmark("FOIL", "foil", make_foil, benchmarks.load_foil),
    benchmark(
        "DiscourseFOIL",
        "discourse_foil",
        pair_files.discourse_foil,
        benchmarks.load_discourse_foil,
    ),
    benchmark(
        "reformulations",
        "reformulations",
        pair_files.reformulations,
        benchmarks.load_reformulations,
    ),
    *tables("pairs", "pairs", PAIRS, read_pairs),
    one_file("shape, BRACE", "brace.json", BRACE, read_battles),
    one_file("shape, BRACE pairs", "brace.json", BRACE_HALLUCINATION, read_pairs),
    one_file("shape, listed pairs", "listed.jsonl", LISTED_PAIRS, read_battles),
    one_file(
        "shape, system's text ids",
        "numbered.json",
        NUMBERED,
        lambda p: read_system_captions(p, "s", [image for image, *_ in SAID]).captions,
    ),
    *(
        one_file(f"scores, {name}", name, rows, read_score_file)
        for name, rows in (("wide.csv", WIDE), ("long.jsonl", LONG), ("long.parquet", LONG))
    ),
    one_file("score bank", "clair.yaml", BANK_ENTRY, lambda p: read_entry(p.with_suffix(".csv"))),
    one_file("corrupted elsewhere", "versions.csv", CORRUPTED, read_corrupted),
    one_file("given results", "results.json", GIVEN, lambda p: given_captions(str(p))),
    Loader("scores, joined", make_joined, read_joined),
]
