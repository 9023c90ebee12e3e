"""The table's loaders of true and false captions, and of what users bring, with their strict
readings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.data.pairs import pair_files
from tests.data.pairs.pair_files import IMAGES, SAID
from tests.fuzz import strict

Read = Callable[[Path], Any]

# true and false captions

COCO = ("captions_val2017.json", "instances_val2017.json")  # which have a loader of their own


def pair_values(pairs: Any) -> Any:
    return sorted(
        (p.image, p.kind, p.true, p.false, p.paraphrase or "", p.made_from or "")
        for p in pairs.pairs
    )


def known(name: str) -> bool:
    """Whether the image is one of those that have captions; pairs of others are left out."""
    return int(Path(name).stem.split("_")[-1]) in IMAGES


def make_sugarcrepe(folder: Path) -> None:
    pair_files.sugarcrepe(folder)
    pair_files.coco(folder)


def read_sugarcrepe(folder: Path) -> Any:
    from metaeval.data.pairs.sugarcrepe import load_sugarcrepe

    return pair_values(load_sugarcrepe(root=folder / "sugarcrepe", data=folder))


def make_sugarcrepe_pp(folder: Path) -> None:
    pair_files.sugarcrepe_pp(folder)
    pair_files.coco(folder)


def read_sugarcrepe_pp(folder: Path) -> Any:
    from metaeval.data.pairs.sugarcrepe import load_sugarcrepe_pp

    return pair_values(load_sugarcrepe_pp(root=folder / "sugarcrepe_pp", data=folder))


def strict_sugarcrepe(name: str, paraphrased: bool) -> Read:
    names = ["filename", "caption", "negative_caption", *(["caption2"] if paraphrased else [])]

    def read(folder: Path) -> Any:
        out = []
        for path in (folder / name).iterdir():
            for record in strict.members(path):
                image, true, false, *more = (strict.caption(record.get(n)) for n in names)
                if known(image):
                    out.append((image, path.stem, true, false, more[0] if more else "", ""))
        return sorted(out)

    return read


def make_rococo(folder: Path) -> None:
    pair_files.rococo(folder)
    pair_files.coco(folder)


def read_rococo(folder: Path) -> Any:
    from metaeval.data.pairs.rococo import load_rococo

    pairs = load_rococo(root=folder / "rococo", data=folder)
    return sorted((p.image, p.kind, p.false) for p in pairs.pairs)


def strict_rococo(folder: Path) -> Any:
    out = []
    for path in (folder / "rococo").iterdir():
        for record in strict.members(path):
            image = strict.caption(record.get("image")).split("/")[-1]
            given = record.get("caption")
            strict.require(isinstance(given, list) and len(given) > 1)
            texts = [strict.caption(text) for text in given]
            split = len(texts) - len(texts) // 2
            true = {"".join(c for c in t.lower() if c.isalnum()) for t in texts[:split]}
            false = [
                t for t in texts[split:] if "".join(filter(str.isalnum, t.lower())) not in true
            ]
            out += [(image, path.stem, plain_words(text)) for text in false if known(image)]
    return sorted(out)


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


def make_clip_pairs(folder: Path) -> None:
    references = ["a dog barks", "a dog is barking", "barking", "a hound barks", "Dog barks."]
    record = {
        "audio_id": "x1", "references": references,
        "HC": [references[0], references[2], "g", "g", [1, 1, -1, 1]],
        "HM": [references[0], "a dog", "g", "m", [1, -1, 1, -1]],
        "MM_1": ["a dog", "a cat barks", "m", "m", 0, [0, -1, -1, 1]],
        "MM_2": None,
    }  # fmt: skip
    pair_files.write(folder / "pairs.json", [record, {**record, "audio_id": 7}])


def read_clip_pairs(folder: Path) -> Any:
    from metaeval.data.judgments.audiocaps import load_clip_pairs

    p = load_clip_pairs(folder / "pairs.json")
    columns = (p.image, p.category, p.first, p.second, p.references, p.votes.tolist())
    return [list(row) for row in zip(*columns, strict=True)]


def strict_clip_pairs(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / "pairs.json"))
    strict.require(isinstance(value, list))
    out: list[Any] = []
    for record in value:
        strict.require(isinstance(record, dict))
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


def make_battles(suffix: str) -> Read:
    def make(folder: Path) -> None:
        write_table(folder / f"battles{suffix}", [
            {"image_id": f"{image}.jpg", "first": true, "second": false, "winner": winner,
             "first_system": "one", "second_system": "two", "references": [other, "a “dog”"]}
            for (image, true, false, other), winner in zip(SAID, BATTLES, strict=False)
        ])  # fmt: skip

    return make


BATTLES = ("one", "second", "tie", "A", "two")


def read_battles(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.judgments.battles import load_battles

        b = load_battles(folder / f"battles{suffix}", own_captions="keep", image_source="other")
        assert b.winner is not None
        winner = [repr(x) for x in b.winner.tolist()]
        return [list(r) for r in zip(b.image, b.first, b.second, winner, b.references, strict=True)]

    return read


def strict_battles(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        out = []
        for row in strict.rows(folder / f"battles{suffix}"):
            strict.require({"image_id", "first", "second", "winner"} <= set(row))
            systems = [optional(row, name) for name in ("first_system", "second_system")]
            for system in filter(None, systems):
                strict.name(system)
            strict.require(systems[0] != systems[1] or not systems[0])
            value = row["winner"]
            empty = value is None or value == "" or value != value
            text = f"{value:g}" if isinstance(value, float) else str(value)
            names = {
                **dict.fromkeys(("first", "a", "left", "caption1", "caption 1", "model_a"), 1),
                **dict.fromkeys(("second", "b", "right", "caption2", "caption 2", "model_b"), 0),
                **dict.fromkeys(("tie", "equal", "both", "neither", "tie (bothbad)"), 0.5),
            }
            names |= {system: 1 - k for k, system in enumerate(systems) if system}
            key = text if text in systems and text else text.lower()
            strict.require(empty or key in names)
            winner = math.nan if empty else float(names[key])
            out.append(
                [
                    strict.image_id(row["image_id"]),
                    strict.caption(row["first"]),
                    strict.caption(row["second"]),
                    repr(winner),
                    tuple(texts(row.get("references"))),
                ]
            )
        return out

    return read


def make_captioner_battles(folder: Path) -> None:
    pair_files.coco(folder)
    for name in ("one", "two"):
        texts = {image: f"{name} {true}" for image, true, _, _ in SAID}
        rows = [{"image_id": image, "caption": text} for image, text in texts.items()]
        pair_files.write(folder / f"{name}.json", rows)


def read_captioner_battles(folder: Path) -> Any:
    from metaeval.data.judgments.battles import load_captioner_battles

    files = [str(folder / f"{name}.json") for name in ("one", "two")]
    captions = next(folder.rglob(COCO[0]))
    b = load_captioner_battles(files, 99, 0, captions, image_source="coco")
    of = zip(b.image, b.first, b.second, b.systems, strict=True)
    return sorted([image, *sorted(((s, a), (t, c)))] for image, a, c, (s, t) in of)


def strict_captioner_battles(folder: Path) -> Any:
    known = tuple(IMAGES)
    one, two = (dict(strict.systems(folder / f"{n}.json", known)) for n in ("one", "two"))
    rows = [[str(i), ("one", one[i]), ("two", two[i])] for i in one if i in two]
    strict.require(rows)
    return sorted(rows)


VALSE_KINDS = ("plurals", "relations", "foil-it")
VALSE_VOTES = (3, 2, 1, 3, 0)


def make_valse(folder: Path) -> None:
    for kind in VALSE_KINDS:
        content = {
            f"{kind}_{k}": {
                "image_file": f"{image:012d}.jpg", "caption": true, "foil": false,
                "mturk": {"foil": 3 - VALSE_VOTES[k], "caption": VALSE_VOTES[k], "other": 0},
                **({"orig_caption": true.lower()} if kind == "plurals" else {}),
            }
            for k, (image, true, false, _) in enumerate(SAID)
        }  # fmt: skip
        pair_files.write(folder / "valse" / f"{kind}.json", content)
    pair_files.coco(folder)


def read_valse(folder: Path) -> Any:
    from metaeval.data.pairs.valse import load_valse

    return pair_values(load_valse(root=folder / "valse", data=folder))


def strict_valse(folder: Path) -> Any:
    out = []
    for kind in VALSE_KINDS:
        for record in strict.members(folder / "valse" / f"{kind}.json"):
            votes = record["mturk"]["caption"]
            strict.require(type(votes) is int and 0 <= votes <= 3)
            if votes < 2:
                strict.require({"image_file", "caption", "foil"} <= set(record))
                continue
            image, true, false = (
                strict.caption(record.get(n)) for n in ("image_file", "caption", "foil")
            )
            made = strict.caption(record["orig_caption"]) if "orig_caption" in record else ""
            if known(image):
                out.append((image, kind, true, false, "", made))
    return sorted(out)


def make_foil(folder: Path) -> None:
    listed = []
    for key, (image, true, false, _) in enumerate(SAID):
        for caption, is_foil in ((true, False), (false, True)):
            listed.append({
                "id": key, "image_id": image, "caption": caption, "foil": is_foil, "foil_id": key,
                "target_word": "x" if is_foil else "ORIG", "foil_word": "y" if is_foil else "ORIG",
            })  # fmt: skip
    pair_files.write(folder / "foil" / "foilv1.0_test_2017.json", {"annotations": listed})
    pair_files.coco(folder)


def read_foil(folder: Path) -> Any:
    from metaeval.data.pairs.foil import load_foil

    return pair_values(load_foil(root=folder / "foil", data=folder))


def strict_foil(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / "foil" / "foilv1.0_test_2017.json"))
    strict.require(isinstance(value, dict) and isinstance(value.get("annotations"), list))
    true: dict[Any, Any] = {}
    foils = []
    for record in value["annotations"]:
        image, key, foil = record["image_id"], record["id"], record["foil"]
        strict.require(type(image) is int and type(key) in (int, str) and type(foil) is bool)
        strict.require(image >= 0)
        one = image, strict.caption(record["caption"])
        if foil:
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


# tables: one file name, three forms


def write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """JSON Lines, CSV (lists in JSON), Parquet, or one JSON list."""
    if path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    elif path.suffix == ".csv":
        plain = [
            {
                k: json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v
                for k, v in r.items()
            }
            for r in rows
        ]
        pd.DataFrame(plain).to_csv(path, index=False)
    else:
        pd.DataFrame(rows).to_parquet(path)


def texts(value: Any) -> list[str]:
    """The captions in a cell."""
    value = strict.cell_list(value)
    listed = [] if value is None or value == "" else value
    listed = [listed] if isinstance(listed, str) else listed
    strict.require(isinstance(listed, list))
    return [strict.caption(text) for text in listed]


def optional(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    strict.require(value is None or isinstance(value, str))
    return value or ""


def make_pairs_table(suffix: str) -> Read:
    def make(folder: Path) -> None:
        write_table(folder / f"pairs{suffix}", [
            {"image_id": f"{image}.jpg", "true": true, "false": [false, "no dog"],
             "paraphrase": other, "kind": "object", "references": [true.lower(), "a “dog”"]}
            for image, true, false, other in SAID
        ])  # fmt: skip

    return make


def read_pairs_table(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.pairs.table import load_pairs_table

        return pair_values(
            load_pairs_table(file=folder / f"pairs{suffix}", image_source="other", data=folder)
        )

    return read


def strict_pairs_table(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        out = []
        for row in strict.rows(folder / f"pairs{suffix}"):
            strict.require({"image_id", "true", "false"} <= set(row))
            image, true = strict.image_id(row["image_id"]), strict.caption(row["true"])
            false = texts(row["false"])
            strict.require(true and false)
            kind, other = optional(row, "kind") or "all", optional(row, "paraphrase")
            given = row.get("references")
            if given is None:
                continue  # no captions file has an image that is not COCO's: left out
            texts(given)
            out += [(image, kind, true, f, strict.caption(other), "") for f in false]
        return sorted(out)

    return read


# scores that were computed elsewhere


def make_scores(form: str) -> Read:
    def make(folder: Path) -> None:
        captions = [(image, true) for image, true, _, _ in SAID]
        if form == "wide.csv":
            rows = [{"image_id": i, "caption": c, "references": ["a", "b c"], "Mine": k / 7,
                     "Other": -k} for k, (i, c) in enumerate(captions)]  # fmt: skip
        else:
            rows = [{"image_id": i, "caption": c, "metric": metric, "score": 0.5 + k}
                    for k, (i, c) in enumerate(captions) for metric in ("A", "B")]  # fmt: skip
        write_table(folder / form, rows)

    return make


def read_scores(form: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.own.score_files import read_scores as read_files

        held = read_files(folder / form, ["Mine", "Other"] if form == "wide.csv" else None)
        return sorted(
            (image, caption, list(references or ()), name, score)
            for (image, caption, references), of_item in held.scores.items()
            for name, score in zip(held.columns, of_item, strict=True)
            if score == score
        )

    return read


def strict_scores(form: str) -> Read:
    def read(folder: Path) -> Any:
        rows = strict.rows(folder / form)
        strict.require({"image_id", "caption"} <= set(rows[0]))
        long = {"metric", "score"} <= set(rows[0])
        names = [n for n in ("Mine", "Other") if any(n in row for row in rows) and not long]
        strict.require(long or len(names) == 2)
        out: dict[Any, float] = {}
        for row in rows:
            key = strict.image_id(row["image_id"]), strict.caption(row["caption"])
            references = tuple(texts(row.get("references")))
            for name in [row["metric"]] if long else names:
                strict.require(name)
                strict.name(name)
                value = row.get("score" if long else name)
                if value is None or value == "" or str(value).strip().lower() == "nan":
                    value = float("nan")
                else:
                    value = strict.number(value)
                before = out.setdefault((*key, references, name), value)
                strict.require(abs(before - value) < 1e-6 or (before != before and value != value))
        strict.require(out)
        return sorted((i, c, list(r), n, v) for (i, c, r, n), v in out.items() if v == v)

    return read


# the user's own captions, and Python objects


def make_karpathy(folder: Path) -> None:
    images = [
        {"filename": f"{image:012d}.jpg", "cocoid": image, "split": "test" if k else "train",
         "sentences": [{"raw": true, "sentid": k}, {"raw": other, "sentid": k + 9}]}
        for k, (image, true, _, other) in enumerate(SAID[::2])
    ]  # fmt: skip
    pair_files.write(folder / "karpathy.json", {"images": images, "dataset": "coco"})


def strict_karpathy(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / "karpathy.json"))
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


def make_score_rows(suffix: str) -> Read:
    def make(folder: Path) -> None:
        write_table(folder / f"rows{suffix}", [
            {"image_id": image, "caption": true, "references": [other, true]}
            for image, true, _, other in SAID
        ])  # fmt: skip

    return make


def read_score_rows(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.tidy import Tidy
        from metaeval.experiments.score.rows import read_rows

        rows = list(read_rows([folder / f"rows{suffix}"], None, Tidy()))
        assert rows
        return [[str(r.image_id), r.caption, list(r.references or ())] for r in rows]

    return read


def strict_score_rows(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        out = []
        for row in strict.rows(folder / f"rows{suffix}"):
            given = row.get("image_id")
            image = "None" if given is None else strict.image_id(given)
            references = strict.cell_list(row.get("references"))
            strict.require(isinstance(references, list) and references)
            caption = row["caption"] if "caption" in row else row.get("candidate")
            out.append([image, strict.caption(caption), [strict.caption(r) for r in references]])
        return out

    return read


def make_own_table(suffix: str) -> Read:
    def make(folder: Path) -> None:
        write_table(folder / f"own{suffix}", [
            {"image_id": image, "captions": [true, other], "image_path": f"{image}.jpg"}
            for image, true, _, other in SAID[1:]
        ])  # fmt: skip

    return make


def strict_own_table(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        rows = strict.rows(folder / f"own{suffix}")
        column = "captions" if "captions" in rows[0] else "caption"
        out: dict[str, list[str]] = {}
        kinds = set()
        for row in rows:
            image, value = strict.image_id(row["image_id"]), row[column]
            kinds.add(type(row["image_id"]))
            optional(row, "image_path")
            if column == "captions":
                value = strict.cell_list(value)
            for text in value if isinstance(value, list) else [value]:
                strict.require(strict.caption(text))
                out.setdefault(image, []).append(strict.caption(text))
        strict.require(len(kinds) == 1)
        return out

    return read


def make_given(folder: Path) -> None:
    pair_files.write(folder / "results.json", [
        {"image_id": image, "caption": true} for image, true, _, _ in SAID[1:]
    ])  # fmt: skip


def read_given(folder: Path) -> Any:
    from metaeval.data.own.given import given_captions

    given = given_captions(str(folder / "results.json"))
    ids = given.dataset.image_ids
    return [[str(ids[i]), c] for i, c in zip(given.image_index, given.captions, strict=True)]


def strict_given(folder: Path) -> Any:
    value = strict.rows(folder / "results.json")
    strict.require(len({type(r["image_id"]) for r in value}) == 1)
    return [[strict.image_id(r["image_id"]), strict.caption(r["caption"])] for r in value]


def make_corruptions(folder: Path) -> None:
    rows = [
        {"image_id": str(image), "caption": text, "set": name, "level": level}
        for image, true, false, _ in SAID[1:]
        for name, level, text in (("worse", 0, false), ("better", 1, true))
    ]
    write_table(folder / "versions.csv", rows)


def read_corruptions(folder: Path) -> Any:
    import metaeval.corruptions.own.file as own

    versions = own.read_corruptions(folder / "versions.csv")
    return [[v.title, v.expected, dict(v._captions)] for v in versions]  # type: ignore[attr-defined]


def strict_corruptions(folder: Path) -> Any:
    rows = strict.rows(folder / "versions.csv")
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


def make_frequencies(folder: Path) -> None:
    from metaeval.metrics.ngram.document_frequencies import CountedCorpus, DocumentFrequencies

    documents = [[["a", "dog"], ["a", "cat", "runs"]], [["a", "dog", "runs"]]]
    frequencies = DocumentFrequencies.of(documents)
    frequencies.save(folder / "idf.npz", CountedCorpus(2, "12345678", "whitespace"))


def read_frequencies(folder: Path) -> Any:
    from metaeval.metrics.ngram.document_frequencies import DocumentFrequencies, read_corpus
    from metaeval.metrics.ngram.ngrams import distinct_ngrams

    frequencies = DocumentFrequencies.load(folder / "idf.npz")
    ngrams = distinct_ngrams(frequencies.words.encode([["a", "dog", "runs"]]), 4)
    return [
        *read_corpus(folder / "idf.npz"), frequencies.words.words(),
        *(idf.tolist() for idf in frequencies.idf()),
        *(numbers.tolist() for numbers in frequencies.find(ngrams)),
    ]  # fmt: skip


def strict_frequencies(folder: Path) -> Any:
    with np.load(folder / "idf.npz", allow_pickle=False) as archive:
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
