"""The table's loaders of true and false captions, and of what users bring, with their strict
readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import metaeval.corruptions.own.file as own_corruptions
from metaeval.data.judgments import audiocaps, battles
from metaeval.data.own.given import given_captions
from metaeval.data.own.score_files import read_scores
from metaeval.data.pairs import foil, rococo, sugarcrepe, table, valse
from metaeval.data.tidy import Tidy
from metaeval.experiments.score.rows import read_rows
from metaeval.metrics.ngram import document_frequencies as frequencies
from metaeval.metrics.ngram.ngrams import distinct_ngrams
from tests.data.pairs import pair_files
from tests.data.pairs.pair_files import IMAGES, SAID
from tests.fuzz import strict
from tests.fuzz.base import Loader, Read, one_file, tables, write

COCO = ("captions_val2017.json", "instances_val2017.json")  # which have a loader of their own


def pair_values(pairs: Any) -> Any:
    return sorted(
        (p.image, p.kind, p.true, p.false, p.paraphrase or "", p.made_from or "")
        for p in pairs.pairs
    )


def known(name: str) -> bool:
    """Whether the image is one of those that have captions; pairs of others are left out."""
    return int(Path(name).stem.split("_")[-1]) in IMAGES


def benchmark(
    name: str, folder: str, make: Callable[[Path], object], load: Any, strictly: Read,
    values: Read = pair_values,
) -> Loader:  # fmt: skip
    """A loader of a benchmark's folder, next to COCO's files."""

    def make_both(top: Path) -> None:
        make(top)
        pair_files.coco(top)

    def read(top: Path) -> Any:
        return values(load(root=top / folder, data=top))

    return Loader(name, make_both, read, lambda top: strictly(top / folder), spared=COCO)


def strict_sugarcrepe(folder: Path, *more: str) -> Any:
    out = []
    for path in folder.iterdir():
        for record in strict.members(path):
            names = ("filename", "caption", "negative_caption", *more)
            image, true, false, *other = (strict.caption(record.get(n)) for n in names)
            if known(image):
                out.append((image, path.stem, true, false, *(other or [""]), ""))
    return sorted(out)


def strict_rococo(folder: Path) -> Any:
    out = []
    for path in folder.iterdir():
        for record in strict.members(path):
            image = strict.caption(record.get("image")).split("/")[-1]
            given = record.get("caption")
            strict.require(isinstance(given, list) and len(given) > 1)
            captions = [strict.caption(text) for text in given]
            split = len(captions) - len(captions) // 2
            true = set(map(letters, captions[:split]))
            false = [t for t in captions[split:] if letters(t) not in true]
            out += [(image, path.stem, plain_words(text)) for text in false if known(image)]
    return sorted(out)


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def plain_words(text: str) -> str:
    """Lower case; punctuation goes, except hyphens and apostrophes between letters."""
    kept = []
    low = f" {text.lower()} "
    for k, c in enumerate(low):
        inside = c in "'-" and word(low[k - 1]) and word(low[k + 1])
        kept.append(c if word(c) or inside else " ")
    return " ".join("".join(kept).split())


def word(c: str) -> bool:
    return c.isalnum() or c == "_"


BARKS = ["a dog barks", "a dog is barking", "barking", "a hound barks", "Dog barks."]
CLIP = {
    "audio_id": "x1", "references": BARKS,
    "HC": [BARKS[0], BARKS[2], "g", "g", [1, 1, -1, 1]],
    "HM": [BARKS[0], "a dog", "g", "m", [1, -1, 1, -1]],
    "MM_1": ["a dog", "a cat barks", "m", "m", 0, [0, -1, -1, 1]],
    "MM_2": None,
}  # fmt: skip


def read_clip_pairs(path: Path) -> Any:
    p = audiocaps.load_clip_pairs(path)
    columns = (p.image, p.category, p.first, p.second, p.references, p.votes.tolist())
    return [list(row) for row in zip(*columns, strict=True)]


def strict_clip_pairs(path: Path) -> Any:
    out: list[Any] = []
    for record in strict.records(path):
        names = ("audio_id", "raw_name", "file_name", "id")
        clip = record[next((n for n in names if n in record), "audio_id")]
        strict.require(type(clip) in (str, int) and clip != "")
        strict.require(isinstance(record["references"], list) and len(record["references"]) > 1)
        references = tuple(strict.caption(r) for r in record["references"])
        for field in ("HC", "HI", "HM", *(f"MM_{k}" for k in range(1, 6))):
            if record.get(field) is None:
                continue
            pair = record[field]
            strict.require(isinstance(pair, list) and len(pair) > 4 and isinstance(pair[-1], list))
            strict.require(pair[-1] and all(type(v) is int and v in (-1, 0, 1) for v in pair[-1]))
            one, two = strict.caption(pair[0]), strict.caption(pair[1])
            if field[0] == "H":
                removed = (one, two) if field == "HC" else (one,)
                strict.require(all(set(references) - {r} for r in removed))
            votes = [pair[-1].count(1), pair[-1].count(-1)]
            if votes[0] != votes[1]:
                row = [strict.caption(str(clip)), field[:2], one, two, references, votes]
                out.append(row)
    strict.require(out)
    return out


BATTLES = [
    {"image_id": f"{image}.jpg", "first": true, "second": false, "winner": winner,
     "first_system": "one", "second_system": "two", "references": [other, "a “dog”"]}
    for (image, true, false, other), winner in zip(
        SAID, ("one", "second", "tie", "A", "two"), strict=True)
]  # fmt: skip
WINNERS = {
    **dict.fromkeys(("first", "a", "left", "caption1", "caption 1", "model_a"), 1.0),
    **dict.fromkeys(("second", "b", "right", "caption2", "caption 2", "model_b"), 0.0),
    **dict.fromkeys(("tie", "equal", "both", "neither", "tie (bothbad)"), 0.5),
}


def read_battles(path: Path) -> Any:
    b = battles.load_battles(path, own_captions="keep", image_source="other")
    assert b.winner is not None
    winner = [repr(x) for x in b.winner.tolist()]
    return [list(r) for r in zip(b.image, b.first, b.second, winner, b.references, strict=True)]


def strict_battles(path: Path) -> Any:
    out = []
    for row in strict.rows(path, "image_id", "first", "second", "winner"):
        systems = [optional(row, name) for name in ("first_system", "second_system")]
        for system in filter(None, systems):
            strict.name(system)
        strict.require(systems[0] != systems[1] or not systems[0])
        value = row["winner"]
        empty = value is None or value == "" or value != value
        text = f"{value:g}" if isinstance(value, float) else str(value)
        names = WINNERS | {system: 1.0 - k for k, system in enumerate(systems) if system}
        key = text if text in systems and text else text.lower()
        strict.require(empty or key in names)
        image, texts = strict.image_id(row["image_id"]), strict.texts(row.get("references"))
        first, second = strict.caption(row["first"]), strict.caption(row["second"])
        winner = repr(math.nan if empty else names[key])
        out.append([image, first, second, winner, tuple(texts)])
    return out


def make_captioner_battles(folder: Path) -> None:
    pair_files.coco(folder)
    for name in ("one", "two"):
        texts = {image: f"{name} {true}" for image, true, _, _ in SAID}
        rows = [{"image_id": image, "caption": text} for image, text in texts.items()]
        write(folder / f"{name}.json", rows)


def read_captioner_battles(folder: Path) -> Any:
    files = [str(folder / f"{name}.json") for name in ("one", "two")]
    captions = next(folder.rglob(COCO[0]))
    b = battles.load_captioner_battles(files, 99, 0, captions, image_source="coco")
    of = zip(b.image, b.first, b.second, b.systems, strict=True)
    return sorted([image, *sorted(((s, a), (t, c)))] for image, a, c, (s, t) in of)


def strict_captioner_battles(folder: Path) -> Any:
    one, two = (dict(strict.systems(folder / f"{n}.json", IMAGES)) for n in ("one", "two"))
    rows = [[str(i), ("one", one[i]), ("two", two[i])] for i in one if i in two]
    strict.require(rows)
    return sorted(rows)


VALSE_KINDS = ("plurals", "relations", "foil-it")
VALSE_VOTES = (3, 2, 1, 3, 0)


def make_valse(folder: Path) -> None:
    for kind in VALSE_KINDS:
        pair_files.write(folder / "valse" / f"{kind}.json", {
            f"{kind}_{k}": {
                "image_file": f"{image:012d}.jpg", "caption": true, "foil": false,
                "mturk": {"foil": 3 - VALSE_VOTES[k], "caption": VALSE_VOTES[k], "other": 0},
                **({"orig_caption": true.lower()} if kind == "plurals" else {}),
            }
            for k, (image, true, false, _) in enumerate(SAID)
        })  # fmt: skip


def strict_valse(folder: Path) -> Any:
    out = []
    for kind in VALSE_KINDS:
        for record in strict.members(folder / f"{kind}.json"):
            votes = record["mturk"]["caption"]
            strict.require(type(votes) is int and 0 <= votes <= 3)
            names = ("image_file", "caption", "foil")
            strict.require(set(names) <= set(record))
            if votes < 2:
                continue
            image, true, false = (strict.caption(record[n]) for n in names)
            made = strict.caption(record["orig_caption"]) if "orig_caption" in record else ""
            if known(image):
                out.append((image, kind, true, false, "", made))
    return sorted(out)


FOIL = "foilv1.0_test_2017.json"


def make_foil(folder: Path) -> None:
    listed = [
        {"id": key, "image_id": image, "caption": caption, "foil": is_foil, "foil_id": key,
         "target_word": "x" if is_foil else "ORIG", "foil_word": "y" if is_foil else "ORIG"}
        for key, (image, true, false, _) in enumerate(SAID)
        for caption, is_foil in ((true, False), (false, True))
    ]  # fmt: skip
    pair_files.write(folder / "foil" / FOIL, {"annotations": listed})


def strict_foil(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / FOIL))
    strict.require(isinstance(value, dict) and isinstance(value.get("annotations"), list))
    true: dict[Any, Any] = {}
    foils = []
    for record in value["annotations"]:
        image, key, is_foil = record["image_id"], record["id"], record["foil"]
        strict.require(type(image) is int and type(key) in (int, str) and type(is_foil) is bool)
        strict.require(image >= 0)
        one = image, strict.caption(record["caption"])
        if is_foil:
            foils.append((key, *one))
        else:
            strict.require(true.setdefault(key, one) == one)
    out = []
    for key, image, false in foils:
        if key in true:
            strict.require(true[key][0] == image)
            if image in IMAGES:
                out.append((str(image), "object", true[key][1], false, "", ""))
    return sorted(out)


# users' tables


def optional(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    strict.require(value is None or isinstance(value, str))
    return value or ""


PAIRS = [
    {"image_id": f"{image}.jpg", "true": true, "false": [false, "no dog"],
     "paraphrase": other, "kind": "object", "references": [true.lower(), "a “dog”"]}
    for image, true, false, other in SAID
]  # fmt: skip


def read_pairs(path: Path) -> Any:
    return pair_values(table.load_pairs_table(file=path, image_source="other", data=path.parent))


def strict_pairs(path: Path) -> Any:
    out = []
    for row in strict.rows(path, "image_id", "true", "false"):
        image, true = strict.image_id(row["image_id"]), strict.caption(row["true"])
        false = strict.texts(row["false"])
        strict.require(true and false)
        kind, other = optional(row, "kind") or "all", optional(row, "paraphrase")
        strict.texts(row.get("references"))
        if row.get("references") is not None:  # no captions file has an image that is not COCO's
            out += [(image, kind, true, f, strict.caption(other), "") for f in false]
    return sorted(out)


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


def score_values(path: Path) -> Any:
    held = read_scores(path, ["Mine", "Other"] if path.stem == "wide" else None)
    return sorted(
        (image, caption, list(references or ()), name, score)
        for (image, caption, references), of_item in held.scores.items()
        for name, score in zip(held.columns, of_item, strict=True)
        if score == score
    )


def strict_scores(path: Path) -> Any:
    rows = strict.rows(path)
    strict.require({"image_id", "caption"} <= set(rows[0]))
    long = {"metric", "score"} <= set(rows[0])
    names = [n for n in ("Mine", "Other") if any(n in row for row in rows) and not long]
    strict.require(long or len(names) == 2)
    out: dict[Any, float] = {}
    for row in rows:
        key = strict.image_id(row["image_id"]), strict.caption(row["caption"])
        references = tuple(strict.texts(row.get("references")))
        for name in [row["metric"]] if long else names:
            strict.name(name)
            value = row.get("score" if long else name)
            empty = value is None or value == "" or str(value).strip().lower() == "nan"
            value = math.nan if empty else strict.number(value)
            before = out.setdefault((*key, references, name), value)
            strict.require(abs(before - value) < 1e-6 or (before != before and value != value))
    strict.require(out)
    return sorted((i, c, list(r), n, v) for (i, c, r, n), v in out.items() if v == v)


KARPATHY = {
    "images": [
        {"filename": f"{image:012d}.jpg", "cocoid": image, "split": "test" if k else "train",
         "sentences": [{"raw": true, "sentid": k}, {"raw": other, "sentid": k + 9}]}
        for k, (image, true, _, other) in enumerate(SAID[::2])
    ],
    "dataset": "coco",
}  # fmt: skip


def strict_karpathy(path: Path) -> Any:
    value = strict.parsed(strict.text(path))
    strict.require(isinstance(value["images"], list))
    out: dict[str, list[str]] = {}
    for image in value["images"]:
        strict.require(isinstance(image["sentences"], list))
        strict.require(isinstance(image["filename"], str))
        given = image.get("cocoid")
        name = strict.image_id(Path(image["filename"]).stem if given is None else given)
        for sentence in image["sentences"]:
            text = strict.caption(sentence["raw"])
            strict.require(text)
            out.setdefault(name, []).append(text)
    return out


TO_SCORE = [
    {"image_id": image, "caption": true, "references": [other, true]}
    for image, true, _, other in SAID
]


def read_to_score(path: Path) -> Any:
    rows = list(read_rows([path], None, Tidy()))
    assert rows
    return [[str(r.image_id), r.caption, list(r.references or ())] for r in rows]


def strict_to_score(path: Path) -> Any:
    out = []
    for row in strict.rows(path):
        given = row.get("image_id")
        image = "None" if given is None else strict.image_id(given)
        references = strict.texts(row.get("references"))
        strict.require(references)
        caption = row["caption"] if "caption" in row else row.get("candidate")
        out.append([image, strict.caption(caption), references])
    return out


OWN = [
    {"image_id": image, "captions": [true, other], "image_path": f"{image}.jpg"}
    for image, true, _, other in SAID[1:]
]


def strict_own_table(path: Path) -> Any:
    rows = strict.rows(path)
    column = "captions" if "captions" in rows[0] else "caption"
    out: dict[str, list[str]] = {}
    for row in rows:
        image, value = strict.image_id(row["image_id"]), row[column]
        optional(row, "image_path")
        if column == "captions":
            value = strict.cell_list(value)
        for text in value if isinstance(value, list) else [value]:
            strict.require(strict.caption(text))
            out.setdefault(image, []).append(strict.caption(text))
    strict.require(len({type(row["image_id"]) for row in rows}) == 1)
    return out


GIVEN = [{"image_id": image, "caption": true} for image, true, _, _ in SAID[1:]]


def read_given(path: Path) -> Any:
    given = given_captions(str(path))
    ids = given.dataset.image_ids
    return [[str(ids[i]), c] for i, c in zip(given.image_index, given.captions, strict=True)]


def strict_given(path: Path) -> Any:
    value = strict.rows(path)
    strict.require(len({type(r["image_id"]) for r in value}) == 1)
    return [[strict.image_id(r["image_id"]), strict.caption(r["caption"])] for r in value]


CORRUPTED = [
    {"image_id": str(image), "caption": text, "set": name, "level": level}
    for image, true, false, _ in SAID[1:]
    for name, level, text in (("worse", 0, false), ("better", 1, true))
]


def read_corrupted(path: Path) -> Any:
    versions = own_corruptions.read_corruptions(path)
    return [[v.title, v.expected, dict(v._captions)] for v in versions]  # type: ignore[attr-defined]


def strict_corrupted(path: Path) -> Any:
    rows = strict.rows(path)
    strict.require({"image_id", "caption"} <= set(rows[0]))
    sets: dict[str, dict[str, str]] = {}
    levels: dict[str, float] = {}
    written: dict[str, str] = {}
    for row in rows:
        name = strict.name(row.get("set") or "versions")
        strict.require(name.lower() != "human")
        of_set = sets.setdefault(name, {})
        image = strict.image_id(row["image_id"]).strip()
        key = strict.compared_id(image)
        strict.require(written.setdefault(key, image) == image and key not in of_set)
        of_set[key] = strict.caption(row["caption"])
        cell = row.get("level")
        level = float(len(levels)) if cell in (None, "") else strict.number(cell)
        strict.require(levels.setdefault(name, level) == level or cell in (None, ""))
    strict.require(len(set(levels.values())) == len(levels))
    return [[n, "lower", sets[n]] for n in sorted(sets, key=levels.__getitem__)]


# document frequencies of CIDEr's idf


def make_frequencies(path: Path) -> None:
    documents = [[["a", "dog"], ["a", "cat", "runs"]], [["a", "dog", "runs"]]]
    counted = frequencies.CountedCorpus(2, "12345678", "whitespace")
    frequencies.DocumentFrequencies.of(documents).save(path, counted)


def read_frequencies(path: Path) -> Any:
    read = frequencies.DocumentFrequencies.load(path)
    ngrams = distinct_ngrams(read.words.encode([["a", "dog", "runs"]]), 4)
    return [
        *frequencies.read_corpus(path), read.words.words(), *(idf.tolist() for idf in read.idf()),
        *(numbers.tolist() for numbers in read.find(ngrams)),
    ]  # fmt: skip


def strict_frequencies(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as archive:
        _, n, digest, tokenizer = archive["told"].tolist()
        words = bytes(archive["words"]).decode().split("\n")
        keys = [archive[f"keys{k}"].tolist() for k in range(1, 5)]
        idf = [
            [math.log(int(n)) - math.log(max(1, df)) for df in [*archive[f"df{k}"].tolist(), 0]]
            for k in range(1, 5)
        ]
    asked = {word: words.index(word) if word in words else -1 for word in ("a", "dog", "runs")}
    numbers, above = [], [0, 0, 0]  # by the place where an n-gram begins
    for k in range(4):
        found = []
        for begin in range(3 - k):
            key = (above[begin] << 32) | asked[("a", "dog", "runs")[begin + k]]
            known = above[begin] >= 0 and key in keys[k]
            found.append(keys[k].index(key) if known else -1)
        numbers.append(found)
        above = found
    return [int(n), digest, tokenizer, words, *idf, *numbers]


PAIR_LOADERS = [
    benchmark("SugarCrepe", "sugarcrepe", pair_files.sugarcrepe, sugarcrepe.load_sugarcrepe,
              strict_sugarcrepe),
    benchmark("RoCOCO", "rococo", pair_files.rococo, rococo.load_rococo, strict_rococo,
              lambda pairs: sorted((p.image, p.kind, p.false) for p in pairs.pairs)),
    one_file("AudioCaps-Eval", "pairs.json", [CLIP, {**CLIP, "audio_id": 7}], read_clip_pairs,
             strict_clip_pairs),
    *tables("battles", "battles", BATTLES, read_battles, strict_battles),
    Loader("battles of captioners", make_captioner_battles, read_captioner_battles,
           strict_captioner_battles, spared=COCO),
    benchmark("SugarCrepe++", "sugarcrepe_pp", pair_files.sugarcrepe_pp,
              sugarcrepe.load_sugarcrepe_pp, lambda f: strict_sugarcrepe(f, "caption2")),
    benchmark("VALSE", "valse", make_valse, valse.load_valse, strict_valse),
    benchmark("FOIL", "foil", make_foil, foil.load_foil, strict_foil),
    *tables("pairs", "pairs", PAIRS, read_pairs, strict_pairs),
    *(one_file(f"scores, {name}", name, rows, score_values, strict_scores)
      for name, rows in (("wide.csv", WIDE), ("long.jsonl", LONG), ("long.parquet", LONG))),
    one_file("corrupted elsewhere", "versions.csv", CORRUPTED, read_corrupted, strict_corrupted),
    one_file("given results", "results.json", GIVEN, read_given, strict_given),
]  # fmt: skip
